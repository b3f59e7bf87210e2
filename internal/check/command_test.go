package check

import (
	"errors"
	"testing"
	"time"

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
