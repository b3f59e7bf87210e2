package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// variable is the variable of the mutated package that selects the mutation.
const variable = "wavexMutant"

// selection is the file that is added to the mutated package. A program reads its mutation from a file
// beside it, so the mutations of a package are compiled and linked once. An environment variable would
// not reach every child.
const selection = `package %s

import (
	"os"
	"path/filepath"
)

var ` + variable + ` = func() string {
	program, _ := os.Executable()
	number, _ := os.ReadFile(filepath.Join(filepath.Dir(program), "mutant"))
	return string(number)
}()
`

// memoryLimit is the address space of a test process in KiB: a mutation may allocate without end.
const memoryLimit = 8 << 20

// writeOverlay writes the files of a package with the mutations into dir, and returns the path of the
// overlay that puts them in the place of the real ones. A function begins with its mutated bodies:
//
//	if wavexMutant == "3" { return func() (int, error) { ... }() }
func writeOverlay(dir, pkgDir, pkgName string, drawn []mutation) (string, error) {
	texts := map[string]string{}
	texts[filepath.Join(pkgDir, "wavexmutant.go")] = fmt.Sprintf(selection, pkgName)
	branches := map[string]map[int]string{} // by file, and by the offset of the body
	for i, m := range drawn {
		call := "func() " + m.results + " " + m.mutated(m.body[0], m.body[1]) + "()"
		if m.results == "" {
			call += "; return"
		} else {
			call = "return " + call
		}
		if branches[m.file] == nil {
			branches[m.file] = map[int]string{}
			texts[m.file] = string(m.src)
		}
		branches[m.file][m.body[0]+1] += fmt.Sprintf(" if %s == %q { %s };", variable, fmt.Sprint(i+1), call)
	}
	for file, at := range branches {
		for _, offset := range slices.Backward(slices.Sorted(maps.Keys(at))) {
			texts[file] = texts[file][:offset] + at[offset] + texts[file][offset:]
		}
	}
	replace := map[string]string{}
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
	// limit returns how long a run with a mutation may take. Its first call runs the tests without one.
	limit func() (time.Duration, error)
}

func newSuite(ctx context.Context, root, overlay, tests, scratch string) *suite {
	s := &suite{root: root, tests: tests, scratch: scratch}
	s.compile = sync.OnceValues(func() (program, error) {
		path := filepath.Join(scratch, filepath.Base(tests)+".test")
		out, err := execute(ctx, root, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", path,
			"-ldflags", "-s -w", "./"+tests)
		if err != nil {
			return program{}, fmt.Errorf("compiling the tests of %s with mutations: %w\n%s", tests, err, out)
		}
		text, err := os.ReadFile(path)
		return program{path, bytes.Contains(text, []byte("rapid.nofailfile"))}, err
	})
	s.limit = sync.OnceValues(func() (time.Duration, error) {
		clean, err := s.run(ctx, "", time.Hour)
		if err == nil && !clean.ok {
			err = fmt.Errorf("the tests of %s fail without a mutation: %s", tests, clean.failed+clean.crash)
		}
		return 3*clean.took.Round(time.Second) + 30*time.Second, err
	})
	return s
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
}

var (
	failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	crash   = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
)

// run runs the tests with a mutation, "" for none, until the first failure. The failed test is run
// once more, because it may fail on a busy machine without the mutation too.
func (s *suite) run(ctx context.Context, mutant string, limit time.Duration) (result, error) {
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
	r, err := s.test(ctx, dir, p.rapid, ".", limit)
	if r.failed == "" || r.timeout || err != nil {
		return r, err
	}
	return s.test(ctx, dir, p.rapid, "^"+r.failed+"$", limit)
}

// test runs the compiled tests in dir whose names match a pattern.
func (s *suite) test(ctx context.Context, dir string, rapid bool, pattern string, limit time.Duration) (result, error) {
	line := fmt.Sprintf("ulimit -v %d; TMPDIR=%s exec %s -test.failfast -test.run '%s' -test.timeout %s",
		memoryLimit, dir, filepath.Join(dir, "tests"), pattern, limit)
	if rapid {
		line += " -rapid.nofailfile"
	}
	timed, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	began := time.Now()
	out, err := execute(timed, filepath.Join(s.root, s.tests), "sh", "-c", line)
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
	return r, nil
}

// execute runs a program until its end, or until ctx is done, and ends all that it left. It returns
// head and tail of the output. The error is not nil if the program did not exit with 0.
func execute(ctx context.Context, dir string, argv ...string) (string, error) {
	out := &textfmt.Excerpt{Max: 1 << 20}
	mark := fmt.Sprintf("mutate-%d/%d", os.Getpid(), time.Now().UnixNano())
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: dir, Env: os.Environ(), Mark: mark, Combined: out})
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
