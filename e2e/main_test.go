//go:build unix

package e2e

// Prepares what all tests share: the CLI, the wavex binary, and a network namespace
// with nothing but loopback, so that a test cannot reach the world by mistake.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"wavex/e2e/rig"
)

// shared is set by TestMain before any test runs and never written again.
var shared struct {
	clis     []cli               // those that eachCLI runs on
	cli      cli                 // the one for all other tests
	wavex    string              // the wavex executable; "" when it does not build
	isolated bool                // in a network namespace of our own
	procs    *semaphore.Weighted // CLI processes at once: each takes 200 MB and a second of CPU
}

// allCases is for the tests that repeat one thing; see docs/testing.md.
var allCases = flag.Bool("cases", false, "run all cases and moments of each test")

// procLimit is how many CLI processes run at once. runProcesses is how many of them one run of wavex
// takes, so that two runs keep two cores busy.
const (
	procLimit    = 6
	runProcesses = 3
)

// reserveProcesses waits for room for n CLI processes and returns what gives it back, at the
// latest when the test ends. A test that needs several at once asks for all of them in
// one call: asking one by one while others do the same would wait for ever. The time limit
// ends such a wait.
func reserveProcesses(t *testing.T, n int64) (release func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 110*time.Minute)
	defer cancel()
	if err := shared.procs.Acquire(ctx, n); err != nil {
		t.Fatalf("waiting for room for CLI processes: %v", err)
	}
	release = sync.OnceFunc(func() { shared.procs.Release(n) })
	t.Cleanup(release)
	return release
}

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// prepare runs the tests inside a namespace where that is possible, else right here.
// What needs the network (npm) or the module cache comes before.
func prepare(m *testing.M) (int, error) {
	if list := os.Getenv(insideMark); list != "" {
		if err := loopbackUp(); err != nil {
			return 0, fmt.Errorf("bringing loopback up in the namespace: %w", err)
		}
		shared.isolated = true
		clis, err := unpack(list)
		if err != nil {
			return 0, err
		}
		return run(m, clis, os.Getenv(insideWavex)), nil
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	clis, err := findCLIs(ctx, root)
	switch {
	case errors.Is(err, errNoNPM) && os.Getenv("CI") == "":
		// go test says "[no tests to run]" when it finds this line, even where it hides the rest.
		fmt.Println("testing: warning: no tests to run")
		fmt.Fprintf(os.Stderr, "\n*** e2e: SKIPPED, NOT TESTED: %v, so claude cannot be installed; "+
			"nothing was tried against the real CLI ***\n\n", err)
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("no claude CLI to test with: %w", err)
	}
	wavex, clean, err := rig.Wavex(ctx)
	if err != nil {
		// What needs no wavex is tested all the same, and the rest fails.
		fmt.Fprintln(os.Stderr, "e2e:", err)
		wavex, clean = "", func() {}
	}
	defer clean()
	if code, ok := inNamespace(clis, wavex); ok {
		return code, nil
	}
	return run(m, clis, wavex), nil
}

// The marks by which the process in the namespace knows itself and its tools.
const (
	insideMark  = "WAVEX_E2E_INSIDE_CLIS"
	insideWavex = "WAVEX_E2E_INSIDE_WAVEX"
)

func run(m *testing.M, clis []cli, wavex string) int {
	shared.clis, shared.cli, shared.wavex = clis, clis[len(clis)-1], wavex
	shared.procs = semaphore.NewWeighted(procLimit)
	return rig.Run(m, "e2e", 12) // more tests than processes: most of them wait for one
}
