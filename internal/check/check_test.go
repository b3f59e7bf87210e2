//go:build unix

package check_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/proc/proctest"
	"wavex/internal/testrepo"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.txt", "alpha\nbeta\n")
	write(t, dir, "sub/empty", "")
	write(t, dir, "big", strings.Repeat("y", 64<<10-3)+"needle"+strings.Repeat("z", 100<<10))
	write(t, dir, "secret", "x")
	testrepo.Must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for _, tc := range []struct {
		check  plan.Check
		passed bool
		code   int
		kind   string
		reason string
		output string
	}{
		{check: plan.Check{Run: "echo out; echo err >&2"}, passed: true, kind: check.KindExecution, output: "out\nerr"},
		{check: plan.Check{Run: "echo no; exit 3"}, code: 3, kind: check.KindExecution, reason: "exit code 3", output: "no"},
		{check: plan.Check{Run: "kill -9 $$"}, code: -1, kind: check.KindExecution, reason: "ended by SIGKILL"},
		{check: plan.Check{Run: "test \"$PWD\" = \"$WANT\" -a -z \"$HOME\""}, passed: true, kind: check.KindExecution},
		{check: plan.Check{Run: "test \"$p1\" = \"a b\"", Env: "p1=a b"}, passed: true, kind: check.KindExecution},
		{check: plan.Check{File: "secret"}, passed: true, kind: check.KindObservation},
		{check: plan.Check{File: "a.txt"}, passed: true, kind: check.KindObservation},
		{check: plan.Check{File: "sub"}, kind: check.KindObservation, reason: "sub is not a regular file"},
		{check: plan.Check{File: "sub/empty"}, kind: check.KindObservation, reason: "sub/empty is empty"},
		{check: plan.Check{File: "b.txt"}, kind: check.KindObservation, reason: "b.txt does not exist"},
		{check: plan.Check{File: "b.txt", Contains: "x"}, kind: check.KindObservation, reason: "b.txt does not exist"},
		{check: plan.Check{File: "a.txt", Contains: "alpha\nbeta"}, passed: true, kind: check.KindObservation},
		{check: plan.Check{File: "a.txt", Contains: "gamma"}, kind: check.KindObservation,
			reason: `a.txt does not contain "gamma"`},
		{check: plan.Check{File: "big", Contains: "needle"}, passed: true, kind: check.KindObservation},
		{check: plan.Check{File: "big", Contains: "needles"}, kind: check.KindObservation,
			reason: `big does not contain "needles"`},
		{check: plan.Check{File: "sub", Contains: "x"}, kind: check.KindObservation, reason: "sub is not a regular file"},
		{check: plan.Check{File: "pipe"}, kind: check.KindObservation, reason: "pipe is not a regular file"},
		{check: plan.Check{File: "pipe", Matches: "x"}, kind: check.KindObservation,
			reason: "pipe is not a regular file"},
		{check: plan.Check{File: "secret", Contains: "\x00x"}, kind: check.KindObservation,
			reason: `secret does not contain "\x00x"`},
		{check: plan.Check{File: "sub/empty", Contains: "x"}, kind: check.KindObservation,
			reason: `sub/empty does not contain "x"`},
		{check: plan.Check{File: "a.txt", Matches: `(?m)^b\w+$`}, passed: true, kind: check.KindObservation},
		{check: plan.Check{File: "a.txt", Matches: `^b`}, kind: check.KindObservation, reason: "a.txt does not match /^b/"},
		{check: plan.Check{File: "a.txt", Matches: `(`}, kind: check.KindObservation,
			reason: "error parsing regexp: missing closing ): `(`"},
	} {
		t.Run(tc.check.Describe(), func(t *testing.T) {
			t.Parallel()
			at := check.Place{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "WANT=" + dir}}
			got, err := at.Run(t.Context(), []plan.Check{tc.check})
			if err != nil || len(got) != 1 {
				t.Fatalf("Run = %v, %v; want one evidence", got, err)
			}
			e := got[0]
			if e.Passed != tc.passed || e.ExitCode != tc.code || e.Kind != tc.kind || e.Reason != tc.reason ||
				e.Output != tc.output {
				t.Errorf("evidence = %+v; want %+v", e, tc)
			}
			if e.Check != tc.check.Describe() {
				t.Errorf("Check = %q", e.Check)
			}
		})
	}
}

// A text is found wherever it lies, also across the pieces in which a file is read.
func TestContainsAtAnyPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const piece, text = 64 << 10, "needle"
	for _, border := range []int{piece, 2 * piece} {
		for at := border - len(text) - 2; at < border+2*len(text); at++ {
			write(t, dir, "big", strings.Repeat("n", at)+text+strings.Repeat("e", 10))
			got, err := check.Place{Dir: dir}.Run(t.Context(), []plan.Check{{File: "big", Contains: text}})
			if err != nil || !got[0].Passed {
				t.Errorf("at %d: %+v, %v", at, got, err)
			}
		}
	}
}

// A reason is one line of at most 300 bytes.
func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", "x")
	long := strings.Repeat("long ", 100)
	for _, c := range []plan.Check{{File: "a\nb"}, {File: long}, {File: "file", Contains: long},
		{File: "file", Matches: long}, {File: "file", Matches: "a\nb"}, {File: "file", Matches: "(" + long},
		{File: "file/" + long}} {
		got, err := check.Place{Dir: dir}.Run(t.Context(), []plan.Check{c})
		if reason := got[0].Reason; err != nil || reason == "" || len(reason) > 300 || strings.Contains(reason, "\n") {
			t.Errorf("%.20q: %q, %v", c.Describe(), reason, err)
		}
	}
}

// The output of a command is returned whole beside the excerpt in its evidence; a file has none.
func TestWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", "x")
	at := check.Place{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}}
	got, err := at.Run(t.Context(), []plan.Check{
		{Run: "seq 1 2000; exit 1"}, {File: "file", Contains: "x"}, {Run: "echo green"}})
	if err != nil || len(got[0].Output) > 2048 {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(strings.Fields(got[0].Whole)); n != 2000 || got[1].Whole != "" || got[2].Whole != "green" {
		t.Errorf("%d lines, then %+v", n, got[1:])
	}
}

// A process that a command leaves is ended by the mark of the attempt, which is in its environment.
func TestLeftoverIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := check.Place{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "A=b", proc.AttemptVar + "=" + dir}}
	_, err := at.Run(t.Context(), []plan.Check{{Run: "echo $WAVEX_ATTEMPT > mark; command -v setsid || exit; mkfifo up; " +
		"setsid sh -c 'echo $$ > pid; : > up; exec sleep 600' > /dev/null 2>&1 & cat up"}})
	testrepo.Must(t, err)
	if mark, err := os.ReadFile(filepath.Join(dir, "mark")); string(mark) != dir+"\n" {
		t.Errorf("the mark is %q, %v", mark, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Skip(err) // no setsid
	}
	pid := strings.TrimSpace(string(text))
	if text, _ := os.ReadFile("/proc/" + pid + "/cmdline"); len(text) > 0 { // a zombie has none; of Linux
		t.Errorf("%s runs on: %q", pid, text)
	}
}

func TestFloodIsReadToTheEnd(t *testing.T) {
	t.Parallel()
	at := check.Place{Dir: t.TempDir(), Env: testCommand("flood")}
	got, err := at.Run(t.Context(), []plan.Check{{Run: self(t)}})
	if err != nil || !got[0].Passed {
		t.Fatalf("Run = %+v, %v", got, err)
	}
	out := got[0].Output
	if len(out) > 2048 || !strings.HasPrefix(out, "first line") || !strings.HasSuffix(out, "last line") ||
		!strings.Contains(out, "bytes left out") {
		t.Errorf("output of %d bytes: %.60q...", len(out), out)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	got, err := check.Place{Dir: t.TempDir(), Env: testCommand("hang")}.Run(t.Context(), []plan.Check{
		{Run: self(t), Timeout: 100 * time.Millisecond},
		{Run: "true"},
	})
	if err != nil {
		t.Fatalf("a check's own timeout is not an error of Run: %v", err)
	}
	if e := got[0]; e.Passed || e.ExitCode != -1 || e.Reason != "no end after 100ms" {
		t.Errorf("evidence = %+v", e)
	}
	if !got[1].Passed {
		t.Errorf("the check after it = %+v", got[1])
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	stop := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	dir := t.TempDir()
	// The first check cancels the run: its output is kept, and the following checks do not run.
	fifo := filepath.Join(dir, "started")
	testrepo.Must(t, syscall.Mkfifo(fifo, 0o600))
	watched := make(chan error)
	go func() {
		_, err := os.ReadFile(fifo) // returns when the check has written
		cancel(stop)
		watched <- err
	}()
	got, err := check.Place{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}}.Run(ctx, []plan.Check{
		{Run: "trap 'exit 0' TERM; echo begun; : > started; sleep 600 & wait"}, {Run: ": > second"}, {File: "started"},
	})
	if werr := <-watched; werr != nil {
		t.Fatal(werr)
	}
	if !errors.Is(err, stop) {
		t.Fatalf("error = %v, want the cause", err)
	}
	if e := got[0]; e.Passed || e.ExitCode != -1 || e.Output != "begun" || e.Reason != "stopped: asked to stop" {
		t.Errorf("the check cut short = %+v", e)
	}
	for _, e := range got[1:] {
		if e.Passed || e.ExitCode != -1 || e.Reason != "not run: asked to stop" {
			t.Errorf("a check that was not run = %+v", e)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "second")); err == nil {
		t.Error("a check ran after the stop")
	}
}

func TestPassed(t *testing.T) {
	t.Parallel()
	good, bad := check.Evidence{Passed: true}, check.Evidence{}
	for _, tc := range []struct {
		in   []check.Evidence
		want bool
	}{{nil, false}, {[]check.Evidence{good}, true}, {[]check.Evidence{good, bad}, false}} {
		if got := check.Passed(tc.in); got != tc.want {
			t.Errorf("Passed(%v) = %v", tc.in, got)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testrepo.Must(t, os.WriteFile(path, []byte(text), 0o644))
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	testrepo.Must(t, err)
	return "exec " + exe
}

func testCommand(what string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "VERIFY_STANDIN=" + what}
}

// A command line that needs no shell runs without one. A script without its first line, which
// only a shell can run, runs too.
func TestShellOnlyWhereNeeded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	proctest.Script(t, filepath.Join(dir, "bare"), "echo ran by a shell\n")
	env := []string{"PATH=" + os.Getenv("PATH")}
	for _, tc := range []struct{ run, want string }{
		{"./bare", "ran by a shell"},
		{"env", "PATH=" + os.Getenv("PATH") + "\nPWD=" + dir},
		{"./no-such-program", "not found"},
	} {
		got, err := check.Place{Dir: dir, Env: env}.Run(t.Context(), []plan.Check{{Run: tc.run}})
		if err != nil || !strings.Contains(got[0].Output, tc.want) {
			t.Errorf("%s: %+v, %v; want %q", tc.run, got, err, tc.want)
		}
	}
	got, _ := check.Place{Dir: dir, Env: env}.Run(t.Context(), []plan.Check{{Run: "./no-such-program"}})
	if got[0].ExitCode != 127 {
		t.Errorf("a program that is not there: %+v, want the shell's 127", got[0])
	}
}

// A command that ends with a code of its own when it is asked to end has not passed and has no exit code. Run returns
// when it has ended.
func TestStoppedCommandIsAwaited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := `trap ': > ended; exit 0' TERM; echo begun; : > started; sleep 600 & wait`
	at := check.Place{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}}
	got, err := at.Run(t.Context(), []plan.Check{{Run: line, Timeout: 2 * time.Second}})
	testrepo.Must(t, err)
	if e := got[0]; e.Passed || e.ExitCode != -1 || e.Reason != "no end after 2s" {
		t.Errorf("evidence = %+v", e)
	}
	for _, name := range []string{"started", "ended"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// Command returns the end of a stopped command, and its whole output to the other writer.
func TestCommand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("asked to stop")
	var all strings.Builder
	at := check.Place{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	exit, out, err := at.Command(ctx, "echo begun; exec sleep 600", cancelOnWrite{&all, func() { cancel(stop) }}, nil)
	if !errors.Is(err, stop) || exit.Signal != "SIGTERM" || !exit.Contained {
		t.Errorf("exit = %+v, %v", exit, err)
	}
	if out.String() != "begun" || all.String() != "begun\n" {
		t.Errorf("output %q, to the writer %q", out, all.String())
	}
	exit, out, err = check.Place{Dir: filepath.Join(t.TempDir(), "none")}.Command(t.Context(), "true", nil, nil)
	if err == nil || exit.Code != -1 || !exit.Contained || out.String() != "" {
		t.Errorf("in a directory that is not there: %+v, %q, %v", exit, out, err)
	}
}

type cancelOnWrite struct {
	*strings.Builder
	cancel func()
}

func (c cancelOnWrite) Write(b []byte) (int, error) {
	defer c.cancel()
	return c.Builder.Write(b)
}

// The reason of a check that could not be started, or whose file could not be looked at, names the cause.
func TestReasonOfWhatCannotBeChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", "x")
	for _, c := range []plan.Check{{File: "file/below"}, {File: "file/below", Contains: "x"}} {
		got, err := check.Place{Dir: dir}.Run(t.Context(), []plan.Check{c})
		if err != nil || got[0].Passed || !strings.Contains(got[0].Reason, "not a directory") {
			t.Errorf("%+v, %v", got[0], err)
		}
	}
	got, err := check.Place{Dir: filepath.Join(dir, "none")}.Run(t.Context(), []plan.Check{{Run: "true"}})
	if err != nil || got[0].Passed || got[0].ExitCode != -1 || !strings.Contains(got[0].Reason, "no such file") ||
		strings.Contains(got[0].Reason, "stopped") {
		t.Errorf("%+v, %v", got[0], err)
	}
	const failing = "/proc/self/mem" // a regular file whose first page cannot be read
	if _, err := os.ReadFile(failing); !errors.Is(err, syscall.EIO) {
		t.Logf("no file here that fails when it is read: %v", err)
		return
	}
	for _, c := range []plan.Check{{File: failing, Contains: "x"}, {File: failing, Matches: "x"}} {
		got, err := check.Place{Dir: dir}.Run(t.Context(), []plan.Check{c})
		if err != nil || got[0].Passed || !strings.Contains(got[0].Reason, syscall.EIO.Error()) {
			t.Errorf("%+v, %v", got[0], err)
		}
	}
}

// A path of a check may be absolute.
func TestAbsoluteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", "x")
	got, err := check.Place{Dir: t.TempDir()}.Run(t.Context(),
		[]plan.Check{{File: filepath.Join(dir, "file"), Contains: "x"}})
	if err != nil || !got[0].Passed {
		t.Errorf("%+v, %v", got, err)
	}
}
