// Command mutate tests the tests: it makes small random changes of a package, one at a time, and
// reports the changes that no test notices. It changes no file: the compiler reads the changed files
// through an overlay. The same seed makes the same changes. docs/testing.md describes its table.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/go/packages"
)

// atOnce is the number of test processes at once.
const atOnce = 2

// users lists the mutated packages, and for each the packages whose tests decide after its own tests
// noticed nothing.
var users = []struct {
	pkg   string
	users []string
}{
	{"budget", []string{"scheduler"}},
	{"dag", []string{"internal/plan", "scheduler"}},
	{"internal/journal", []string{"internal/runlog", "internal/run"}},
	{"internal/check", []string{"runner"}},
	{"internal/filetree", []string{"runner"}},
	{"scheduler", []string{"internal/forecast", "internal/run"}},
	{"counsel", []string{"internal/review", "scheduler", "internal/run"}},
	{"runner", []string{"internal/claude", "internal/run"}},
	{"internal/claude", []string{"internal/run"}},
}

// aim is the share of mutations that the tests must notice, in percent.
const aim = 95

//go:embed equivalent.txt
var equivalent string

// equivalents returns the changes without a meaning, "file: before => after". A line that starts with
// a tab is the reason of the change above it.
func equivalents(text string) map[string]bool {
	listed := map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.ContainsAny(line[:1], "\t#\n") {
			continue
		}
		listed[strings.TrimSuffix(line, "\n")] = true
	}
	return listed
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var seeds seedList
	flag.Var(&seeds, "seed", "seeds, such as 1,2,3; the same seed makes the same changes")
	n := flag.Int("n", 40, "changes of each package and seed; 0 makes all of them")
	only := flag.String("only", "", "draw only changes in places that contain one of these texts, such as file:line,file")
	alone := flag.Bool("own", false, "decide with the tests of the changed package only")
	limit := flag.Duration("time", time.Hour, "start nothing more after this time")
	flag.Parse()
	if seeds == nil {
		seeds = seedList{1}
	}
	root, err := os.Getwd()
	if err != nil {
		root = "."
	}
	r := &report{out: os.Stdout, root: root, seeds: seeds, n: *n, only: *only, deadline: time.Now().Add(*limit),
		harmless: equivalents(equivalent)}
	for _, u := range users {
		if *alone {
			u.users = nil
		}
		if flag.NArg() == 0 || slices.Contains(flag.Args(), u.pkg) {
			err = errors.Join(err, r.mutate(ctx, u.pkg, u.users))
		}
	}
	reached := r.table()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !reached {
		os.Exit(1)
	}
}

// seedList is the value of a flag: numbers between commas.
type seedList []uint64

func (l *seedList) String() string { return fmt.Sprint(*l) }

// Set reads the value.
func (l *seedList) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			return err
		}
		*l = append(*l, seed)
	}
	return nil
}

// report is the state of a call, and its table. Only mutate writes to rows.
type report struct {
	out      io.Writer
	root     string
	seeds    []uint64
	n        int
	only     string
	deadline time.Time
	harmless map[string]bool
	rows     []row
}

// verdict is what became of a mutation.
type verdict string

const (
	own      verdict = "killed"        // by a test of the mutated package
	byUser   verdict = "by a user"     // only by a test of a package that uses it
	timeout  verdict = "timed out"     // its tests did not end
	survived verdict = "SURVIVED"      // no test failed
	harmless verdict = "means nothing" // it survived, and is listed in equivalent.txt
	untried  verdict = "not tried"     // the time was over
)

var verdicts = []verdict{own, byUser, timeout, survived, harmless, untried}

// row counts the verdicts of a package with a seed.
type row struct {
	pkg   string
	seed  uint64
	count map[verdict]int
}

// percent returns the share of killed mutations among those that were tried and mean something: 0 if none was tried.
func (r row) percent() float64 {
	killed := r.count[own] + r.count[byUser] + r.count[timeout]
	switch {
	case killed+r.count[survived] > 0:
	case r.count[untried] > 0:
		return 0
	default:
		return 100
	}
	return 100 * float64(killed) / float64(killed+r.count[survived])
}

// mutate tries the mutations of one package, prints a line for each, and adds a row for each seed.
func (r *report) mutate(ctx context.Context, pkg string, users []string) error {
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // leftover files in the temporary folder are harmless
	p, err := load(ctx, r.root, pkg)
	if err != nil {
		return err
	}
	all, err := mutations(p, r.root)
	if err != nil {
		return err
	}
	all, err = compiling(p, all)
	if err != nil {
		return err
	}
	var drawn []mutation // of all seeds, each once
	var rows [][]int     // for each seed the indexes of its mutations in drawn
	for _, seed := range r.seeds {
		var indexes []int
		for _, m := range draw(all, r.only, seed, r.n) {
			at := slices.IndexFunc(drawn, m.same)
			if at < 0 {
				at = len(drawn)
				drawn = append(drawn, m)
			}
			indexes = append(indexes, at)
		}
		rows = append(rows, indexes)
	}
	found, err := r.tryAll(ctx, p, scratch, append([]string{pkg}, users...), drawn)
	for i, indexes := range rows {
		count := map[verdict]int{}
		for _, at := range indexes {
			count[found[at]]++
		}
		r.rows = append(r.rows, row{pkg, r.seeds[i], count})
	}
	return err
}

// tryAll returns the verdicts of mutations of one package, and prints a line for each. Users are the
// packages whose tests decide, one after the other.
func (r *report) tryAll(ctx context.Context, p *packages.Package, scratch string, users []string,
	drawn []mutation) ([]verdict, error) {
	found := slices.Repeat([]verdict{untried}, len(drawn))
	overlay, err := writeOverlay(scratch, p.Dir, p.Name, drawn)
	if err != nil {
		return found, err
	}
	var suites []*suite
	for _, tests := range users {
		suites = append(suites, newSuite(ctx, r.root, overlay, tests, scratch))
	}
	var mu sync.Mutex // guards out
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, m := range drawn {
		g.Go(func() error {
			v, by, err := r.try(ctx, suites, i+1, m)
			if err != nil {
				return err
			}
			found[i] = v
			mu.Lock()
			defer mu.Unlock()
			line := fmt.Sprintf("%-13s %s: %s  %s", v, m.place, m.change, by)
			_, err = fmt.Fprintln(r.out, strings.TrimSpace(line))
			return err
		})
	}
	return found, g.Wait()
}

// try runs the tests of the suites with a mutation, until one of them fails. It also returns the failed test.
func (r *report) try(ctx context.Context, suites []*suite, number int, m mutation) (verdict, string, error) {
	switch {
	case r.harmless[m.key()]:
		return harmless, "", nil
	case time.Now().After(r.deadline):
		return untried, "", nil
	}
	for i, s := range suites {
		switch res, err := s.run(ctx, strconv.Itoa(number)); {
		case err != nil:
			return "", "", err
		case res.timeout:
			return timeout, "(" + s.tests + ")", nil
		case !res.ok && i > 0:
			return byUser, "(" + s.tests + " " + res.failed + res.crash + ")", nil
		case !res.ok:
			return own, "(" + res.failed + res.crash + ")", nil
		}
	}
	return survived, "", nil
}

// table prints the rows and reports whether each package reaches the aim.
func (r *report) table() bool {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\npackage\tseed\t")
	for _, v := range verdicts {
		fmt.Fprint(w, strings.ToLower(string(v)), "\t")
	}
	fmt.Fprint(w, "of 100\t\n")
	reached := true
	for _, row := range r.rows {
		fmt.Fprint(w, row.pkg, "\t", row.seed, "\t")
		for _, v := range verdicts {
			fmt.Fprint(w, row.count[v], "\t")
		}
		fmt.Fprintf(w, "%.0f\t\n", row.percent())
		reached = reached && row.percent() >= aim
	}
	_ = w.Flush() // the caller's error tells more
	return reached
}
