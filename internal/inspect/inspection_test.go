package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// newInspection returns a verification of a plan without a run.
func newInspection(t *testing.T, dir, text string) (*Inspection, *bytes.Buffer) {
	t.Helper()
	var warn bytes.Buffer
	return &Inspection{Plan: testrepo.Plan(t, dir, text), Dir: dir,
		Redactor: secret.New([]string{"API_KEY=a-very-secret-value"}), Warn: &warn}, &warn
}

// newInspectionOfRun returns a verification of a plan whose run has completed tasks, with end as its status; ""
// for a run that has not ended.
func newInspectionOfRun(t *testing.T, dir, text string, completed []string, end event.RunStatus) *Inspection {
	t.Helper()
	a, _ := newInspection(t, dir, text)
	c := event.Config{Run: "r-1", Dir: dir, Loop: loop.In(a.Dir), Parallel: 4, Schedule: "waves",
		Limits: budget.Limits{NoUSD: true, NoIterations: true}}
	bodies := []event.Body{event.RunStarted{Config: c, Plan: a.Plan.Path, Tasks: len(a.Plan.Tasks)}}
	a.State = scheduler.NewState(a.Plan)
	for _, id := range completed {
		i, _ := a.State.Index(id)
		key := a.State.Tasks[i].Key
		bodies = append(bodies, event.AttemptStarted{Task: id, Key: key, Attempt: 1, Try: 1, Why: "first", Wave: 1},
			event.AttemptEnded{Task: id, Key: key, Attempt: 1, Status: event.Completed,
				Result: runner.Result{Outcome: runner.Done}})
	}
	if end != "" {
		bodies = append(bodies, event.RunEnded{Status: end})
	}
	a.Events = testrepo.Journal(t, loop.In(a.Dir), bodies...)
	testrepo.Must(t, a.State.Replay(a.Events))
	return a
}

func gapLines(doc *Document) (out []string) {
	for _, g := range doc.Gaps {
		out = append(out, strings.TrimSpace(strings.Join([]string{g.Type, g.Task, g.File, g.Check}, " ")))
	}
	return out
}

const mixedPlan = `{"name":"all","criteria":[{"text":"it is named","verify":{"file":"name.txt"}},"it is nice"],
	"mustNot":[{"text":"a core dump","verify":{"file":"core"}},{"text":"a trace","verify":"test -e trace"},"rude words"],
	"tasks":[{"id":"T-1","subject":"a","dir":"sub","verify":["test -e here",{"file":"doc.md","contains":"hello"}],"criteria":[{"text":"it runs","verify":"test -e here"},"it is kind"]},
	{"id":"b","subject":"b","verify":["echo a-very-secret-value; false"]}]}`

// Every check is made in its own place, and a failed one is a gap.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"sub/here": "", "sub/doc.md": "good bye\n", "core": "", "here": ""}.Write(t, dir)
	a, _ := newInspection(t, dir, mixedPlan)
	doc, err := a.Run(t.Context(), nil)
	testrepo.Must(t, err)
	if doc.Name != "all" || len(doc.Checks) != 7 || doc.Passed() != 3 {
		t.Errorf("%s: %d checks, %d passed: %+v", doc.Name, len(doc.Checks), doc.Passed(), doc.Checks)
	}
	want := []string{`check_failure T-1 sub/doc.md doc.md contains "hello"`,
		"ci_failure b  echo a-very-secret-value; false", "check_failure  name.txt name.txt exists", "must_not   core exists"}
	if got := gapLines(doc); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("gaps %q, want %q", got, want)
	}
	if want := []string{"T-001: it is kind", "it is nice", "must not: rude words"}; !slices.Equal(doc.Unverified, want) {
		t.Errorf("open %q, want %q", doc.Unverified, want)
	}
	if got := doc.Gaps[1].Evidence; got == "" || strings.Contains(got, "very-secret") {
		t.Errorf("the evidence is %q", got)
	}
	if got := doc.Gaps[2].Description; got != "not true: it is named" {
		t.Errorf("a criterion is told as %q", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
}

// With a .loop the document is kept in it, readable by its owner only and without secrets.
func TestWriteDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, _ := newInspection(t, dir, `{"tasks":[{"id":"a","subject":"a","verify":["echo a-very-secret-value; false"]}]}`)
	testrepo.Must(t, os.Mkdir(string(loop.In(a.Dir)), 0o755))
	elsewhere := filepath.Join(t.TempDir(), "precious")
	testrepo.Must(t, os.WriteFile(elsewhere, []byte("precious"), 0o600))
	at := loop.In(a.Dir).Path(loop.Verification)
	testrepo.Must(t, os.Symlink(elsewhere, at))
	called := false
	_, err := a.Run(t.Context(), func(doc *Document) error {
		called = true
		var held *journal.LockedError
		if _, err := runlog.Lock(loop.In(a.Dir), "x"); !errors.As(err, &held) {
			t.Errorf("a run could begin meanwhile: %v", err)
		}
		return nil
	})
	testrepo.Must(t, err)
	text, err := os.ReadFile(at)
	if err != nil || !called || !strings.Contains(string(text), "gaps_found") || strings.Contains(string(text),
		"very-secret") {
		t.Errorf("%v, %v:\n%s", called, err, text)
	}
	if st, err := os.Lstat(at); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "precious" {
		t.Errorf("the link was followed: %q, %v", text, err)
	}
	if lock, err := runlog.Lock(loop.In(a.Dir), "x"); err != nil {
		t.Errorf("the lock was kept: %v", err)
	} else {
		testrepo.Must(t, lock.Unlock())
	}
}

// No check is made while a run is under way.
func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, _ := newInspection(t, dir, `{"tasks":[{"id":"a","subject":"a","verify":["touch made"]}]}`)
	testrepo.Must(t, os.Mkdir(string(loop.In(a.Dir)), 0o755))
	lock, err := runlog.Lock(loop.In(a.Dir), "r")
	testrepo.Must(t, err)
	defer func() { testrepo.Must(t, lock.Unlock()) }()
	var held *journal.LockedError
	if doc, err := a.Run(t.Context(), nil); doc != nil || !errors.As(err, &held) {
		t.Errorf("%+v, %v", doc, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a check was made")
	}
}

// A cancelled verification keeps nothing and does not call then.
func TestCutShort(t *testing.T) {
	t.Parallel()
	a := newInspectionOfRun(t, t.TempDir(), mixedPlan, []string{"T-1", "b"}, "complete")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if doc, err := a.Run(ctx, func(*Document) error { t.Error("called"); return nil }); doc != nil ||
		!errors.Is(err, why) {
		t.Errorf("%+v, %v", doc, err)
	}
	if _, err := os.Stat(loop.In(a.Dir).Path(loop.Verification)); err == nil {
		t.Error("something was kept")
	}
	if now, err := runlog.Read(loop.In(a.Dir)); err != nil || len(now) != len(a.Events) {
		t.Errorf("the journal has %d records, %v", len(now), err)
	}
}

// The links of a plan are looked at without a run, or when all its tasks are completed.
func TestPlanLinks(t *testing.T) {
	t.Parallel()
	const text = `{"links":[{"from":"x.md","to":"y.md"}],
		"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b","files":["x.md"]}]}`
	dir, outside := t.TempDir(), t.TempDir()
	testrepo.Files{"x.md": "x", "y.md": "y"}.Write(t, dir)
	half := newInspectionOfRun(t, dir, text, []string{"a"}, "")
	if doc, err := half.Run(t.Context(), nil); err != nil || len(doc.Gaps) > 0 {
		t.Errorf("half way: %q, %v", gapLines(doc), err)
	}
	// A link that an agent left must not lead outside the project.
	testrepo.Files{"x.md": "see y.md"}.Write(t, outside)
	testrepo.Must(t, os.Remove(filepath.Join(dir, "x.md")))
	testrepo.Must(t, os.Symlink(filepath.Join(outside, "x.md"), filepath.Join(dir, "x.md")))
	a, _ := newInspection(t, dir, text)
	if doc, err := a.Run(t.Context(), nil); err != nil || fmt.Sprint(gapLines(doc)) != "[broken_link b x.md]" {
		t.Errorf("%q, %v", gapLines(doc), err)
	}
}

// A gap that was found elsewhere is included, once.
func TestKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, _ := newInspection(t, dir, `{"tasks":[{"id":"a","subject":"a","files":["a.go"],"verify":["false"]}]}`)
	a.Known = []Gap{{Type: CIFailure, Check: "false", Description: "the check fails: exit code 1"},
		{Type: Stub, File: "./a.go", Description: "empty"}}
	doc, err := a.Run(t.Context(), nil)
	if got := fmt.Sprint(gapLines(doc)); err != nil || got != "[ci_failure a  false stub a ./a.go]" {
		t.Errorf("%s, %v", got, err)
	}
}

// AddRemediation adds a task for each gap: one if several tasks ask for the same, two for a command in two
// places.
func TestAddRemediation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"one/x": "", "two/x": ""}.Write(t, dir)
	a := newInspectionOfRun(t, dir, `{"criteria":[{"text":"all is well","verify":"false"}],"tasks":[{"id":"a","subject":"a","dir":"one","verify":["false"]},{"id":"b","subject":"b","dir":"one","verify":["false"]},{"id":"c","subject":"c","dir":"two","verify":["false"]},{"id":"d","subject":"d","files":["s.go"]}]}`, []string{"a", "b", "c", "d"}, "")
	a.Known = []Gap{{Type: Stub, File: "s.go", Description: "empty"}}
	var doc *Document
	if _, err := a.Run(t.Context(), func(d *Document) error {
		doc = d
		return a.AddRemediation(d, 2,
			20)
	}); err != nil {
		t.Fatal(err)
	}
	if len(doc.Gaps) != 4 || !slices.Equal(doc.Gaps[0].Tasks, []string{"a", "b"}) || doc.Gaps[1].Tasks != nil {
		t.Errorf("%d gaps: %q", len(doc.Gaps), gapLines(doc))
	}
	events, err := runlog.Read(loop.In(a.Dir))
	testrepo.Must(t, err)
	added, ok := events[len(events)-1].Body.(event.TasksAdded)
	if !ok || added.Round != 2 || added.Origin != "verify" {
		t.Fatalf("the last record is %+v", events[len(events)-1])
	}
	var got []string
	for _, k := range a.State.Plan.Tasks[4:] {
		where := ""
		if k.Settings != nil {
			where = k.Settings.Dir
		}
		for _, c := range k.Verify {
			where += " " + c.Run
		}
		for _, f := range k.Files {
			where += " " + f.Path
		}
		got = append(got, where)
		if !strings.Contains(k.Description, `iteration="2/20"`) {
			t.Errorf("%s says\n%s", k.ID, k.Description)
		}
	}
	if fmt.Sprintf("%q", got) != `["one false" "two false" " false" " s.go"]` {
		t.Errorf("the tasks are %q", got)
	}
	if err := a.AddRemediation(&Document{}, 3, 20); !errors.Is(err, scheduler.ErrNoRemediation) {
		t.Errorf("of nothing: %v", err)
	}
}

// A criterion that no longer holds is recorded, and a run that was complete no longer is.
func TestJournalResult(t *testing.T) {
	t.Parallel()
	const text = `{"criteria":[{"text":"it is there","verify":{"file":"there"}},"it is nice"],"tasks":[{"id":"a","subject":"a","verify":["true"]}]}`
	for name, c := range map[string]struct {
		there bool
		end   event.RunStatus
		want  string
	}{
		"became true":          {true, "", "[CriteriaEnded]"},
		"still not, under way": {false, "", "[]"},
		"still not, complete":  {false, "complete", "[GateEnded RunEnded]"},
		"true, complete":       {true, "complete", "[CriteriaEnded]"},
		"still not, failed":    {false, "failed", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.there {
				testrepo.Files{"there": "x"}.Write(t, dir)
			}
			a := newInspectionOfRun(t, dir, text, []string{"a"}, c.end)
			n := len(a.Events)
			_, err := a.Run(t.Context(), nil)
			testrepo.Must(t, err)
			events, err := runlog.Read(loop.In(a.Dir))
			testrepo.Must(t, err)
			var got []string
			for _, e := range events[n:] {
				got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", e.Body), "event."))
			}
			if fmt.Sprint(got) != c.want || len(a.Events) != len(events) {
				t.Errorf("%v, want %s; %d events known of %d", got, c.want, len(a.Events), len(events))
			}
			k := a.State.Assessment.Criteria[0]
			if k.Met != c.there || c.there && (k.Round != 1 || k.Verification != event.Observation || k.Check == "") {
				t.Errorf("%+v", k)
			}
			if nice := a.State.Assessment.Criteria[1]; nice.Met || nice.Round != 0 {
				t.Errorf("what nobody looked at: %+v", nice)
			}
			if end := a.State.Ended; c.end == "complete" && (end.Status == "complete") != c.there {
				t.Errorf("the run is %s", end.Status)
			}
		})
	}
}
