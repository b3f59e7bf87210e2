// Package rig is what the tests of the whole share, whatever they try: the wavex of the
// checkout, a way to run the tests again in a namespace of their own, the end of a test
// binary, and a clock to wait on. It knows no test, and nothing of wavex but how to build it.
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

// Wavex builds the wavex of the checkout that the caller's directory is in, in a folder
// that clean removes. WAVEX_E2E_WAVEX names one to test instead.
func Wavex(ctx context.Context) (path string, clean func(), err error) {
	if path := os.Getenv("WAVEX_E2E_WAVEX"); path != "" {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "wavex-e2e-")
	if err != nil {
		return "", nil, err
	}
	clean = func() { _ = os.RemoveAll(dir) } // a leftover in the temporary folder harms nobody
	path = filepath.Join(dir, "wavex")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "wavex/cmd/wavex").CombinedOutput(); err != nil {
		clean()
		return "", nil, fmt.Errorf("building wavex: %w\n%s", err, out)
	}
	return path, clean, nil
}

// Lists tells whether the test binary was asked for its tests only: nothing needs to be
// made ready then.
func Lists() bool {
	flag.Parse()
	return flag.Lookup("test.list").Value.String() != ""
}

// Run runs the tests, parallel of them side by side unless the command line says
// otherwise, and gives the exit code: a goroutine that is left when they have passed is a
// failure, told under name.
func Run(m *testing.M, name string, parallel int) int {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", fmt.Sprint(parallel)) // a flag of testing's own
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

// Until looks again and again until cond holds, and tells whether it did before ctx was
// over.
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
