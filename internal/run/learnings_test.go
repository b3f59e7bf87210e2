package run

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/notes"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/internal/userdata"
	"wavex/runner"
	"wavex/scheduler"
)

// pastRuns replays runs of a plan with one task, a.
type pastRuns struct {
	*scheduler.State
	t       *testing.T
	attempt int
}

func (r *pastRuns) replay(b event.Body) {
	r.t.Helper()
	testrepo.Must(r.t, r.Replay([]event.Event{{Seq: r.Seq + 1, Time: time.Unix(r.Seq, 0), Body: b}}))
}

func (r *pastRuns) begin(run string) {
	r.attempt = 0
	r.replay(event.RunStarted{Config: event.Config{Run: run, Parallel: 1, Isolation: event.Isolated,
		Limits: budget.Limits{NoUSD: true, NoIterations: true}}})
	r.replay(event.WaveStarted{Wave: 1, Of: 1})
}

// end makes an attempt, which asks for advice if it fails.
func (r *pastRuns) end(o runner.Outcome, reason string) {
	r.attempt++
	key, status := r.Tasks[0].Key, event.Verified
	if o.Stuck() {
		status = event.Advising
	}
	r.replay(event.AttemptStarted{Task: "a", Key: key, Wave: 1, Attempt: r.attempt, Try: r.attempt})
	r.replay(event.AttemptEnded{Task: "a", Key: key, Attempt: r.attempt, Status: status,
		Result: runner.Result{Outcome: o, Reason: reason}})
}

func (r *pastRuns) advise(fix string) {
	if fix == "" {
		r.replay(event.CounselSkipped{Task: "a"})
		return
	}
	r.replay(event.CounselStarted{Task: "a", Panel: r.attempt, Wave: 1})
	r.replay(event.CounselEnded{Task: "a", Panel: r.attempt, Verdict: counsel.Verdict{Analysis: "why", Fix: fix}})
}

func (r *pastRuns) reopen() {
	r.replay(event.IntegrationStarted{Wave: 1, Tasks: []string{"a"}})
	r.replay(event.IntegrationEnded{Wave: 1, Reopened: []event.Reopened{{Task: "a", Status: event.Advising,
		Result: runner.Result{Outcome: runner.Wrong, Reason: "does not merge"}}}})
}

// A lesson is about this run and has the right failure, despite other runs with tasks of the same
// names and tasks that an integration rejected.
func TestFixedFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		past func(r *pastRuns)
		want string // the failure; "": no lesson
	}{
		"advised": {func(r *pastRuns) {
			r.end(runner.Wrong, "no")
			r.advise("how")
			r.end(runner.Done, "")
		}, "no"},
		"not done yet": {func(r *pastRuns) {
			r.end(runner.Wrong, "no")
			r.advise("how")
		}, ""},
		"without advice": {func(r *pastRuns) {
			r.end(runner.Wrong, "no")
			r.advise("")
			r.end(runner.Done, "")
		}, ""},
		"of an early run": {func(r *pastRuns) {
			r.end(runner.Wrong, "no")
			r.advise("how")
			r.end(runner.Done, "")
			r.begin("r")
			r.end(runner.Done, "")
		}, ""},
		"not together": {func(r *pastRuns) {
			r.end(runner.Done, "")
			r.reopen()
			r.advise("how")
			r.end(runner.Done, "")
		}, "does not merge"},
		"both": {func(r *pastRuns) {
			r.end(runner.Wrong, "first")
			r.advise("how")
			r.end(runner.Done, "")
			r.reopen()
			r.advise("otherwise")
			r.end(runner.Done, "")
		}, "does not merge"},
		"failed in an early run": {func(r *pastRuns) {
			r.end(runner.Wrong, "no")
			r.advise("how")
			r.begin("r")
			r.end(runner.Done, "")
		}, ""},
	} {
		r := &pastRuns{State: scheduler.NewState(testrepo.Plan(t, ".",
			`{"tasks":[{"id":"a","subject":"do a","files":["a.txt"]}]}`)), t: t}
		r.begin("o")
		c.past(r)
		got := userdata.Learning{}
		for _, got = range fixedFailures(r.State) {
			if got.Kind != userdata.Failure || got.Context != "do a" || got.Cause != "why" || got.Prevention == "" ||
				got.Run != r.Config.Run || got.Task != "a" || got.ID == "" || !slices.Equal(got.Files, []string{"a.txt"}) ||
				!got.Time.Equal(r.LastEvent()) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got.Failure != c.want {
			t.Errorf("%s: %q, want %q", name, got.Failure, c.want)
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
		testrepo.Must(t, notes.AppendEntries(cmp.Or(r.config.Track, string(r.config.Loop)), []notes.Entry{{
			Section: notes.Deviations, Lines: []string{"Found: a failure", "Adjustment: by counsel"}, Key: "r/7"}}))
		testrepo.Must(t, r.addLearnings())
		list, _, err := userdata.LoadLearnings(r.config.Loop.Path(loop.Learnings))
		if err != nil || len(list) != 1 || list[0].Failure != name {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// Proposals quote agents: a secret in them is removed before they are shortened, and only the owner reads them.
func TestLearningsAreForTheOwner(t *testing.T) {
	t.Parallel()
	dir, token := t.TempDir(), "gh"+"p_"+strings.Repeat("aB3dE5gH", 5)
	testrepo.Files{".loop/_context.md": "### Deviations\n\n- Before: it is easy\n- Found: " +
		strings.Repeat("long ", 94) + token + "\n"}.Write(t, dir)
	p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","subject":"a"}]}`)
	r := &Session{opts: Options{Redactor: secret.New(nil), Err: &bytes.Buffer{}}, plan: p, state: scheduler.NewState(p),
		config: event.Config{Run: "r", Dir: dir, Loop: loop.In(dir)}}
	testrepo.Must(t, r.addLearnings())
	path := r.config.Loop.Path(loop.Learnings)
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), token[:12]) || !strings.Contains(string(text), "[redacted") {
		t.Errorf("%s, %v", text, err)
	}
	list, _, err := userdata.LoadLearnings(path)
	testrepo.Must(t, err)
	for range 2 {
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		testrepo.Must(t, userdata.ReplaceLearnings(path, list))
	}
}
