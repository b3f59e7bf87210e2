package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// testCounter counts tests by their results, subtests included, and prints the output that go test
// would print without -v.
type testCounter struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                map[string]*packageOutput
}

// packageOutput holds the output of a running package.
type packageOutput struct {
	lines  []line
	passed map[string]bool // tests whose output is not printed
	active map[string]bool // tests that have begun, not ended, and do not wait for others
	failed bool            // some test failed
	ran    bool            // some test ran
}

type line struct{ test, text string }

// event is a line of go test -json; see go doc test2json, and go help buildjson for Action
// build-output.
type event struct {
	Action, Package, Test, Output string
}

func newTestCounter(out io.Writer) *testCounter {
	return &testCounter{out: out, packages: map[string]*packageOutput{}}
}

// String returns the last line of the output.
func (c *testCounter) String() string {
	s := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return s
}

// ok reports whether the tests as a whole passed. In CI a skipped test counts as a failed one.
func (c *testCounter) ok(ci bool) bool { return c.failed == 0 && (c.skipped == 0 || !ci) }

// run runs go test in dir and counts. An error means that the tests could not run to their end.
func (c *testCounter) run(ctx context.Context, dir string, args ...string) error {
	// Without debugging information linking takes half the time.
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-ldflags=-w"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting go test: %w", err)
	}
	before := c.failed
	if err := c.read(stdout); err != nil {
		_ = cmd.Cancel()
		return errors.Join(fmt.Errorf("reading what go test prints: %w", err), cmd.Wait())
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		c.printActive()
		return context.Cause(ctx)
	}
	if err != nil && c.failed == before {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// printActive prints the tests that were running when the tests were stopped: one of them may hang.
func (c *testCounter) printActive() {
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		if p := c.packages[name]; len(p.active) > 0 {
			fmt.Fprintln(c.out, "stopped in", name+":", strings.Join(slices.Sorted(maps.Keys(p.active)), " "))
		}
	}
}

// read counts the output of one go test.
func (c *testCounter) read(r io.Reader) error {
	for b := bufio.NewReader(r); ; {
		text, err := b.ReadBytes('\n')
		var e event
		switch {
		case len(text) > 0 && json.Unmarshal(text, &e) == nil:
			c.addEvent(e)
		case len(text) > 0:
			fmt.Fprintf(c.out, "%s", text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// addEvent counts one event, and prints a package when it has ended.
func (c *testCounter) addEvent(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(c.out, e.Output)
	}
	if e.Package == "" {
		return
	}
	p := c.packages[e.Package]
	if p == nil {
		p = &packageOutput{passed: map[string]bool{}, active: map[string]bool{}}
		c.packages[e.Package] = p
	}
	switch {
	case e.Action == "output":
		p.lines = append(p.lines, line{e.Test, e.Output})
	case e.Action == "run" || e.Action == "cont":
		p.ran = true
		p.active[e.Test] = true
	case e.Action == "pause":
		delete(p.active, e.Test)
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test != "":
		c.end(e.Action)
		delete(p.active, e.Test)
		p.passed[e.Test] = e.Action == "pass"
		p.failed = p.failed || e.Action == "fail"
	default:
		c.endPackage(p, e.Action)
		delete(c.packages, e.Package)
	}
}

func (c *testCounter) end(action string) {
	switch action {
	case "pass":
		c.passed++
	case "fail":
		c.failed++
	case "skip":
		c.skipped++
	}
}

// endPackage prints a package: its last line if it passed, and the output of its tests that did
// not pass. A package that fails without a failed test, because it does not build or ends early,
// counts as a failed test. A package with tests of which none ran counts as a skipped one.
func (c *testCounter) endPackage(p *packageOutput, action string) {
	var notes strings.Builder
	for _, l := range p.lines {
		if !p.passed[l.test] && !strings.HasPrefix(l.text, "=== ") && l.text != "PASS\n" {
			notes.WriteString(l.text)
		}
	}
	switch {
	case action == "fail" && !p.failed:
		c.failed++
	case action == "pass" && !p.ran && strings.Contains(notes.String(), "[no tests to run]"):
		c.skipped++
	case action == "skip":
		return // it has no test files
	}
	fmt.Fprint(c.out, notes.String())
}
