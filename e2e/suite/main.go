// Command suite runs the tests of wavex for `make test`: the packages, the slowest first, and a smoke test
// with the real CLI. With -whole it runs the packages that use goroutines with the race detector, and then those that
// run wavex as a program. It continues after a package fails, and ends with one line of counts.
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
	"regexp"
	"slices"
	"strings"
	"syscall"

	"wavex/e2e/rig"
)

// packageTimeout bounds the time of a package on a busy machine, by -whole; the slowest takes minutes on an idle one.
var packageTimeout = map[bool]string{false: "40m", true: "75m"}

// realCLI holds the tests with the real CLI, and benchmarks no test.
const (
	realCLI    = "wavex/e2e"
	benchmarks = "wavex/bench"
)

// goroutines matches the imports of a package that starts goroutines, or may be called from several.
var goroutines = regexp.MustCompile(`(^|[ /])(sync|async|conc)($|[ /])`)

// smoke matches the tests of realCLI that run without -whole, nine cases: a run in waves, money, worktrees, a denied
// call, resumes, a panel, and a review.
const smoke = "^Test(ThreeWaves|LedgerMatchesCharges|ProtectedFilesAreDenied|AttemptResumes|LedgerOfAResumedRun|" +
	"PanelAdvisesTheRetry|ReviewedToCompletion)$"

// atOnce is the number of packages that run at once, and atOnceWhole with -whole. Most tests
// wait for processes, so they are more than the number of processors of a small machine.
const atOnce, atOnceWhole = "3", "4"

// slow lists the packages that take the longest; they start first, so that no processor is idle at the end.
// endToEnd lists those whose tests run only with -whole.
var (
	slow = []string{realCLI, "wavex/e2e/crash", "wavex/cmd", "wavex/internal/gitwork", "wavex/e2e/hostile",
		"wavex/e2e/evidence", "wavex/internal/plan/convert", "wavex/e2e/page", "wavex/runner"}
	endToEnd = []string{"wavex/e2e/ci", "wavex/e2e/crash", "wavex/e2e/docs", "wavex/e2e/evidence", "wavex/e2e/hostile",
		"wavex/e2e/page", "wavex/e2e/wall"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	whole := flag.Bool("whole", false, "the tests with all their cases; fails where the machine lacks a tool")
	skip := flag.String("skip", "", "a pattern of tests that do not run, as for go test")
	flag.Parse()
	ok, err := suite(ctx, os.Stdout, *whole, *skip)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// suite runs the tests that skip does not match, and reports whether all of them passed. If whole is true and a tool is
// missing, it runs no test and returns false.
func suite(ctx context.Context, out io.Writer, whole bool, skip string) (bool, error) {
	const format = "{{.ImportPath}} {{join .Imports \" \"}}"
	listed, err := exec.CommandContext(ctx, "go", "list", "-f", format, "./...").Output()
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
	for _, args := range runs(strings.Split(strings.TrimSpace(string(listed)), "\n"), whole, skip) {
		if err = c.run(ctx, ".", args...); err != nil {
			break
		}
	}
	fmt.Fprintln(out, c)
	return c.ok(os.Getenv("CI") != ""), err
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

// runs returns the arguments of each go test. In packages the path of each is followed by those that it imports.
func runs(packages []string, whole bool, skip string) [][]string {
	rank := func(p string) int {
		path, _, _ := strings.Cut(p, " ")
		return (slices.Index(slow, path) + len(slow) + 1) % (len(slow) + 1)
	}
	var inner, concurrent, programs []string
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
	for _, p := range packages {
		switch path, imports, _ := strings.Cut(p, " "); {
		case path == benchmarks:
		case path == realCLI || slices.Contains(endToEnd, path):
			programs = append(programs, path)
		default:
			inner = append(inner, path)
			if goroutines.MatchString(imports) {
				concurrent = append(concurrent, path)
			}
		}
	}
	args := []string{"-timeout", packageTimeout[whole], "-vet=off", "-skip", skip} // make lint vets
	if whole {
		args = append(args, "-p", atOnceWhole)
		return [][]string{slices.Concat(args, []string{"-race"}, concurrent), slices.Concat(args, programs)}
	}
	return [][]string{slices.Concat(args, []string{"-p", atOnce}, inner), append(args, "-run", smoke, realCLI)}
}
