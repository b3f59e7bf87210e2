// Package wall tries to write closed files behind a real bubblewrap, alone and under wavex.
package wall

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"wavex/e2e/rig"
	"wavex/internal/proc"
)

// The walls of the tests, and a cache of the strict one; set by TestMain before any test runs.
var (
	wall0, strict *proc.Wall
	cacheDir      string
)

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	if err := proc.Subreaper(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e/wall:", err)
		os.Exit(1)
	}
	var err error
	if wall0, err = proc.TryWall(context.Background(), os.TempDir(), os.Environ()); err == nil {
		cacheDir, err = os.MkdirTemp(os.TempDir(), "cache")
	}
	if err == nil {
		strict, err = proc.TryStrictWall(context.Background(), os.TempDir(), os.Environ(), []string{cacheDir})
	}
	switch {
	case err != nil && os.Getenv("CI") == "":
		// go test says "[no tests to run]" when it finds this line, even where it hides the rest.
		fmt.Println("testing: warning: no tests to run")
		fmt.Fprintf(os.Stderr, "\n*** e2e/wall: SKIPPED, NOT TESTED: %v ***\n", err)
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "e2e/wall:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cacheDir)
		os.Exit(code)
	}))
}
