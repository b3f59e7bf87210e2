package cmd

import (
	"io"
	"os"

	"golang.org/x/term"

	"wavex/internal/ui"
)

// This file finds out where wavex reads from and writes to.

// Stdio holds the program's input and outputs.
type Stdio struct {
	In  io.Reader
	Out io.Writer // data: JSON, graphs, the schema
	Err io.Writer // all text for people

	// Terminal reports whether a person can be asked. If it is nil, a person can be asked when In
	// and Err are terminals and CI is not set.
	Terminal func() bool
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// hasTerminal reports whether stdin and stderr are terminals.
func hasTerminal(std Stdio) bool {
	if std.Terminal != nil {
		return std.Terminal()
	}
	return isTerminal(std.In) && isTerminal(std.Err)
}

// canPrompt reports whether a person at a terminal can be asked.
func canPrompt(std Stdio) bool {
	return hasTerminal(std) && (std.Terminal != nil || os.Getenv("CI") == "")
}

// setLive sets the size and the colours of a live view on out. It returns false if out cannot show one.
func setLive(o *ui.Options, out any) bool {
	if !isTerminal(out) || !ui.Live(true, os.Getenv) {
		return false
	}
	fd := int(out.(*os.File).Fd())
	o.Width = func() int { w, _, _ := term.GetSize(fd); return w }
	o.Height = func() int { _, h, _ := term.GetSize(fd); return h }
	o.Color = ui.Color(true, os.Getenv)
	return true
}
