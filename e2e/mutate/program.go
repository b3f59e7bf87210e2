package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// recording is the mutation of a run that changes nothing and writes down which mutations it comes by.
const recording = "reached"

// selection is the file that is added to the mutated package. A program reads its mutation from a file
// beside it, so the mutations of a package are compiled and linked once. An environment variable would
// not reach every child.
const selection = `package %s

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

var wavexMutant, wavexRecord = func() (int, string) {
	program, _ := os.Executable()
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(program), "mutant"))
	if number, err := strconv.Atoi(string(text)); err == nil {
		return number, ""
	}
	return 0, filepath.Join(filepath.Dir(program), string(text))
}()

var wavexReached [%d]atomic.Bool

func wavexAt(numbers ...int) {
	if wavexRecord == "" || wavexReached[numbers[0]].Swap(true) {
		return
	}
	f, _ := os.OpenFile(wavexRecord, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	f.WriteString(fmt.Sprintln(numbers))
	f.Close()
}
`

// memoryLimit is the address space of a test process in KiB: a mutation may allocate without end.
const memoryLimit = 8 << 20

// withMutations returns the files of a package with mutations, by their paths. A function begins with its
// mutated bodies, and a statement tells that the mutations in it are reached:
//
//	switch wavexMutant { case 3: return func() (int, error) { ... }(); case 4: ... }
//	wavexAt(3, 4); return n + 1, nil
func withMutations(drawn []mutation) map[string]string {
	texts := map[string]string{}
	added := map[string]map[int]string{} // to a file, at an offset
	numbers := map[string]map[int][]string{}
	for i, m := range drawn {
		if added[m.file] == nil {
			texts[m.file], added[m.file], numbers[m.file] = string(m.src), map[int]string{}, map[int][]string{}
		}
		numbers[m.file][m.stmt] = append(numbers[m.file][m.stmt], fmt.Sprint(i+1))
		call := "func() " + m.results + " " + m.mutated(m.body[0], m.body[1]) + "()"
		if m.results != "" {
			call = "return " + call
		} else {
			call += "; return"
		}
		// The name of the file in errors of the types is the number.
		added[m.file][m.body[0]+1] += fmt.Sprintf(" case %d: /*line %[1]d:1:1*/ %s;", i+1, call)
	}
	for file, at := range added {
		for offset, cases := range at {
			at[offset] = " switch wavexMutant {" + cases + " };"
		}
		for offset, list := range numbers[file] {
			at[offset] += "wavexAt(" + strings.Join(list, ", ") + "); "
		}
		for _, offset := range slices.Backward(slices.Sorted(maps.Keys(at))) {
			texts[file] = texts[file][:offset] + at[offset] + texts[file][offset:]
		}
	}
	return texts
}

// writeOverlay writes the files of a package with mutations into dir, and returns the path of the overlay
// that puts them in the place of the real ones.
func writeOverlay(dir, pkgDir, name string, drawn []mutation) (string, error) {
	replace := map[string]string{}
	texts := withMutations(drawn)
	texts[filepath.Join(pkgDir, "wavexmutant.go")] = fmt.Sprintf(selection, name, len(drawn)+1)
	for path, text := range texts {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}

// suite is the tests of one package, compiled with the mutations of another one or of its own.
type suite struct {
	root    string
	tests   string // directory of the tests, relative to the root
	scratch string
	// compile returns the compiled tests. Its first call compiles them.
	compile func() (program, error)
	// timed returns the tests, the fastest first. Its first call runs each of them without a mutation.
	timed func() ([]timedTest, error)
}

// timedTest is a test, how long it takes without a mutation, and the mutations of the statements that it executes.
type timedTest struct {
	name    string
	took    time.Duration
	reaches map[string]bool
}

func newSuite(ctx context.Context, root, overlay, tests, scratch string) *suite {
	s := &suite{root: root, tests: tests, scratch: scratch}
	s.compile = sync.OnceValues(func() (program, error) {
		path := filepath.Join(scratch, filepath.Base(tests)+".test")
		out, err := execute(ctx, root, nil, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", path,
			"-ldflags", "-s -w", "./"+tests)
		if err != nil {
			return program{}, fmt.Errorf("compiling the tests of %s with mutations: %w\n%s", tests, err, out)
		}
		text, err := os.ReadFile(path)
		return program{path, bytes.Contains(text, []byte("rapid.nofailfile"))}, err
	})
	s.timed = sync.OnceValues(func() ([]timedTest, error) { return s.measure(ctx) })
	return s
}

// measure runs each test alone.
func (s *suite) measure(ctx context.Context) ([]timedTest, error) {
	p, err := s.compile()
	if err != nil {
		return nil, err
	}
	list, err := execute(ctx, filepath.Join(s.root, s.tests), nil, p.path, "-test.list", "^(Test|Fuzz|Example)")
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w\n%s", s.tests, err, list)
	}
	names := regexp.MustCompile(`(?m)^(Test|Fuzz|Example)\w*$`).FindAllString(list, -1)
	tests := make([]timedTest, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, name := range names {
		g.Go(func() error {
			r, err := s.test(ctx, recording, []string{name}, time.Hour)
			if !r.ok && err == nil { // on a busy machine
				r, err = s.test(ctx, recording, []string{name}, time.Hour)
			}
			if !r.ok && err == nil {
				err = fmt.Errorf("%s of %s fails without a mutation: %s", name, s.tests, r.crash)
			}
			tests[i] = timedTest{name, r.took, r.reached}
			return err
		})
	}
	err = g.Wait()
	slices.SortStableFunc(tests, func(a, b timedTest) int { return cmp.Compare(a.took, b.took) })
	return tests, err
}

// program is the compiled tests of a package.
type program struct {
	path  string
	rapid bool // the tests use rapid, which writes failures into testdata unless told otherwise
}

// result is the end of a test process.
type result struct {
	ok      bool   // all tests passed
	timeout bool   // the tests did not end in time
	failed  string // the first failed test
	crash   string // if none failed: why the process ended
	took    time.Duration
	reached map[string]bool // with the mutation recording: the mutations of the statements that were executed
}

var (
	failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	crash   = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

// run runs the tests that reach a mutation with it, more and more at once, until the first failure. On a
// busy machine tests fail without the mutation too: a failed test is run once more, and a process that did
// not end in time, or ended otherwise, counts only if the same tests then pass without the mutation.
func (s *suite) run(ctx context.Context, mutant string) (result, error) {
	tests, err := s.timed()
	if err != nil {
		return result{}, err
	}
	tests = slices.Clone(tests)
	tests = slices.DeleteFunc(tests, func(t timedTest) bool { return !t.reaches[mutant] })
	for size := 4; len(tests) > 0; {
		var names []string
		limit := 10 * time.Second
		for _, t := range tests[:min(size, len(tests))] {
			names = append(names, t.name)
			limit += 3 * t.took
		}
		r, err := s.test(ctx, mutant, names, limit)
		if failed := r.failed; failed != "" && !r.timeout && err == nil {
			if r, err = s.test(ctx, mutant, []string{failed}, limit); r.ok && err == nil {
				tests = slices.DeleteFunc(tests, func(t timedTest) bool { return t.name == failed })
				continue
			}
		}
		if !r.ok && r.failed == "" && err == nil {
			r, err = s.confirm(ctx, mutant, names, limit, r)
		}
		if !r.ok || err != nil {
			return r, err
		}
		tests = tests[len(names):]
		size *= 2
	}
	return result{ok: true}, nil
}

// confirm returns the result of tests whose process did not end in time, or ended otherwise: the first one,
// or while the same tests do so without the mutation too, that of another try with twice the time.
func (s *suite) confirm(ctx context.Context, mutant string, names []string, limit time.Duration,
	first result) (r result, err error) {
	r = first
	for range 3 {
		plain, err := s.test(ctx, "0", names, limit)
		if plain.ok || err != nil {
			return r, err
		}
		limit *= 2
		if r, err = s.test(ctx, mutant, names, limit); r.ok || r.failed != "" || err != nil {
			return r, err
		}
	}
	return result{}, fmt.Errorf("the tests %s of %s do not pass without a mutation", strings.Join(names, ", "), s.tests)
}

// test runs some tests with a mutation, or with "0" without one, until the first failure.
func (s *suite) test(ctx context.Context, mutant string, names []string, limit time.Duration) (result, error) {
	p, err := s.compile()
	if err != nil {
		return result{}, err
	}
	dir, err := os.MkdirTemp(s.scratch, "m")
	if err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the caller removes scratch
	err = errors.Join(os.Link(p.path, filepath.Join(dir, "tests")),
		os.WriteFile(filepath.Join(dir, "mutant"), []byte(mutant), 0o600))
	if err != nil {
		return result{}, err
	}
	line := fmt.Sprintf("ulimit -v %d; TMPDIR=%s exec %s -test.failfast -test.run '^(%s)$' -test.timeout %s",
		memoryLimit, dir, filepath.Join(dir, "tests"), strings.Join(names, "|"), limit)
	if p.rapid {
		line += " -rapid.nofailfile"
	}
	timed, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	began := time.Now()
	out, err := execute(timed, filepath.Join(s.root, s.tests), failure, "sh", "-c", line)
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	r := result{ok: err == nil, took: time.Since(began),
		timeout: timed.Err() != nil || strings.Contains(out, "panic: test timed out")}
	if m := failure.FindStringSubmatch(out); m != nil {
		r.failed = m[1]
	} else if !r.ok {
		r.crash = oneLine(crash.FindString(out))
	}
	reached, err := os.ReadFile(filepath.Join(dir, recording))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return result{}, err
	}
	r.reached = map[string]bool{}
	for _, number := range strings.FieldsFunc(string(reached), func(c rune) bool { return !unicode.IsDigit(c) }) {
		r.reached[number] = true
	}
	return r, nil
}

// lookout ends a program as soon as its output has a line. Tests that run side by side go on after a
// failure, even with -test.failfast.
type lookout struct {
	out   *textfmt.Excerpt
	line  *regexp.Regexp
	found func()
}

// Write keeps the output, and looks for the line in it.
func (l lookout) Write(b []byte) (int, error) {
	if l.line.Match(b) {
		defer l.found()
	}
	return l.out.Write(b)
}

// execute runs a program until its end, or until ctx is done, and ends all that it left. It returns
// head and tail of the output. The error is not nil if the program did not exit with 0. A program whose
// output has a line like last is ended at once; nil means none.
func execute(ctx context.Context, dir string, last *regexp.Regexp, argv ...string) (string, error) {
	out := &textfmt.Excerpt{Max: 1 << 20}
	ctx, end := context.WithCancel(ctx)
	defer end()
	spec := proc.Spec{Argv: argv, Dir: dir, Env: os.Environ(), Combined: out}
	if last != nil {
		spec.Combined = lookout{out, last, end}
	}
	p, err := proc.Start(spec)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(0)
	}
	if exit := p.Wait(); exit.Code != 0 {
		return out.String(), errors.New("exit " + fmt.Sprint(exit.Code) + exit.Signal)
	}
	return out.String(), nil
}
