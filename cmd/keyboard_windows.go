package cmd

import "wavex/internal/ui"

// keyboard is not there: single keys are read on Unix terminals only.
type keyboard struct{}

func openKeyboard(any, *ui.LiveView, ui.Controls) *keyboard { return nil }

func (*keyboard) end() {}

func (*keyboard) close() {}
