package check

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/plan"
	"wavex/internal/proc"
)

// The exit code decides, and the reason of a failure names the limit of the machine that the command reached.
func TestConclude(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such\ndirectory")
	for _, tc := range []struct {
		exit    proc.Exit
		err     error
		stopped bool
		want    Evidence
	}{
		{proc.Exit{}, nil, false, Evidence{Passed: true}},
		{proc.Exit{}, nil, true, Evidence{Passed: true}}, // it ended before the stop
		{proc.Exit{Exhausted: "memory limit"}, nil, false, Evidence{Passed: true}},
		{proc.Exit{Code: 2}, nil, false, Evidence{ExitCode: 2, Reason: "exit code 2"}},
		{proc.Exit{Code: -1, Signal: "SIGKILL", Exhausted: "memory limit"}, nil, false,
			Evidence{ExitCode: -1, Reason: "memory limit: ended by SIGKILL"}},
		{proc.Exit{}, ErrCheckTimeout, true, Evidence{ExitCode: -1, Reason: "no end after 2s"}},
		{proc.Exit{}, broken, true, Evidence{ExitCode: -1, Reason: "stopped: no such directory"}},
		{proc.Exit{Code: -1}, broken, false, Evidence{ExitCode: -1, Reason: "no such directory"}},
	} {
		var got Evidence
		if got.conclude(tc.exit, tc.err, tc.stopped, 2*time.Second); got != tc.want {
			t.Errorf("%+v, %v: %+v, want %+v", tc.exit, tc.err, got, tc.want)
		}
	}
}

// The output of a command is kept and passed on whole, and its stdout also alone.
func TestStdoutApart(t *testing.T) {
	t.Parallel()
	var also strings.Builder
	stdout := &proc.HeadBuffer{Max: 99}
	exit, out, err := Place{Dir: t.TempDir(), Env: os.Environ()}.Command(t.Context(),
		"echo one && echo two >&2 && echo three", &also, stdout)
	if err != nil || exit.Code != 0 || stdout.String() != "one\nthree\n" {
		t.Errorf("exit code %d, %v; stdout %q", exit.Code, err, stdout)
	}
	for _, word := range []string{"one", "two", "three"} {
		if !strings.Contains(also.String(), word) || !strings.Contains(out.String(), word) {
			t.Errorf("%q is not in %q or not in %q", word, also.String(), out)
		}
	}
}

// A check of a file does not leave it open. Blanks around its name do not count.
func TestCheckedFileIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	checks := []plan.Check{{File: "a.txt", Contains: "ex"}, {File: " a.txt\n", Matches: "^text$"}}
	e, err := Place{Dir: dir}.Run(t.Context(), checks)
	if err != nil || !e[0].Passed || !e[1].Passed {
		t.Errorf("%+v, %v", e, err)
	}
	open, _ := filepath.Glob("/proc/self/fd/*") // on Linux
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && to == path {
			t.Errorf("%s is open", to)
		}
	}
}
