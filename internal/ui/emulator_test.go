package ui

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rivo/uniseg"
)

// emulator implements the part of a terminal that the view uses: rows that wrap at the width (late,
// as terminals do) and scroll away, carriage return, new line, up, erase a row, erase below,
// colours. Anything else fails the test.
type emulator struct {
	t             *testing.T
	width, height int

	mu     sync.Mutex
	rows   []string // all since the start, without padding
	y, x   int
	top    int // first row on the screen
	colors int
	frames int
}

var control = regexp.MustCompile(`^\x1b\[(\??\d*)([A-Za-z])`)

func (e *emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames++
	text := string(p)
	for text != "" {
		switch {
		case text[0] == '\r':
			e.x, text = 0, text[1:]
		case text[0] == '\n':
			e.y, text = e.y+1, text[1:]
		case text[0] == '\x1b':
			m := control.FindStringSubmatch(text)
			if m == nil {
				e.t.Errorf("unknown sequence %.10q", text)
				return len(p), nil
			}
			if text = text[len(m[0]):]; m[1] == "?2026" { // a synchronized update: the frame is whole
				continue
			}
			n, _ := strconv.Atoi(m[1])
			e.do(m[2], max(n, 1))
		case text[0] < ' ':
			e.t.Errorf("control character %q", text[0])
			text = text[1:]
		default:
			cluster, rest, w, _ := uniseg.FirstGraphemeClusterInString(text, -1)
			text = rest
			if e.x+w > e.width {
				e.y, e.x = e.y+1, 0
			}
			e.put(cluster, w)
		}
		for len(e.rows) <= e.y {
			e.rows = append(e.rows, "")
		}
		e.top = max(e.top, len(e.rows)-e.height)
	}
	return len(p), nil
}

func (e *emulator) put(cluster string, w int) {
	for len(e.rows) <= e.y {
		e.rows = append(e.rows, "")
	}
	if have := uniseg.StringWidth(e.rows[e.y]); have > e.x {
		e.t.Errorf("%q is written over %q at column %d", cluster, e.rows[e.y], e.x)
	}
	e.rows[e.y] += cluster
	e.x += w
}

func (e *emulator) do(command string, n int) {
	switch command {
	case "A": // the cursor cannot leave the screen
		if e.y-n < e.top {
			e.t.Errorf("%d rows up from row %d leaves the screen", n, e.y-e.top)
		}
		e.y = max(e.y-n, e.top)
	case "J":
		e.rows = e.rows[:e.y+1]
		if e.x != 0 {
			e.t.Errorf("erased from column %d", e.x)
		}
		if e.y == e.top { // tmux and others put a screen that is erased as a whole into the history
			e.t.Error("the whole screen is erased")
		}
		e.rows[e.y] = ""
	case "K":
		if n != 2 {
			e.t.Errorf("erase of kind %d", n)
		}
		e.rows[e.y] = ""
	case "m":
		e.colors++
	default:
		e.t.Errorf("unknown command %q", command)
	}
}

// resize makes the terminal narrower or wider. Rows that are too long are wrapped anew, as in most
// terminals.
func (e *emulator) resize(width int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var rows []string
	for _, r := range e.rows[:e.y+1] { // the view draws nothing below the cursor
		line, w := "", 0
		for g := uniseg.NewGraphemes(r); g.Next(); {
			if w+g.Width() > width {
				rows, line, w = append(rows, line), "", 0
			}
			line, w = line+g.Str(), w+g.Width()
		}
		rows = append(rows, line)
	}
	e.width, e.rows, e.y = width, rows, len(rows)-1
	e.x = uniseg.StringWidth(rows[e.y])
	e.top = max(len(rows)-e.height, 0)
}

func (e *emulator) columns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.width
}

// screen returns the rows on the screen, without empty ones at the end.
func (e *emulator) screen() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.TrimRight(strings.Join(e.rows[min(e.top, len(e.rows)):], "\n"), "\n") + "\n"
}

func (e *emulator) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.TrimRight(strings.Join(e.rows, "\n"), "\n") + "\n"
}
