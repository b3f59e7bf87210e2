package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTestCounter runs packages that end in every possible way, and checks the counts and the output.
func TestTestCounter(t *testing.T) {
	t.Parallel()
	files, err := txtar.ParseFile("testdata/packages.txtar")
	testrepo.Must(t, err)
	dir := t.TempDir()
	for _, f := range files.Files {
		path := filepath.Join(dir, f.Name)
		testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testrepo.Must(t, os.WriteFile(path, f.Data, 0o600))
	}
	var out strings.Builder
	c := newTestCounter(&out)
	testrepo.Must(t, c.run(t.Context(), dir, "-vet=off", "./..."))
	// Passed: TestA, TestA/sub, TestBad/right. Failed: TestBad, TestBad/wrong, TestPanics, TestQuits, and the packages
	// unbuildable and early. Skipped: TestSkipped, and the package untested.
	if got, want := c.String(), "3 passed, 6 failed, 2 skipped"; got != want {
		t.Errorf("%s, want %s", got, want)
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

// TestRuns checks which packages run, and that the slowest start first.
func TestRuns(t *testing.T) {
	t.Parallel()
	packages := []string{"wavex/bench", "wavex/cmd fmt sync", "wavex/dag wavex/internal/syncs", "wavex/e2e sync",
		"wavex/e2e/page", "wavex/e2e/rig sync/atomic", "wavex/e2e/wall", "wavex/internal/plan/convert os",
		"wavex/scheduler golang.org/x/sync/errgroup"}
	for whole, want := range map[bool]string{
		false: "-p 3 wavex/cmd wavex/internal/plan/convert wavex/dag wavex/e2e/rig wavex/scheduler; -run " + smoke +
			" wavex/e2e",
		true: "-p 4 -race wavex/cmd wavex/e2e/rig wavex/scheduler; -p 4 wavex/e2e wavex/e2e/page wavex/e2e/wall",
	} {
		var got []string
		for _, args := range runs(packages, whole, "^TestLong") {
			_, rest, _ := strings.Cut(strings.Join(args, " "), "-vet=off -skip ^TestLong ")
			got = append(got, rest)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("whole %v: %s\nwant %s", whole, got, want)
		}
	}
}

// TestSmoke checks that each test of the smoke exists.
func TestSmoke(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-list", smoke, realCLI).CombinedOutput()
	if got, want := strings.Count(string(out), "Test"), strings.Count(smoke, "|")+1; err != nil || got != want {
		t.Errorf("%d tests, want %d: %v\n%s", got, want, err, out)
	}
}

// Tests that are stopped are named, but those that wait for others.
func TestStoppedTests(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := newTestCounter(&out)
	testrepo.Must(t, c.read(strings.NewReader(`{"Action":"run","Package":"m/a","Test":"TestDone"}
{"Action":"pass","Package":"m/a","Test":"TestDone"}
{"Action":"run","Package":"m/a","Test":"TestHangs"}
{"Action":"run","Package":"m/a","Test":"TestWaits"}
{"Action":"pause","Package":"m/a","Test":"TestWaits"}
{"Action":"run","Package":"m/b","Test":"TestGoesOn"}
{"Action":"pause","Package":"m/b","Test":"TestGoesOn"}
{"Action":"cont","Package":"m/b","Test":"TestGoesOn"}
`)))
	c.printActive()
	if got, want := out.String(), "stopped in m/a: TestHangs\nstopped in m/b: TestGoesOn\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
