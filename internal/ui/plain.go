package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/runner"
	"wavex/scheduler"
)

// plain writes one timestamped line for each event.
type plain struct {
	out *asyncWriter
	teller

	mu           sync.Mutex
	last         map[string]string // by task: the last observation written
	openQuestion string            // the displayed question that waits for an answer; "": none
}

// Plain writes timestamped lines (RFC 3339 UTC) for pipes and CI logs: the [LOOP] announcements,
// waves, how attempts end and the next step, counsel, notices, stops, and at the end the lines of
// report.Ending, without timestamps. It repeats no frame, moves no cursor and uses no colour, so it
// also suits screen readers.
func Plain(w io.Writer, o Options) View {
	v := &plain{out: newAsyncWriter(w), teller: teller{opts: o, plain: true}, last: map[string]string{}}
	if v.question = v.setQuestion; !o.Interactive {
		v.question = func(string) {}
	}
	return v
}

func (v *plain) Observe(o runner.Observation) {
	// Write only observations that explain a silence. The log of all tool calls is in the task's
	// folder.
	switch o.Kind {
	case "asked", "answered":
		v.setQuestion(o.Text)
		return
	case "api_retry", "rate_limit":
	default:
		return
	}
	l := fmt.Sprintf("%s %s: %s", fitText(o.Task), o.Kind, fitText(o.Text))
	v.mu.Lock()
	repeated := v.last[o.Task] == l
	v.last[o.Task] = l
	v.mu.Unlock()
	if !repeated {
		v.writeLines(v.opts.now(), l)
	}
}

func (v *plain) Close() error { return v.out.close() }

// writeLines writes lines under one timestamp in one write.
func (v *plain) writeLines(at time.Time, lines ...string) {
	var b strings.Builder
	for _, l := range lines {
		if l != "" {
			b.WriteString(at.UTC().Format(time.RFC3339) + " " + l + "\n")
		}
	}
	v.put([]byte(b.String()))
}

// put writes a piece of output. It repeats an open question after it, so that the question is the
// last line.
func (v *plain) put(piece []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.openQuestion != "" && len(piece) > 0 {
		piece = append(append([]byte("\n"), piece...), v.openQuestion...)
	}
	v.out.put(piece)
}

// setQuestion opens a question. An empty prompt closes the open one.
func (v *plain) setQuestion(prompt string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.openQuestion = prompt; prompt != "" {
		v.out.put([]byte(prompt))
	}
}

// Prompt returns the displayed form of a yes-or-no question.
func Prompt(question string) string { return "\n" + question + " [Y/n] " }

func (v *plain) Event(e event.Event, s *scheduler.State) {
	v.tell(e, s, func(_ mark, _ bool, lines ...string) { v.writeLines(e.Time, lines...) })
	if e.End() != nil {
		v.put([]byte("\n" + v.opts.ending(s)))
	}
}
