package ui

import (
	"io"
	"slices"
	"strings"

	"wavex/internal/textfmt"
)

// screen holds the view's lines at the bottom of the terminal and replaces them. One goroutine uses it.
type screen struct {
	w    io.Writer
	live []string // as last drawn; the cursor stands after the last one
}

// show scrolls lines in above the live part and redraws the live part. It makes a single write, as a synchronized
// update (private mode 2026, which terminals without it ignore), so that no frame appears half drawn.
func (s *screen) show(above, live []string, columns, height int) error {
	if len(above) == 0 && slices.Equal(live, s.live) {
		return nil
	}
	var b strings.Builder
	b.WriteString("\x1b[?2026h")
	// Erase row by row: some terminals (tmux, VTE) put a screen that is erased as a whole into the
	// history, which would be full of frames after an hour.
	if n := min(s.rows(columns), height); n > 0 {
		b.WriteString("\r\x1b[2K" + strings.Repeat("\x1b[A\x1b[2K", n-1))
	}
	for _, l := range above {
		b.WriteString(l + "\r\n")
	}
	b.WriteString(strings.Join(live, "\r\n") + "\x1b[?2026l")
	s.live = live
	_, err := io.WriteString(s.w, b.String())
	return err
}

// colorSequence matches the sequences that change the colour. They take no column.
var colorSequence = textfmt.Pattern("\x1b\\[[0-9;]*m")

// rows returns the number of rows that the live part takes now: in a terminal that became narrower
// a line may have been wrapped. A terminal that crops instead loses a line or two above; the final
// table repeats their content.
func (s *screen) rows(columns int) (n int) {
	for _, l := range s.live {
		n += rowsOf(l, columns)
	}
	return n
}

// rowsOf returns the rows that a line takes.
func rowsOf(line string, columns int) int {
	return max((textfmt.Width(colorSequence().ReplaceAllString(line, ""))+columns-1)/columns, 1)
}

// mark is the sign at the start of a line of record.
type mark int

const (
	markNone mark = iota
	markGood
	markBad
	markRetry
	markPanel
	markWarn
)

var marks = [...]struct{ sign, ascii, color string }{
	markNone:  {},
	markGood:  {"✓", "ok", "32"},
	markBad:   {"✗", "FAILED", "31"},
	markRetry: {"↻", "again", "33"},
	markPanel: {"◆", "advice", "36"},
	markWarn:  {"!", "!", "33"},
}

func (r row) render(columns int, o Options) string {
	m := marks[r.mark]
	sign, margin := m.sign, ""
	if o.ASCII {
		sign = m.ascii
	}
	if sign != "" {
		margin = sign + " "
	}
	words := r.text
	if !r.wrap {
		words = textfmt.Truncate(words, columns-1-textfmt.Width(margin), o.ASCII)
	}
	if sign != "" && o.Color {
		margin = colorize(m.color, sign) + " "
	}
	return margin + words
}

func colorize(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }
