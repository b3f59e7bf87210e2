//go:build unix

package proc

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var reaper = flag.Bool("reaper", false, "this process is a subreaper (set by tests that start it again)")

// testTimeout bounds the waits of tests for events that take milliseconds on an idle machine. The
// processes that must end would otherwise live longer than that.
const testTimeout = 3 * time.Minute

// TestMain also runs the programs that the tests start: "helper NAME ARG...".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "helper" {
		time.AfterFunc(5*time.Minute, func() { os.Exit(99) }) // even if the test hangs or dies
		os.Exit(helper(os.Args[2], os.Args[3:]))
	}
	flag.Parse()
	if *reaper {
		if err := Subreaper(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// self returns the argument list that runs a helper.
func self(t testing.TB, args ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return append([]string{exe, "helper"}, args...)
}

// testEnv spares each helper that is built with -race one second of sleep at its end.
var testEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "GORACE=atexit_sleep_ms=0"}

// start starts a process and kills it at the end of the test if it still lives.
func start(t testing.TB, s Spec) *Process {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Env == nil {
		s.Env = testEnv
	}
	p, err := Start(s)
	must(t, err)
	t.Cleanup(func() {
		_ = p.Kill()
		p.Wait()
	})
	return p
}

// line reads one line of a process, such as "ready".
func line(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("reading a line: %v (got %q)", err, s)
	}
	return s[:len(s)-1]
}

// mark returns an attempt of a run of this test process, distinct from those of parallel test
// processes.
func mark(task string) string { return fmt.Sprintf("run%d/%s/1", os.Getpid(), task) }

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
