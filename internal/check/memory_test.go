package check_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
)

// counted is a check that fails so many times, and adds a line to the file n.
func counted(fails int) []plan.Check {
	return []plan.Check{{Run: fmt.Sprintf("echo >> n; test $(wc -l < n) -gt %d", fails)}}
}

// runs returns the number of runs of a counted check.
func runs(dir string) int {
	data, _ := os.ReadFile(filepath.Join(dir, "n"))
	return len(data)
}

// A stop ends the second runs, and known results stay.
func TestStopBeforeSecondRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	at := check.Place{Dir: t.TempDir(), Memory: &check.Memory{}, Files: func() string { return "id" }, Once: true}
	if _, err := at.Run(ctx, counted(9)); err != nil {
		t.Fatal(err)
	}
	at.Once = false
	cancel()
	seen, err := at.Run(ctx, counted(9))
	if !errors.Is(err, context.Canceled) || seen[0].ExitCode != 1 || runs(at.Dir) != 1 {
		t.Errorf("%+v, %v, %d runs", seen[0], err, runs(at.Dir))
	}
}

// A failure counts when it is seen twice, also over several rounds. A check that fails and passes is flaky.
func TestFailsTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails, first, second int // runs after the first and the second Run, the first one with Once
		memory               bool
		passed, flaky        bool
	}{
		"green":               {0, 1, 2, false, true, false},
		"green, known":        {0, 1, 1, true, true, false},
		"flaky":               {2, 1, 3, false, true, true},
		"flaky, known":        {1, 1, 2, true, true, true},
		"red":                 {9, 1, 3, false, false, false},
		"red, one run known":  {9, 1, 2, true, false, false},
		"flaky by the memory": {1, 1, 2, true, true, true},
	} {
		dir := t.TempDir()
		at := check.Place{Dir: dir, Once: true}
		if c.memory {
			at.Memory, at.Files = &check.Memory{}, func() string { return "id" }
		}
		if _, err := at.Run(t.Context(), counted(c.fails)); err != nil || runs(dir) != c.first {
			t.Errorf("%s: %d runs at first, %v", name, runs(dir), err)
		}
		at.Once = false
		seen, err := at.Run(t.Context(), counted(c.fails))
		if err != nil || runs(dir) != c.second || seen[0].Passed != c.passed || seen[0].Flaky != c.flaky {
			t.Errorf("%s: %d runs, %+v, %v", name, runs(dir), seen, err)
		}
	}
}

// A result is known on the same files only, at no time while the check changes them, and not if it belongs to a task.
func TestMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string // before and after each run; the last one stays
		also  string
		runs  int
	}{
		"the same files":    {[]string{"a"}, "", 1},
		"others":            {[]string{"a", "a", "b"}, "", 2},
		"files not known":   {[]string{""}, "", 2},
		"it changes them":   {[]string{"a", ""}, "", 2},
		"changed and back":  {[]string{"a", "", "a"}, "", 2},
		"of its own task":   {[]string{"a"}, "; : $WAVEX_TASK", 2},
		"after the rebuild": {[]string{"a", "b", "b"}, "", 2},
		"red":               {[]string{"a"}, "; exit 1", 1},
		"red, changed":      {[]string{"a", "", "a"}, "; exit 1", 2},
	} {
		dir := t.TempDir()
		at := check.Place{Dir: dir, Once: true, Memory: &check.Memory{}, Files: func() string {
			now := c.files[0]
			c.files = c.files[min(1, len(c.files)-1):]
			return now
		}}
		checks := []plan.Check{{Run: "echo >> n; echo out" + c.also}}
		for i := range 2 {
			seen, err := at.Run(t.Context(), checks)
			known := i == 1 && c.runs == 1 // then without the output, which may be long
			if err != nil || seen[0].Passed == strings.Contains(c.also, "exit") || (seen[0].Whole == "") != known {
				t.Errorf("%s: %+v, %v", name, seen, err)
			}
		}
		if runs(dir) != c.runs {
			t.Errorf("%s: %d runs", name, runs(dir))
		}
	}
}

// Equal checks that run at the same time run once. The memory keeps what passed when it forgets.
func TestMemoryAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := check.Place{Dir: dir, Memory: &check.Memory{}, Files: func() string { return "id" }}
	all := func() {
		var side sync.WaitGroup
		for range 4 {
			side.Go(func() { _, _ = at.Run(t.Context(), append(counted(0), plan.Check{Run: "echo >> m; exit 1"})) })
		}
		side.Wait()
	}
	all()
	at.Memory.Forget("")
	all()
	red, err := os.ReadFile(filepath.Join(dir, "m"))
	if err != nil || runs(dir) != 1 || len(red) != 4 {
		t.Errorf("%d runs of the green check, %d of the red one, %v", runs(dir), len(red), err)
	}
}

// A condition that must not be true is, when its check passes twice, or when there is anything at the path that it
// only names.
func TestViolated(t *testing.T) {
	t.Parallel()
	at := check.Place{Dir: t.TempDir()}
	list := []plan.Condition{{Text: "in words"}}
	err := errors.Join(os.WriteFile(filepath.Join(at.Dir, "empty"), nil, 0o600),
		os.Symlink("none", filepath.Join(at.Dir, "link")))
	testrepo.Must(t, err)
	for _, c := range []plan.Check{{Run: "true"}, {Run: "exit 1"}, {Run: "test ! -e f && : > f"}, counted(1)[0],
		{Run: "echo >> m; test $(wc -l < m) -lt 3"},
		{File: "empty"}, {File: "link"}, {File: "none"}, {File: "empty", Contains: "x"}} {
		list = append(list, plan.Condition{Text: c.Describe(), Check: &c})
	}
	got, err := at.Violated(t.Context(), list)
	if err != nil || strings.Join(got, ", ") != "true, echo >> m; test $(wc -l < m) -lt 3, empty exists, link exists" {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err = at.Violated(ctx, list[6:]) // the last one reads a file
	if !errors.Is(err, context.Canceled) || strings.Join(got, ", ") != "empty exists, link exists" {
		t.Errorf("after a stop: %q, %v", got, err)
	}
}

// A place has the marks of its run and further variables, and a wall around a working tree only.
func TestPlaceOfARun(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"A": "b"}
	p := check.Places{Run: "run", Wall: func(root string) []string { return []string{"wall", root} }}
	at := p.At("dir", "root", "task/1", vars)
	for _, want := range []string{"A=b", proc.RunVar + "=run", proc.AttemptVar + "=run/task/1"} {
		if !slices.Contains(at.Env, want) {
			t.Errorf("%s is not in %q", want, at.Env)
		}
	}
	if at.Dir != "dir" || !slices.Equal(at.Wrapper, []string{"wall", "root"}) || len(vars) != 1 {
		t.Errorf("%+v; the variables are %q", at, vars)
	}
	if at := p.At("dir", "", "task/1", nil); at.Wrapper != nil || len(at.Env) < 2 {
		t.Errorf("without a working tree: %+v", at)
	}
	if at := (&check.Places{}).At("dir", "root", "task/1", nil); at.Wrapper != nil {
		t.Errorf("without a wall: %+v", at)
	}
}
