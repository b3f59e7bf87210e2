package ui

import (
	"io"
	"slices"
	"strings"

	"wavex/internal/lazy"
	"wavex/internal/ui/safe"
)

// screen knows what of ours is at the bottom of the terminal and replaces it. It is
// used by one goroutine.
type screen struct {
	w    io.Writer
	live []string // as last drawn; the cursor stands behind the last one
}

// show lets lines scroll in above the live part and redraws that. Everything goes
// out in one write, so that a frame is never seen half drawn.
func (s *screen) show(above, live []string, columns, height int) error {
	if len(above) == 0 && slices.Equal(live, s.live) {
		return nil
	}
	var b strings.Builder
	// Row by row: a screen that is erased as a whole goes into the history of some terminals
	// (tmux, VTE), which would be full of frames after an hour.
	if n := min(s.rows(columns), height); n > 0 {
		b.WriteString("\r\x1b[2K" + strings.Repeat("\x1b[A\x1b[2K", n-1))
	}
	for _, l := range above {
		b.WriteString(l + "\r\n")
	}
	b.WriteString(strings.Join(live, "\r\n"))
	s.live = live
	_, err := io.WriteString(s.w, b.String())
	return err
}

// coloring matches what changes the colour and takes no column.
var coloring = lazy.Regexp("\x1b\\[[0-9;]*m")

// rows is how many rows the live part takes now: after the terminal became narrower
// a line may have been wrapped. A terminal that crops instead loses a line or two
// above; the table at the end has what they said.
func (s *screen) rows(columns int) (n int) {
	for _, l := range s.live {
		n += max((safe.Width(coloring().ReplaceAllString(l, ""))+columns-1)/columns, 1)
	}
	return n
}

// mark opens a line of record.
type mark int

const (
	none mark = iota
	good
	bad
	redo
	panel
	warn
)

var marks = [...]struct{ sign, ascii, color string }{
	none:  {},
	good:  {"✓", "ok", "32"},
	bad:   {"✗", "FAILED", "31"},
	redo:  {"↻", "again", "33"},
	panel: {"◆", "advice", "36"},
	warn:  {"!", "!", "33"},
}

func (r row) render(columns int, o Options) string {
	m := marks[r.mark]
	sign := m.sign
	if o.ASCII {
		sign = m.ascii
	}
	if sign == "" {
		if !r.whole {
			return safe.Cut(r.words, columns-1, o.ASCII)
		}
		return r.words
	}
	words := r.words
	if !r.whole {
		words = safe.Cut(words, columns-2-safe.Width(sign), o.ASCII)
	}
	if o.Color {
		sign = "\x1b[" + m.color + "m" + sign + "\x1b[0m"
	}
	return sign + " " + words
}
