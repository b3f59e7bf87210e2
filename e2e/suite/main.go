// Command suite runs the tests of wavex for `make test`: the quick packages first, then the others, the
// slowest first, and a smoke test with the real CLI. With -whole it runs every test, all cases of
// each, with the race detector. It continues after a package fails, and ends with one line of counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wavex/e2e/rig"
)

// packageTimeout bounds the time of a package on a busy machine; the slowest takes a few minutes on an idle
// one.
const packageTimeout = "120m"

// realCLI holds the tests with the real CLI, and benchmarks no test.
const (
	realCLI    = "wavex/e2e"
	benchmarks = "wavex/bench"
)

// smoke matches the tests of realCLI that run without -whole, eleven cases: a run in waves, money, worktrees, a denied
// call, resumes, a panel, and a review.
const smoke = "^Test(ThreeWaves|LedgerMatchesCharges|ProtectedFilesAreDenied|AttemptResumes|LedgerOfAResumedRun|" +
	"PanelAdvisesTheRetry|ReviewedToCompletion)$"

// atOnce is the number of packages that run at once after the quick ones, and atOnceWhole with -whole. Most tests
// wait for processes, so they are more than the number of processors of a small machine.
const atOnce, atOnceWhole = "3", "4"

// quick lists the packages whose tests start no process and take a few seconds. slow lists those
// that take the longest; they start first among the others, so that no processor is idle at the
// end. endToEnd lists those whose tests run only with -whole.
var (
	quick = []string{
		"wavex/budget", "wavex/dag", "wavex/internal/request/decompose", "wavex/internal/forecast",
		"wavex/internal/inspect/scan",
		"wavex/internal/request/score", "wavex/internal/journal", "wavex/internal/lazyregexp", "wavex/internal/learn",
		"wavex/internal/plan", "wavex/internal/prompt", "wavex/internal/usererr", "wavex/internal/report",
		"wavex/internal/secret", "wavex/internal/request/shape", "wavex/internal/transcript", "wavex/internal/textfmt",
		"wavex/internal/safefile", "wavex/scheduler",
	}
	slow = []string{realCLI, "wavex/e2e/crash", "wavex/cmd", "wavex/internal/gitwork", "wavex/e2e/hostile",
		"wavex/e2e/evidence", "wavex/internal/plan/convert", "wavex/e2e/page", "wavex/runner"}
	endToEnd = []string{"wavex/e2e/ci", "wavex/e2e/crash", "wavex/e2e/docs", "wavex/e2e/evidence", "wavex/e2e/hostile",
		"wavex/e2e/page", "wavex/e2e/wall"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	whole := flag.Bool("whole", false, "every test with all its cases; fails where the machine lacks a tool")
	flag.Parse()
	ok, err := suite(ctx, os.Stdout, *whole)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// suite runs the tests, and reports whether all of them passed. With whole it runs none and returns false if a tool
// is missing.
func suite(ctx context.Context, out io.Writer, whole bool) (bool, error) {
	listed, err := exec.CommandContext(ctx, "go", "list", "./...").Output()
	if err != nil {
		return false, fmt.Errorf("listing the packages: %w", err)
	}
	if whole {
		if missing := missingTools(ctx); missing != nil {
			return false, errors.New("this machine lacks " + strings.Join(missing, ", "))
		}
		if err := os.Setenv(rig.WholeVar, "1"); err != nil {
			return false, err
		}
	} else if os.Getenv(rig.CLIVar) == "" {
		if err := os.Setenv(rig.CLIVar, "newest"); err != nil {
			return false, err
		}
	}
	if err := shareWavex(ctx); err != nil {
		fmt.Fprintln(out, err) // the packages that need it fail
	}
	c := newTestCounter(out)
	for _, g := range groups(strings.Fields(string(listed)), whole) {
		began, before := time.Now(), c.cpu
		err := c.run(ctx, ".", g.args, g.packages)
		fmt.Fprintf(out, "== %s: %s, %.0f s of CPU\n", g.name, time.Since(began).Round(time.Second),
			(c.cpu - before).Seconds())
		if err != nil {
			fmt.Fprintln(out, c)
			return false, err
		}
	}
	fmt.Fprintln(out, c)
	return c.ok(os.Getenv("CI") != ""), nil
}

// shareWavex builds the wavex that all packages test, unless the environment names one. Its path is the same each
// time, so that go test finds earlier results.
func shareWavex(ctx context.Context) error {
	if os.Getenv(rig.WavexVar) != "" {
		return nil
	}
	path, err := filepath.Abs(filepath.Join(".tools", "bin", "wavex"))
	if err != nil {
		return err
	}
	if err := rig.Build(ctx, path); err != nil {
		return err
	}
	return os.Setenv(rig.WavexVar, path)
}

// missingTools returns what -whole needs and a fresh machine may lack.
func missingTools(ctx context.Context) (missing []string) {
	// go env prints CGO_ENABLED=0 if there is no C compiler.
	cgo, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output()
	if err != nil || strings.TrimSpace(string(cgo)) != "1" {
		missing = append(missing, "a C compiler for the race detector")
	}
	if rig.Browser() == "" {
		missing = append(missing, "Chromium")
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing = append(missing, "bubblewrap")
	}
	return missing
}

// group is a set of packages for one go test.
type group struct {
	name     string
	args     []string
	packages []string
}

// groups returns the packages in the order of their runs.
func groups(packages []string, whole bool) []group {
	args := []string{"-timeout", packageTimeout, "-vet=off"} // make lint vets
	if whole {
		args = append(args, "-race", "-p", atOnceWhole)
	}
	first := group{name: "quick", args: args}
	others := group{name: "others", args: append([]string{"-p", atOnce}, args...)}
	leaves := func(p string) bool {
		return p == benchmarks || !whole && (p == realCLI || slices.Contains(endToEnd, p))
	}
	for _, p := range slow {
		if slices.Contains(packages, p) && !leaves(p) {
			others.packages = append(others.packages, p)
		}
	}
	for _, p := range packages {
		switch {
		case slices.Contains(slow, p), leaves(p):
		case slices.Contains(quick, p):
			first.packages = append(first.packages, p)
		default:
			others.packages = append(others.packages, p)
		}
	}
	if whole { // with the race detector the quick ones compute while the slow ones wait
		return []group{{name: "whole", args: args, packages: append(first.packages, others.packages...)}}
	}
	return []group{first, others,
		{name: "smoke", args: append([]string{"-run", smoke}, args...), packages: []string{realCLI}}}
}
