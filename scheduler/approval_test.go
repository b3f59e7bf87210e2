package scheduler

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/runner"
)

// fakeApprover answers as scripted and stores the questions. Without further answers it returns an
// error; with asked set, it sends the question and waits for the end of ctx.
type fakeApprover struct {
	answers []string // "y", "n"
	said    []string
	asked   chan string
}

func (p *fakeApprover) Confirm(ctx context.Context, question string) (bool, error) {
	p.said = append(p.said, question)
	if p.asked != nil {
		p.asked <- question
		<-ctx.Done()
		return false, ctx.Err()
	}
	if len(p.answers) == 0 {
		return false, errors.New("nobody")
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a == "y", nil
}

func TestGates(t *testing.T) {
	t.Parallel()
	wrong := runner.Result{Outcome: runner.Wrong, Reason: "no", Cost: 1}
	done := runner.Result{Outcome: runner.Done}
	for name, c := range map[string]struct {
		gates   event.Gates
		mode    string
		away    bool // the session is not attended
		answers string
		results map[string][]runner.Result
		said    []string // prefixes of the questions, in order
		end     event.RunStatus
		exit    event.ExitCode
		started int // number of attempts
	}{
		"colleague agrees": {gates: event.GatesAttempts, answers: "yyy", end: "complete", started: 3,
			said: []string{"G2: Step a (do a) complete. Continue?", "G2: Step b (do b) complete. Continue?",
				"G3: All criteria met, 3 of 3"}},
		"no at the first step": {gates: event.GatesAttempts, answers: "n", end: "paused", exit: 1, started: 1,
			said: []string{"G2"}},
		"no at the end": {gates: event.GatesAttempts, answers: "yyn", end: "paused", exit: 1, started: 3,
			said: []string{"G2", "G2", "G3"}},
		"nobody answers": {gates: event.GatesAttempts, end: "paused", exit: 1, started: 1, said: []string{"G2"}},
		"after each wave": {gates: event.GatesWaves, answers: "yy", end: "complete", started: 3,
			said: []string{"G2: Wave 1 of 3 complete: 1 of 3 tasks. Continue?", "G2: Wave 2 of 3"}},
		"no after the first wave": {gates: event.GatesWaves, answers: "n", end: "paused", exit: 1, started: 1,
			said: []string{"G2: Wave 1"}},
		"unattended asks nobody": {gates: event.GatesAttempts, mode: event.Interactive, away: true,
			end: "complete", started: 4, results: map[string][]runner.Result{"a": {wrong, done}}},
		"a tool asks nobody": {mode: "yolo", end: "complete", started: 3},
		"each retry is asked for": {mode: event.Interactive, answers: "yy", end: "complete", started: 5,
			results: map[string][]runner.Result{"b": {wrong, wrong, done}},
			said:    []string{"Task b (do b) failed. Retry? (0/3 attempts used)", "Task b (do b) failed. Retry? (1/3"}},
		"no retry fails the task": {mode: event.Interactive, answers: "n", end: "failed", exit: 1, started: 2,
			results: map[string][]runner.Result{"b": {wrong}}, said: []string{"Task b"}},
		"nobody agrees to a retry": {mode: event.Interactive, end: "paused", exit: 1, started: 1,
			results: map[string][]runner.Result{"a": {wrong}}, said: []string{"Task a"}},
		"no question beyond retries": {mode: event.Interactive, answers: "yyy", end: "failed", exit: 1, started: 4,
			results: map[string][]runner.Result{"a": {wrong}}, said: []string{"Task a", "Task a", "Task a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Gates, cfg.Mode, cfg.Attended, cfg.Parallel = c.gates, c.mode, !c.away, 1
			b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"), task("c", "b"))), cfg)
			p := &fakeApprover{answers: strings.Split(c.answers, "")}
			if c.answers == "" {
				p.answers = nil
			}
			b.Approver = p
			for id, list := range c.results {
				b.runner.results[id] = list
			}
			end, err := b.Run(t.Context())
			if err != nil || end.Status != c.end || end.ExitCode != c.exit || len(b.runner.calls) != c.started {
				t.Errorf("%+v, %v, %d attempts", end, err, len(b.runner.calls))
			}
			if !slices.EqualFunc(p.said, c.said, strings.HasPrefix) {
				t.Errorf("asked %q, want %q", p.said, c.said)
			}
			if len(p.answers) > 0 {
				t.Errorf("%d answers were not asked for", len(p.answers))
			}
			// The journal has every event, and its replay leads to the same state.
			again := replayed(t, b.State.filePlan, b.journal.events)
			if !reflect.DeepEqual(again.approvals, b.State.approvals) || again.Counts != b.State.Counts {
				t.Errorf("replayed: %+v, want %+v", again.approvals, b.State.approvals)
			}
		})
	}
}

// Running work continues while a question is open, and nothing new starts. A signal cancels the
// question, and a resume asks again.
func TestQuestionIsCancelledByAStop(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Gates, cfg.Attended, cfg.Parallel = event.GatesAttempts, true, 2
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c", "a"), task("d"))), cfg)
	b.runner.gates["b"] = make(chan struct{})
	p := &fakeApprover{asked: make(chan string)}
	b.Approver = p
	done := b.start(t)
	if q := <-p.asked; !strings.HasPrefix(q, "G2: Step a") {
		t.Fatalf("asked %q", q)
	}
	close(b.runner.gates["b"]) // b ends while the question is open
	b.signals <- Signal{Name: "SIGINT", Code: 130}
	end := <-done
	if end.Status != "interrupted" || end.ExitCode != 130 || end.Tasks.Completed != 2 || len(b.runner.calls) != 2 {
		t.Fatalf("%+v, started %v", end, b.runner.order())
	}
	again := nextSession(t, b.State.filePlan, cfg, b.journal.events)
	again.Approver = &fakeApprover{answers: []string{"y", "y", "y"}}
	if end, err := again.Run(t.Context()); err != nil || end.Status != "complete" || end.Tasks.Completed != 4 {
		t.Errorf("resumed: %+v, %v", end, err)
	}
	if said := again.Approver.(*fakeApprover).said; len(said) == 0 || !strings.HasPrefix(said[len(said)-1], "G3") {
		t.Errorf("asked %q", said)
	}
}

// A person who refuses a retry blocks the tasks that wait for it. Without an answer the run stops and blocks no task.
func TestNoToARetry(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b", "a"), task("c", "b"), task("d"))))
	q := event.Asked{Gate: event.GateRetry, Task: "a"}
	if e := onAnswer(s, q, false, nil); !slices.Equal(e.Blocked, []string{"b", "c"}) || e.Stop != nil || e.Yes {
		t.Errorf("no: %+v", e)
	}
	if e := onAnswer(s, q, true, context.Canceled); e.Blocked != nil || e.Stop == nil || e.Yes {
		t.Errorf("no answer: %+v", e)
	}
}

// A task that an integration reopens is not complete, so its completion is not asked about.
func TestReopenedTaskIsNotComplete(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Gates, cfg.Attended = event.GatesAttempts, true
	s := NewState(mustPlan(t, planText(task("a"), task("b"))))
	mustApply(t, s, event.RunStarted{Config: cfg}, event.WaveStarted{Wave: 1},
		event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Attempt: 1},
		event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Verified,
			Result: runner.Result{Outcome: runner.Done}},
		event.IntegrationStarted{Wave: 1, Tasks: []string{"a"}},
		event.IntegrationEnded{Wave: 1, Reopened: []event.Reopened{{Task: "a", Kind: "checks", Status: event.Pending,
			Result: runner.Result{Outcome: runner.Wrong}}}})
	if q, ok := decideApproval(s).(event.Asked); ok {
		t.Errorf("asked %q", q.Text)
	}
}
