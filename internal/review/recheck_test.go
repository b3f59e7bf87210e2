package review

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

const recheckPlan = `{"criteria":[{"text":"once","check":"echo made >>once"}],"tasks":[
	{"id":"a","subject":"A","verify":["echo made >>once","test $WAVEX_TASK = a && test -d $TMPDIR && test -n \"$WAVEX_PORT_BASE\""]},
	{"id":"b","subject":"B","verify":["test -e seen || { touch seen; exit 1; }","echo why; exit 7"]},
	{"id":"c","subject":"C","dir":"sub","exclusive":"db","verify":[{"file":"here"},"test -e here"]}]}`

// recheckStarted returns a verification that repeats the named checks.
func recheckStarted(names ...string) event.CriteriaStarted {
	e := event.CriteriaStarted{Round: 3}
	for _, n := range names {
		task, nth, _ := strings.Cut(n, "/")
		e.Rechecks = append(e.Rechecks, event.Recheck{Tasks: []string{task}, N: int(nth[0] - '0')})
	}
	return e
}

// A check that ran for a criterion is not repeated; a failed check runs twice; and the checks of
// tasks that run alone, in any directory, are made.
func TestRunRechecks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"sub/here": "x"}.Write(t, dir)
	h, s := newCoordinator(t, dir, recheckPlan, &fakeCaller{})
	h.opts.Config.Parallel = 2
	v, err := h.PrepareVerification(s, recheckStarted("a/1", "a/2", "b/1", "b/2", "c/1", "c/2", "gone/1",
		"a/9"))(t.Context(),
		func() bool { return true })
	if err != nil || len(v.Rechecks) != 8 || len(v.Criteria) != 1 || !v.Criteria[0].Met {
		t.Fatalf("%+v, %v", v, err)
	}
	for k, want := range []struct{ left, passed, flaky bool }{
		{passed: true}, {passed: true}, {passed: true, flaky: true}, {}, {passed: true}, {passed: true}, {left: true},
		{left: true},
	} {
		if got := v.Rechecks[k]; got.Skipped != want.left || got.Passed != want.passed || got.Flaky != want.flaky {
			t.Errorf("check %d: %+v", k+1, got)
		}
	}
	if got := v.Rechecks[3]; got.ExitCode != 7 || got.Reason != "exit code 7" || strings.TrimSpace(got.Output) != "why" ||
		got.Check != "echo why; exit 7" {
		t.Errorf("what failed: %+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "once")); err != nil || string(text) != "made\n" {
		t.Errorf("made %q, %v", text, err)
	}
}

// When the run stops, no further check and no second try begins, and uncertain results stay open;
// an interrupted check has no result.
func TestSkippedRechecks(t *testing.T) {
	t.Parallel()
	h, s := newCoordinator(t, t.TempDir(), recheckPlan, &fakeCaller{})
	n := 0
	v, err := h.PrepareVerification(s, recheckStarted("b/2", "a/1"))(t.Context(), func() bool { n++; return n == 1 })
	if err != nil || !v.Rechecks[0].Skipped || !v.Rechecks[1].Passed {
		t.Errorf("%+v, %v", v.Rechecks, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	v, err = h.PrepareVerification(s, recheckStarted("a/2", "b/2"))(ctx, func() bool { return true })
	if !errors.Is(err, why) || !v.Rechecks[0].Skipped || !v.Rechecks[1].Skipped {
		t.Errorf("%+v, %v", v.Rechecks, err)
	}
}

// Declared files of an earlier run's tasks must exist, or be gone if they were deleted; other contents are only
// listed. Only the named criteria are verified.
func TestLookAtEarlierTasks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"sub/kept": "k", "sub/other": "o", "old": "o"}.Write(t, dir)
	h, s := newCoordinator(t, dir, `{"criteria":[{"text":"one","check":"true"},{"text":"two","check":"true"}],"tasks":[
		{"id":"a","subject":"A","dir":"sub","files":["kept","other",{"path":"in","action":"read"}],"verify":["test -e kept"]},
		{"id":"b","subject":"B","files":[{"path":"gone","action":"delete"}]},
		{"id":"c","subject":"C","files":["absent"]},
		{"id":"d","subject":"D","files":[{"path":"old","action":"delete"}]}]}`, &fakeCaller{})
	e := event.CriteriaStarted{Round: 3, Only: []string{"C-2"}, Rechecks: []event.Recheck{{Tasks: []string{"a"}, N: 1}}}
	for i := range s.Tasks {
		e.Earlier = append(e.Earlier, s.Plan.Tasks[i].ID)
		s.Tasks[i].Earlier = &event.EarlierTask{}
	}
	kept := runner.FileDigest(dir, "sub/kept")
	s.Tasks[0].Earlier.Digests = map[string]string{"kept": kept, "other": kept, "dropped": "1"}
	v, err := h.PrepareVerification(s, e)(t.Context(), func() bool { return true })
	if err != nil || len(v.Criteria) != 1 || v.Criteria[0].ID != "C-2" || len(v.Rechecks) != 1 || !v.Rechecks[0].Passed {
		t.Fatalf("%+v, %v", v, err)
	}
	missing := map[string]string{"c": "declared file does not exist: absent", "d": "declared file exists again: old"}
	if !maps.Equal(v.Missing, missing) {
		t.Errorf("missing: %v", v.Missing)
	}
	if len(v.Changed) != 1 || !slices.Equal(v.Changed["a"], []string{"sub/other"}) {
		t.Errorf("changed: %v", v.Changed)
	}
}
