package run

import (
	"bytes"
	"path/filepath"
	"testing"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/learn"
	"wavex/internal/loop"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

// A turn belongs to this run and has the right failure, despite other runs with tasks of the same
// names and tasks that an integration rejected.
func TestFixedFailures(t *testing.T) {
	t.Parallel()
	began := func(run string) event.Body {
		return event.RunStarted{Config: event.Config{Run: run}}
	}
	ended := func(o runner.Outcome, reason string) event.Body {
		return event.AttemptEnded{Task: "a", Result: runner.Result{Outcome: o, Reason: reason}}
	}
	reopened := event.IntegrationEnded{Reopened: []event.Reopened{{Task: "a",
		Result: runner.Result{Outcome: runner.Wrong, Reason: "does not merge"}}}}
	advice := event.CounselEnded{Task: "a", Verdict: counsel.Verdict{Analysis: "why", Fix: "how"}}
	again := event.AttemptStarted{Task: "a", Advised: true}
	for name, c := range map[string]struct {
		bodies []event.Body
		want   string // the failure; "": no turn
	}{
		"advised": {[]event.Body{began("r"), ended(runner.Wrong, "no"), advice, again, ended(runner.Done, "")},
			"no"},
		"without advice": {[]event.Body{began("r"), ended(runner.Wrong, "no"), event.AttemptStarted{Task: "a"},
			ended(runner.Done, "")}, ""},
		"of an early run": {[]event.Body{began("o"), ended(runner.Wrong, "no"), advice, again, ended(runner.Done, ""),
			began("r"), event.AttemptStarted{Task: "a"}, ended(runner.Done, "")}, ""},
		"not together": {[]event.Body{began("r"), ended(runner.Done, ""), reopened, advice, again,
			ended(runner.Done, "")}, "does not merge"},
		"both": {[]event.Body{began("o"), ended(runner.Wrong, "no"), began("r"), ended(runner.Wrong, "first"), again,
			ended(runner.Done, ""), reopened, advice, again,
			ended(runner.Done, "")}, "does not merge"},
		"failed in an early run": {[]event.Body{began("o"), ended(runner.Wrong, "no"), advice, began("r"), again,
			ended(runner.Done, "")}, ""},
	} {
		var events []event.Event
		for i, b := range c.bodies {
			events = append(events, event.Event{Seq: int64(i + 1), Body: b})
		}
		got := ""
		for _, turn := range fixedFailures(events, "r", scheduler.NewState(testrepo.Plan(t, ".",
			`{"tasks":[{"id":"a","subject":"a"}]}`))) {
			got = turn.Failure // the last one
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Deviations are read from the place where the run's agents were told to note them.
func TestLearningsFromTheNotesDirectory(t *testing.T) {
	t.Parallel()
	const deviation = "# Context\n\n## Post-Context\n\n### Deviations\n\n- Before: it is easy\n- Found: "
	for name, tracked := range map[string]bool{"in .loop": false, "in the tracking directory": true} {
		dir := t.TempDir()
		testrepo.Files{".loop/_context.md": deviation + "in .loop\n", "notes/_context.md": deviation +
			"in the tracking directory\n"}.Write(t, dir)
		p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","subject":"a"}]}`)
		var said bytes.Buffer
		r := &Session{opts: Options{Redactor: secret.New(nil), Err: &said}, plan: p, state: scheduler.NewState(p),
			config: event.Config{Run: "r", Dir: dir, Loop: loop.In(dir)}}
		if tracked {
			r.config.Track = filepath.Join(dir, "notes")
		}
		testrepo.Must(t, r.addLearnings())
		list, _, err := learn.Load(r.config.Loop.Path(loop.Learnings))
		if err != nil || len(list) != 1 || list[0].Failure != name {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}
