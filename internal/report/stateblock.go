package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/scheduler"
)

// This file writes a run as the loop block of a STATE.md's front matter.

// StateBlock returns the front matter with the block, for a run of the phase with a number. If s is
// nil, the block has its initial values. events are the events that led to s.
func StateBlock(s *scheduler.State, events []event.Event, phase string) []byte {
	l := loopBlock{maxIterations: 20}
	if s != nil {
		l.fill(s, events, phase)
	}
	return []byte(l.String())
}

// loopBlock holds the block's content. Times are RFC 3339 in UTC.
type loopBlock struct {
	active        bool
	kind          string // "execute"; "" for null
	phase         string
	iteration     int
	maxIterations int
	retries       []string
	gaps          int
	started       time.Time
	lastIteration time.Time
	paused        bool
	reason        string
	history       []string
}

// unlimited stands for no limit, because readers of the block compare numbers.
const unlimited = 1_000_000

func (l *loopBlock) fill(s *scheduler.State, events []event.Event, phase string) {
	l.active, l.kind = s.Ended == nil, "execute"
	l.phase = phase
	l.iteration, l.maxIterations = s.Ledger.Iterations(), s.Config.Limits.Iterations
	if s.Config.Limits.NoIterations {
		l.maxIterations = unlimited
	}
	for i := range s.Tasks {
		if n := s.Tasks[i].Tries - 1; n > 0 {
			l.retries = append(l.retries, fmt.Sprintf("%s: %d", strconv.Quote("T"+strings.TrimPrefix(s.Plan.Tasks[i].ID, "T")),
				n))
		}
	}
	l.gaps, l.started = len(s.Unmet), s.RunStart
	if e := s.Ended; e != nil && e.Status != event.RunComplete {
		l.paused, l.reason = true, e.Reason
	}
	n := 0
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			l.history, n = nil, 0 // the last run of the journal counts
		case event.AttemptEnded:
			if !b.Charged {
				continue
			}
			n++
			l.lastIteration = e.Time
			l.history = append(l.history, fmt.Sprintf("{iteration: %d, task: %s, outcome: %s, at: %s}", n, strconv.Quote(b.Task),
				strconv.Quote(string(b.Result.Outcome)), formatTime(e.Time)))
		}
	}
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "null"
	}
	return strconv.Quote(t.UTC().Format(time.RFC3339))
}

// String returns the front matter with the block. Go's quoted strings are valid YAML, except for
// characters that no id, outcome or reason contains.
func (l *loopBlock) String() string {
	null := func(s string) string {
		switch {
		case s == "":
			return "null"
		case strings.Trim(s, "0123456789") == "" && len(s) < 10:
			return s
		}
		return strconv.Quote(s)
	}
	retries, history := "{}", "[]"
	if len(l.retries) > 0 {
		retries = "\n    " + strings.Join(l.retries, "\n    ")
	}
	if len(l.history) > 0 {
		history = "\n    - " + strings.Join(l.history, "\n    - ")
	}
	var b strings.Builder
	line := func(name, value string) {
		if value[0] != '\n' {
			value = " " + value
		}
		fmt.Fprintf(&b, "  %s:%s\n", name, value)
	}
	b.WriteString("---\nloop:\n")
	line("active", strconv.FormatBool(l.active))
	line("type", map[string]string{"": "null", "execute": "execute"}[l.kind])
	line("phase", null(l.phase))
	line("iteration", strconv.Itoa(l.iteration))
	line("max_iterations", strconv.Itoa(l.maxIterations))
	line("task_retries", retries)
	line("gaps_remaining", strconv.Itoa(l.gaps))
	line("started", formatTime(l.started))
	line("last_iteration", formatTime(l.lastIteration))
	line("paused", strconv.FormatBool(l.paused))
	line("pause_reason", null(l.reason))
	line("history", history)
	b.WriteString("---\n")
	return b.String()
}
