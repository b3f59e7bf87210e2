// Package rig holds the common parts of the end-to-end tests: a build of wavex from the checkout,
// a way to run the tests again in a new namespace, the end of a test binary, and a clock for
// waits. It knows no test, and of wavex only how to build it.
package rig

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// WavexVar is the environment variable that names a wavex executable to test instead of a build.
const WavexVar = "WAVEX_E2E_WAVEX"

// WholeVar is the environment variable that e2e/suite sets for -whole.
const WholeVar = "WAVEX_E2E_WHOLE"

// CLIVar is the environment variable that selects the CLI of the tests in e2e: "oldest", "newest" or a version for all
// tests on that version, or a path. If it is unset, tests run on the newest, and those of money, permission and resume
// on both.
const CLIVar = "WAVEX_E2E_CLAUDE"

// Whole reports whether tests use every moment, case and isolation, instead of some; see docs/testing.md.
func Whole() bool { return os.Getenv(WholeVar) != "" }

// Wavex builds wavex from the checkout that contains the caller's directory, in a folder that
// clean removes, unless WavexVar names one.
func Wavex(ctx context.Context) (path string, clean func(), err error) {
	if path := os.Getenv(WavexVar); path != "" {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "wavex-e2e-")
	if err != nil {
		return "", nil, err
	}
	clean = func() { _ = os.RemoveAll(dir) } // a leftover in the temporary folder is harmless
	path = filepath.Join(dir, "wavex")
	if err := Build(ctx, path); err != nil {
		clean()
		return "", nil, err
	}
	return path, clean, nil
}

// Build builds wavex from the checkout that contains the caller's directory, without the tables of a
// debugger.
func Build(ctx context.Context, path string) error {
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, "wavex/cmd/wavex")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building wavex: %w\n%s", err, out)
	}
	return nil
}

// OnlyLists reports whether the test binary only lists its tests, so that nothing needs to be
// prepared.
func OnlyLists() bool {
	flag.Parse()
	return flag.Lookup("test.list").Value.String() != ""
}

// Run runs the tests, parallel of them at a time unless the command line says otherwise, and
// returns the exit code. A goroutine that is left after they have passed is a failure, reported
// under name.
func Run(m *testing.M, name string, parallel int) int {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", fmt.Sprint(parallel)) // a flag of package testing
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: goroutines left: %v\n", name, err)
			code = 1
		}
	}
	return code
}

// Until polls cond until it holds, and reports whether it did before ctx was done.
func Until(ctx context.Context, cond func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-ctx.Done():
			return cond()
		case <-tick.C:
		}
	}
}
