//go:build !linux

package proc

import "context"

// Enclosure is a control group of a run, which only Linux has.
type Enclosure struct{}

// Enclose fails with ErrUnsupported.
func Enclose(string) (*Enclosure, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Enclosure) Close(context.Context) error { return nil }

func unenclose(context.Context, string, int) error { return nil }

// Unenclose does nothing.
func Unenclose(context.Context, string) error { return nil }
