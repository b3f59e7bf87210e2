package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/runner"
	"wavex/scheduler"
)

// plain writes one timestamped line for each event.
type plain struct {
	out  *asyncWriter
	opts Options
	next nextTask // only the scheduler's goroutine uses it

	mu           sync.Mutex
	last         map[string]string // by task: the last observation written
	openQuestion string            // the displayed question that waits for an answer; "": none
}

// Plain writes timestamped lines (RFC 3339 UTC) for pipes and CI logs: the [LOOP] announcements,
// waves, how attempts end and the next step, counsel, notices, stops, and at the end the lines of
// report.Ending, without timestamps. It repeats no frame, moves no cursor and uses no colour, so it
// also suits screen readers.
func Plain(w io.Writer, o Options) View {
	return &plain{out: newAsyncWriter(w), opts: o, last: map[string]string{}}
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
	if v.opts.Interactive {
		switch b := e.Body.(type) {
		case event.Asked:
			v.setQuestion(Prompt(fitText(b.Text)))
			return
		case event.Answered, event.Draining, event.RunEnded:
			v.setQuestion("")
		}
	}
	say := func(lines ...string) { v.writeLines(e.Time, lines...) }
	switch b := e.Body.(type) {
	case event.RunStarted:
		v.next.reset(s)
		say(startText(b), sessionText(b.Config, b.Plan, b.Name, b.Tasks, b.Waves), unknownListsText(s),
			rehearsalWarning(b.Config))
	case event.RunResumed:
		v.next.reset(s)
		say(append(resumeLines(s, &v.next), sessionText(b.Config, b.Plan, "", b.Tasks, b.Waves),
			unknownListsText(s), planEditText("plan edited: ", b.Edit), rehearsalWarning(b.Config))...)
	case event.WaveStarted:
		say(fmt.Sprintf("wave %d/%d: %s: %s", b.Wave, b.Of, report.Plural(len(b.Tasks), "task", "tasks"), idList(b.Tasks)))
	case event.AttemptStarted:
		if b.Why != event.WhyChecks {
			say(iterationText(s, b.Task, b.Iteration))
		}
		if why := attemptKindText(b); why != "" {
			say(fmt.Sprintf("%s attempt %d: %s", fitText(b.Task), b.Attempt, why))
		}
	case event.AttemptAdopted:
		say(fmt.Sprintf("%s attempt %d: it ran on meanwhile, and the run waits for its end", fitText(b.Task), b.Attempt))
	case event.AttemptEnded:
		v.attemptEnded(e.Time, b, s, say)
	case event.CounselStarted:
		say(fmt.Sprintf("%s counsel %d: convened after attempt %d%s", fitText(b.Task), b.Panel, b.Attempt,
			counselStartedText(b)))
	case event.CounselEnded:
		for _, l := range adviceLines(b, s) {
			say(fmt.Sprintf("%s counsel %d: %s", fitText(b.Task), b.Panel, l))
		}
	case event.CounselSkipped:
		say(fmt.Sprintf("%s: retry without counsel: %s", fitText(b.Task), fitText(b.Reason)))
	case event.IntegrationStarted:
		if s.Config.Isolation == event.Isolated {
			say(fmt.Sprintf("integrating wave %d: %s", b.Wave, idList(b.Tasks)))
		} else {
			say("checking together: " + idList(b.Tasks))
		}
	case event.IntegrationEnded:
		say(taskCompleteLines(s, b.Completed, &v.next, e.Time, v.opts)...)
		say(integrationEndedLines(b, s)...)
	case event.RunEnded:
		v.runEnded(b, s, say)
	default:
		lines, _ := runEventLines(e.Body, s)
		say(lines...)
	}
}

func (v *plain) attemptEnded(at time.Time, b event.AttemptEnded, s *scheduler.State, say func(...string)) {
	if b.Status == event.Completed {
		say(taskCompleteLines(s, []string{b.Task}, &v.next, at, v.opts)...)
	}
	say(fmt.Sprintf("%s attempt %d: %s", fitText(b.Task), b.Attempt, attemptEndedText(b)))
	if f := followingText(b, s); f != "" {
		say(fitText(b.Task) + ": " + f)
	}
	if len(b.Blocked) > 0 {
		say(fmt.Sprintf("%s: blocked by its failure: %s", fitText(b.Task), idList(b.Blocked)))
	}
	if b.Stop != nil {
		say(stopLines(*b.Stop, s)...)
	}
}

func (v *plain) runEnded(b event.RunEnded, s *scheduler.State, say func(...string)) {
	say(fmt.Sprintf("[LOOP] Ended | Status: %s | Exit code: %d | Progress: %d/%d | Cost: %s", b.Status, b.ExitCode,
		s.Counts.Completed, len(s.Tasks), report.FormatNotional(s.Ledger.Spent(), s.Ledger.Limits(), s.Notional)))
	end := v.opts.ending(s)
	v.put([]byte("\n" + end))
}

func counselStartedText(b event.CounselStarted) string {
	if b.Thorough {
		return ", a thorough one"
	}
	return ""
}
