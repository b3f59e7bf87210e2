package proc

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"testing"
)

// wrapper runs a program as bwrap does: as a child in its own group, which SIGTERM does not reach if it ends the
// wrapper.
var wrapper = []string{"/bin/sh", "-c", `shift; "$@" & wait $!`, "wrapper"}

// A SIGTERM reaches the program in a wrapper and its background jobs, and not the wrapper.
func TestTerminateInWrapper(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{Wrapper: wrapper, Argv: Shell(
		`sh -c 'trap "echo job; exit" TERM; echo ready; while :; do sleep 0.01; done' &
		 trap "wait; echo program; exit 7" TERM; echo ready; wait`)})
	out := bufio.NewReader(p.Stdout)
	for range 2 {
		if got := line(t, out); got != "ready" {
			t.Fatalf("%q", got)
		}
	}
	must(t, p.Terminate())
	rest, err := io.ReadAll(out)
	if e := p.Wait(); e.Code != 7 || e.Signal != "" || !e.Contained || string(rest) != "job\nprogram\n" || err != nil {
		t.Errorf("%+v %q %v", e, rest, err)
	}
}

// The signal that ended a program in a wrapper is reported as without one.
func TestSignalInWrapper(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]Exit{
		"exit 5":        {Code: 5, Contained: true},
		"exit 128":      {Code: 128, Contained: true},
		"kill -SEGV $$": {Code: -1, Signal: "SIGSEGV", Contained: true},
		"kill -KILL $$": {Code: -1, Signal: "SIGKILL", Contained: true},
		"true":          {Contained: true},
	} {
		p := start(t, Spec{Wrapper: wrapper, Argv: Shell(command)})
		if e := p.Wait(); e != want {
			t.Errorf("%s: %+v, want %+v", command, e, want)
		}
	}
}

// A program that is missing is an error of the start, also in a wrapper.
func TestMissingInWrapper(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"no-such-program", "/no/such/program", "./none"} {
		_, err := Start(Spec{Wrapper: []string{"/bin/sh", "-c", "exit 0"}, Argv: []string{program}, Dir: t.TempDir(),
			Env: testEnv})
		var start *StartError
		if !errors.As(err, &start) || start.Program != program {
			t.Errorf("%s: %v", filepath.Base(program), err)
		}
	}
}
