package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTestCounter runs packages that end in every possible way, and checks the counts and the output.
func TestTestCounter(t *testing.T) {
	t.Parallel()
	files, err := txtar.ParseFile("testdata/packages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	c := newTestCounter(&out)
	if err := c.run(t.Context(), dir, nil, []string{"./..."}); err != nil {
		t.Fatal(err)
	}
	// Passed: TestA, TestA/sub, TestBad/right. Failed: TestBad, TestBad/wrong, TestPanics, TestQuits, and the packages
	// unbuildable and early. Skipped: TestSkipped, and the package untested.
	if got, want := c.String(), "3 passed, 6 failed, 2 skipped"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c.cpu <= 0 {
		t.Errorf("%s of CPU", c.cpu)
	}
	shown := out.String()
	for _, want := range []string{
		"ok  \tm/good", "this is why", "FAIL\tm/bad", "panic: oh", "undefined: missing", "no tool", "FAIL\tm/early",
		"[no tests to run]",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %q", want)
		}
	}
	for _, never := range []string{"of no interest", "=== RUN", "PASS\n", "no test files"} {
		if strings.Contains(shown, never) {
			t.Errorf("shown: %q", never)
		}
	}
	if t.Failed() {
		t.Log(shown)
	}
}

// TestTimed checks that a timed test binary keeps its exit code, and that its CPU time is printed.
func TestTimed(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]int{"-test.list=^TestTimed$": 0, "-test.unknown": 2} {
		var out strings.Builder
		if got := timed(t.Context(), &out, []string{os.Args[0], arg}); got != want ||
			!strings.Contains(out.String(), " s of CPU, ") {
			t.Errorf("%s: exit %d, want %d, %q", arg, got, want, out.String())
		}
	}
}

// TestOK checks which counts make `make test` fail.
func TestOK(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failed, skipped int
		ci, ok          bool
	}{{0, 0, true, true}, {0, 0, false, true}, {1, 0, false, false}, {0, 1, false, true}, {0, 1, true, false}} {
		if got := (&testCounter{passed: 1, failed: c.failed, skipped: c.skipped}).ok(c.ci); got != c.ok {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestGroups checks which packages run for which tools, and that the slowest of a group start first.
func TestGroups(t *testing.T) {
	t.Parallel()
	packages := []string{"wavex/bench", "wavex/cmd", "wavex/dag", "wavex/e2e", "wavex/e2e/page", "wavex/e2e/rig",
		"wavex/e2e/wall"}
	for _, c := range []struct {
		tools  tools
		says   string
		race   bool
		others string
	}{
		{tools{race: true, browser: true, wall: true}, "all tests, with the race detector", true,
			"wavex/e2e wavex/cmd wavex/e2e/page wavex/e2e/rig wavex/e2e/wall"},
		{tools{browser: true, wall: true}, "without the race detector (no C compiler); all other tests", false,
			"wavex/e2e wavex/cmd wavex/e2e/page wavex/e2e/rig wavex/e2e/wall"},
		{tools{race: true, wall: true}, "without the tests of the pages (no Chromium); all other tests", true,
			"wavex/e2e wavex/cmd wavex/e2e/rig wavex/e2e/wall"},
		{tools{race: true, browser: true}, "without the tests of the wall (no bubblewrap); all other tests", true,
			"wavex/e2e wavex/cmd wavex/e2e/page wavex/e2e/rig"},
		{tools{wall: true}, "without the race detector (no C compiler) and the tests of the pages (no Chromium); " +
			"all other tests", false, "wavex/e2e wavex/cmd wavex/e2e/rig wavex/e2e/wall"},
	} {
		if got := c.tools.String(); got != c.says {
			t.Errorf("%q, want %q", got, c.says)
		}
		g := groups(packages, c.tools)
		if len(g) != 2 || strings.Join(g[0].packages, " ") != "wavex/dag" || strings.Join(g[1].packages, " ") != c.others {
			t.Errorf("%+v: %+v", c.tools, g)
		}
		for _, g := range g {
			if slices.Contains(g.args, "-race") != c.race {
				t.Errorf("%+v: %s with %v", c.tools, g.name, g.args)
			}
		}
	}
}
