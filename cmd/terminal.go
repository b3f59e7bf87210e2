package cmd

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"wavex/internal/ui"
)

// This file finds out where wavex reads from and writes to, and whether a terminal can show more than ASCII. Pipes and
// files get UTF-8 in every locale, because they are read elsewhere.

// Stdio holds the program's input and outputs.
type Stdio struct {
	In  io.Reader
	Out io.Writer // data: JSON, graphs, the schema
	Err io.Writer // all text for people

	// Terminal reports whether a person can be asked. If it is nil, a person can be asked when In
	// and Err are terminals and CI is not set.
	Terminal func() bool

	Fleet Fleet // of the whole wavex; nil: this is the core

	told *bool // tellPlace has said where the command works; nil: it says nothing
}

// buffered returns std for several prompters: one reader for every question, so that no line is lost between them.
func (s Stdio) buffered() Stdio {
	s.In, s.Terminal = bufio.NewReader(s.In), func() bool { return true }
	return s
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
	return hasTerminal(std) && (std.Terminal != nil || !inCI())
}

// inCI reports whether this is a job of CI, as CI=true says in its environment.
func inCI() bool {
	v := os.Getenv("CI")
	set, err := strconv.ParseBool(v)
	return v != "" && (set || err != nil)
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

// asciiOnly reports whether wavex may write only ASCII of its own to out: either given says so, or
// out is a terminal whose locale is set and is not UTF-8.
func asciiOnly(given bool, out any, getenv func(string) string) bool {
	return given || isTerminal(out) && !utf8Locale(getenv)
}

// utf8Locale reports whether the locale is UTF-8. It reads the locale's variables in their order of
// precedence. If none is set, as in most containers and on Windows, terminals take UTF-8.
func utf8Locale(getenv func(string) string) bool {
	name := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return name == "" || strings.Contains(name, "utf-8") || strings.Contains(name, "utf8")
}

// diverter writes to stderr, or to a view that shows the lines without damage to its own.
type diverter struct {
	mu sync.Mutex
	to io.Writer
}

func (d *diverter) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.to.Write(p)
}

func (d *diverter) divert(to io.Writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
}
