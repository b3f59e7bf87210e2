package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/runner"
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
	kind          string // "execute", "verify"; "" for null
	phase         string
	iteration     int
	maxIterations int
	retries       []string
	lastError     string // "": the line is left out
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
	l.gaps, l.started = unmetCount(s), s.RunStart
	if e := s.Ended; e != nil && e.Status != event.RunComplete {
		l.paused, l.reason = true, cmp.Or(exhaustedTasks(s), e.Reason)
		if e.Reason != l.reason && e.ExitCode != event.ExitFailed && e.ExitCode != event.ExitBreaker {
			l.reason += "; " + e.Reason // these name the tasks
		}
	}
	last := LastRun(events)
	for n, a := range iterationsOf(&last) {
		if a.EndedAt.After(l.lastIteration) {
			l.lastIteration = a.EndedAt
		}
		l.history = append(l.history, fmt.Sprintf("{iteration: %d, task: %s, outcome: %s, started: %s, ended: %s}", n+1,
			strconv.Quote(a.Task), strconv.Quote(string(a.End.Result.Outcome)), formatTime(a.StartedAt), formatTime(a.EndedAt)))
	}
	if errors := s.Errors(); len(errors) > 0 {
		l.lastError = ErrorText(errors[len(errors)-1].Result)
	}
	if v := last.Inspection; v != nil {
		l.kind, l.gaps = "verify", v.Gaps
		if v.Round > 0 {
			l.iteration, l.maxIterations = min(v.Round, v.Rounds), v.Rounds
		}
		if v.Stop != "" {
			l.paused, l.reason = true, v.Stop
		}
	}
}

// unmetCount returns the number of checks that failed in the last attempts at tasks that are not completed, and of
// criteria that were found not to be met.
func unmetCount(s *scheduler.State) (n int) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Last == nil || t.Status == event.Completed {
			continue
		}
		failed := 0
		for _, c := range t.Last.Checks {
			if !c.Passed {
				failed++
			}
		}
		if failed == 0 && t.Last.Outcome.Stuck() {
			failed = 1
		}
		n += failed
	}
	for _, c := range s.Assessment.Criteria {
		if c.Round > 0 && !c.Met && !Complete(s) {
			n++
		}
	}
	return n
}

// exhaustedTasks names the tasks that failed, with their retries; "" if there are none.
func exhaustedTasks(s *scheduler.State) string {
	var list []string
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == event.Failed && t.Last != nil {
			text := fmt.Sprintf("Task %s failed after %s", s.Plan.Tasks[i].ID, Plural(max(t.Tries-1, 0), "retry", "retries"))
			if t.Stop != nil {
				text += " (" + t.Stop.Reason + ")"
			}
			list = append(list, text)
		}
	}
	return textfmt.FirstOf(list, 3, 0)
}

// iterationsOf returns the attempts of a run that count as iterations, by their start.
func iterationsOf(last *Run) []Attempt {
	all := slices.Concat(slices.Collect(maps.Values(last.Attempts))...)
	all = slices.DeleteFunc(all, func(a Attempt) bool { return a.End == nil || !a.End.Charged })
	slices.SortFunc(all, func(a, b Attempt) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Iteration, b.Iteration))
	})
	return all
}

// maxErrorText bounds the text of an error, in columns.
const maxErrorText = 200

// ErrorText returns the error of an attempt in one line; "" if it ended without one.
func ErrorText(r runner.Result) string {
	if r.Outcome.Class() == "" {
		return ""
	}
	return textfmt.Fit(cmp.Or(r.Reason, string(r.Outcome)), maxErrorText, true)
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
	line("type", cmp.Or(l.kind, "null"))
	line("phase", null(l.phase))
	line("iteration", strconv.Itoa(l.iteration))
	line("max_iterations", strconv.Itoa(l.maxIterations))
	line("task_retries", retries)
	if l.lastError != "" {
		line("last_error", strconv.Quote(l.lastError))
	}
	line("gaps_remaining", strconv.Itoa(l.gaps))
	line("started", formatTime(l.started))
	line("last_iteration", formatTime(l.lastIteration))
	line("paused", strconv.FormatBool(l.paused))
	line("pause_reason", null(l.reason))
	line("history", history)
	b.WriteString("---\n")
	return b.String()
}
