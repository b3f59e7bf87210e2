package ui

import (
	"fmt"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// This file holds the keys of the live view: the chosen task, its unfolded log, and the help. It reads no keyboard.

// Controls connects the live view to a keyboard and to the run.
type Controls struct {
	// Log returns the last lines of an attempt's log, clean and at most n. It is called while frames are drawn and
	// from Press.
	Log func(task string, attempt, n int) []string
	// Stop asks the run to start nothing more, or to interrupt the running attempts too. It must not block.
	Stop func(interrupt bool)
	// Leave ends the view and not the run; nil: the view belongs to the run.
	Leave func()
	// Crashed is called if drawing panics, before the process ends.
	Crashed func()
}

// Key is a key that the live view knows.
type Key byte

// The keys, by the byte that a terminal sends for them, if it is one.
const (
	KeyUp     Key = 'k'
	KeyDown   Key = 'j'
	KeyUnfold Key = '\r'
	KeyFold   Key = '\x1b'
	KeyLog    Key = 'l'
	KeyDrain  Key = 'd'
	KeyStop   Key = 's'
	KeyLeave  Key = 'q'
	KeyHelp   Key = '?'
)

// Keys returns the known keys in the bytes that a terminal has sent at once. It passes over other keys and sequences.
func Keys(sent []byte) (out []Key) {
	for i := 0; i < len(sent); i++ {
		switch k := Key(sent[i]); k {
		case KeyFold:
			end, arrow := escapeSequence(sent[i:])
			switch {
			case end == 1:
				out = append(out, KeyFold)
			case arrow != 0:
				out = append(out, arrow)
			}
			i += end - 1
		case '\n', ' ':
			out = append(out, KeyUnfold)
		case 'h':
			out = append(out, KeyHelp)
		case KeyUp, KeyDown, KeyUnfold, KeyLog, KeyDrain, KeyStop, KeyLeave, KeyHelp:
			out = append(out, k)
		}
	}
	return out
}

// escapeSequence returns the length of the sequence at the start of sent, 1 for a lone escape, and the key of an
// arrow, or 0.
func escapeSequence(sent []byte) (length int, arrow Key) {
	if len(sent) < 2 || sent[1] != '[' && sent[1] != 'O' {
		return 1, 0
	}
	for i := 2; i < len(sent); i++ {
		if c := sent[i]; c >= '@' && c <= '~' { // the final byte (ECMA-48, 5.4)
			switch {
			case i == 2 && c == 'A':
				arrow = KeyUp
			case i == 2 && c == 'B':
				arrow = KeyDown
			}
			return i + 1, arrow
		}
	}
	return len(sent), 0
}

const (
	maxTail = 20  // lines of an unfolded task
	maxLog  = 200 // lines of a log that is written above the live part
)

// keyPanel holds the choices made by keys. The zero value is a view without keys.
type keyPanel struct {
	on      bool
	leaves  bool            // there is a key that leaves
	chosen  string          // a running task, a list with running items, or ""
	open    bool            // the chosen task is unfolded
	lists   map[string]bool // unfolded lists
	help    bool
	certain bool // the next KeyStop interrupts
	tail    []string
}

// is reports whether d is the chosen attempt or list.
func (p *keyPanel) is(d liveEntry) bool {
	return d.canBeChosen() && p.chosen != "" && d.Task == p.chosen
}

// canBeChosen reports whether keys choose an entry: attempts and lists.
func (d *liveEntry) canBeChosen() bool { return d.Kind == "attempt" || d.Kind == listKind }

// choose moves the choice among the running attempts and lists by step, and returns the chosen one. With step 0 it
// keeps the choice. Without a choice it takes the first, or with step -1 the last.
func (p *keyPanel) choose(entries []liveEntry, step int) (chosen liveEntry, ok bool) {
	var all []liveEntry
	for _, d := range entries {
		if d.canBeChosen() {
			all = append(all, d)
		}
	}
	last := len(all) - 1
	if last < 0 {
		p.forget()
		return chosen, false
	}
	at := slices.IndexFunc(all, p.is)
	if at < 0 && step < 0 {
		at = last + 1
	}
	if chosen = all[min(max(at+step, 0), last)]; !p.is(chosen) {
		p.chosen, p.tail = chosen.Task, nil
	}
	return chosen, true
}

// unfold unfolds or folds the chosen attempt or list.
func (p *keyPanel) unfold(d liveEntry) {
	if d.Kind != listKind {
		p.open = !p.open
		return
	}
	if p.lists == nil {
		p.lists = map[string]bool{}
	}
	p.lists[d.Task] = !p.lists[d.Task]
}

// fold folds the unfolded attempt and the help first, then the lists.
func (p *keyPanel) fold(entries []liveEntry) {
	if !p.open && !p.help {
		if at := slices.IndexFunc(entries, p.is); at >= 0 && entries[at].list != "" {
			p.chosen = entries[at].list
		}
		p.lists = nil
	}
	p.open, p.help = false, false
}

// attempt returns the number of the chosen task's running attempt. It is false if a list is chosen, and also, with
// nothing chosen from then on, once the attempt has ended.
func (p *keyPanel) attempt(entries []liveEntry) (n int, ok bool) {
	if at := slices.IndexFunc(entries, p.is); at >= 0 {
		return entries[at].Attempt, entries[at].Kind != listKind
	}
	p.forget()
	return 0, false
}

// forget ends the choice.
func (p *keyPanel) forget() { p.chosen, p.open, p.tail = "", false, nil }

// footer returns the lines below the running tasks.
func (p *keyPanel) footer(columns int, ascii bool) (out []string) {
	if !p.on {
		return nil
	}
	lines := []string{"?: keys"}
	switch {
	case p.certain:
		lines = []string{"s again interrupts the running attempts, Esc keeps them"}
	case p.help:
		lines = []string{"j k or arrows: choose a task or list | Enter: unfold it | l: its log, above | Esc: fold",
			"d: drain, start nothing more | s: stop the running attempts too | Ctrl-C: as d, then s | ?: less"}
		if p.leaves {
			lines[1] = "d: drain the run, start nothing more | s: stop its running attempts too | q or Ctrl-C: leave | ?: less"
		}
	}
	for _, l := range lines {
		for _, part := range wrapWords(l, columns-2) {
			out = append(out, textfmt.Truncate("  "+part, columns, ascii))
		}
	}
	return out
}

// wrapWords breaks a line at its separators.
func wrapWords(l string, columns int) (out []string) {
	const between = " | "
	for part := range strings.SplitSeq(l, between) {
		if n := len(out) - 1; n >= 0 && textfmt.Width(out[n]+between+part) <= columns {
			out[n] += between + part
			continue
		}
		out = append(out, part)
	}
	return out
}

// Control lets Press do what keys ask for, and shows that there are keys.
func (v *LiveView) Control(c Controls) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.controls.Store(&c)
	v.model.keys = keyPanel{on: true, leaves: c.Leave != nil}
}

// Press carries out a key.
func (v *LiveView) Press(k Key) {
	v.mu.Lock()
	c := v.controls.Load()
	if v.closed || !v.live || c == nil {
		v.mu.Unlock()
		return
	}
	p := &v.model.keys
	certain := p.certain
	p.certain = false
	then := func() {}
	switch k {
	case KeyUp:
		p.choose(v.model.entries(), -1)
	case KeyDown:
		p.choose(v.model.entries(), 1)
	case KeyUnfold:
		if d, ok := p.choose(v.model.entries(), 0); ok {
			p.unfold(d)
		}
	case KeyFold:
		p.fold(v.model.entries())
	case KeyLog:
		if d, ok := p.choose(v.model.entries(), 0); ok && d.Kind != listKind {
			then = func() { v.showLog(d.Activity) }
		}
	case KeyHelp:
		p.help = !p.help
	case KeyDrain:
		then = func() { c.Stop(false) }
	case KeyStop:
		if p.certain = !certain; certain {
			then = func() { c.Stop(true) }
		}
	case KeyLeave:
		if c.Leave != nil {
			then = c.Leave
		}
	}
	v.frames.Wake()
	v.mu.Unlock()
	then() // without the lock: it may read files, or write to this view
}

// showLog writes the end of an attempt's log above the live part.
func (v *LiveView) showLog(d event.Activity) {
	lines := v.controls.Load().Log(d.Task, d.Attempt, maxLog)
	id := textfmt.Fit(d.Task, 60, v.opts.ASCII)
	rows := []row{{text: fmt.Sprintf("== %s, attempt %d: the end of its log", id, d.Attempt), wrap: true}}
	for _, l := range lines {
		rows = append(rows, row{text: l, wrap: true})
	}
	rows = append(rows, row{text: "== all of it: wavex logs " + id, wrap: true})
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.above = append(v.above, rows...)
		v.frames.Wake()
	}
}
