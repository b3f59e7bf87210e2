package scratch

// This file starts wavex in a scratch project, finds the processes that it leaves, and reads its
// journal. It knows the command line and the files of wavex as a user's own script would.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
)

// Limit bounds one wavex process of these tests, which takes a second at most if it works
// correctly on an idle machine.
const Limit = 15 * time.Minute

// GoneTime bounds the wait for processes that must end by themselves, which takes milliseconds. A
// process left alive by mistake lives for five minutes.
const GoneTime = time.Minute

// Project is a scratch directory with a plan.
type Project struct {
	T     *testing.T
	Wavex string   // the executable
	Dir   string   // the directory of the project
	Home  string   // the home of its processes, which marks them: HOME passes to every child
	Flags []string // flags of each wavex run
}

// Write writes a file of the project.
func (p Project) Write(name, content string) {
	p.T.Helper()
	if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(content), 0o644); err != nil {
		p.T.Fatal(err)
	}
}

// Loop returns the .loop of the project.
func (p Project) Loop() string { return string(loop.In(p.Dir)) }

// Journal returns the path of the journal.
func (p Project) Journal() string { return filepath.Join(p.Loop(), loop.Journal) }

// Process is a running wavex.
type Process struct {
	Project
	Cmd            *exec.Cmd
	Over           chan struct{} // closed when it has ended and its output is read
	stdout, stderr bytes.Buffer
	err            error // of Wait; valid once Over is closed
}

// Ended is a wavex that has ended.
type Ended struct {
	Exit           int // -1 if killed
	Stdout, Stderr string
}

// Start starts wavex in the project with only the test's environment.
func (p Project) Start(env []string, args ...string) *Process {
	t := p.T
	t.Helper()
	w := &Process{Project: p, Over: make(chan struct{})}
	if len(args) > 0 && args[0] == "run" {
		args = append(slices.Clone(args), p.Flags...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	w.Cmd = exec.CommandContext(ctx, p.Wavex, args...)
	w.Cmd.Dir = p.Dir
	w.Cmd.Env = append([]string{"HOME=" + p.Home, "PATH=" + os.Getenv("PATH")}, env...)
	w.Cmd.Stdout, w.Cmd.Stderr = &w.stdout, &w.stderr
	w.Cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.Cmd.WaitDelay = GoneTime // then a grandchild that holds our pipes is an error
	if err := w.Cmd.Start(); err != nil {
		cancel()
		t.Fatalf("starting wavex: %v", err)
	}
	go func() {
		defer close(w.Over)
		w.err = w.Cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-w.Over
	})
	return w
}

// End waits for the process.
func (w *Process) End() Ended {
	w.T.Helper()
	<-w.Over
	var exit *exec.ExitError
	if w.err != nil && !errors.As(w.err, &exit) {
		w.T.Fatalf("waiting for wavex %q: %v\n%s", w.Cmd.Args[1:], w.err, w.stderr.String())
	}
	return Ended{w.Cmd.ProcessState.ExitCode(), w.stdout.String(), w.stderr.String()}
}

// Started waits until n attempts have started, according to the journal.
func (w *Process) Started(n int) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), Limit)
	defer cancel()
	if !rig.Until(ctx, func() bool {
		have := 0
		for _, e := range w.Events() {
			if _, ok := e.Body.(event.AttemptStarted); ok {
				have++
			}
		}
		return have >= n
	}) {
		w.T.Fatalf("%d attempts did not start\n%s", n, w.Dump())
	}
}

// IsOver reports whether the process has ended.
func (w *Process) IsOver() bool {
	select {
	case <-w.Over:
		return true
	default:
		return false
	}
}

// OverWithin reports whether the process ends by itself in time.
func (w *Process) OverWithin(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(w.T.Context(), d)
	defer cancel()
	select {
	case <-w.Over:
		return true
	case <-ctx.Done():
		return false
	}
}

// Run runs wavex to its end.
func (p Project) Run(args ...string) Ended {
	p.T.Helper()
	return p.Start(nil, args...).End()
}

// Rehearse runs or continues the plan.
func (p Project) Rehearse(more ...string) Ended {
	p.T.Helper()
	return p.Run(append([]string{"run", "plan.json", "--agent", "rehearse", "--output", "json"}, more...)...)
}

// MustComplete runs or continues the plan, which must end as complete.
func (p Project) MustComplete() Ended {
	p.T.Helper()
	e := p.Rehearse()
	if e.Exit != 0 {
		p.T.Fatalf("the run does not complete: exit %d\n%s\njournal:\n%s", e.Exit, e.Stderr, p.Dump())
	}
	return e
}

// MustSay asserts the exit code of a wavex, and words on its stderr.
func (e Ended) MustSay(t *testing.T, exit int, words ...string) {
	t.Helper()
	if e.Exit != exit {
		t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s", e.Exit, exit, e.Stdout, e.Stderr)
	}
	for _, w := range words {
		if !strings.Contains(e.Stderr, w) {
			t.Errorf("stderr does not say %q:\n%s", w, e.Stderr)
		}
	}
}

// Events returns the events of the journal, without a torn tail.
func (p Project) Events() []event.Event {
	p.T.Helper()
	records, err := journal.Read(p.Journal())
	if err != nil {
		p.T.Fatal(err)
	}
	events := make([]event.Event, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r, &events[i]); err != nil {
			p.T.Fatalf("record %d: %v\n%s", i+1, err, r)
		}
	}
	return events
}

// Dump returns the journal for a message.
func (p Project) Dump() string {
	b, _ := os.ReadFile(p.Journal())
	return string(b)
}

// LastRun returns the id of the newest run in a journal, and the end of its last session, or nil.
func LastRun(events []event.Event) (run string, end *event.RunEnded) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			run, end = b.Config.Run, nil
		case event.RunResumed:
			end = nil
		case event.RunEnded:
			end = &b
		}
	}
	return run, end
}

// Found is a process that belongs to a project.
type Found struct {
	Pid  int
	Argv []string
	stat string
}

// String returns the process as a line of a message.
func (f Found) String() string { return fmt.Sprintf("%d %q %s", f.Pid, f.Argv, f.stat) }

// Alive returns the processes that belong to the project or to its run, and its guards. A running
// wavex is one of them.
func (p Project) Alive(run string) (found []Found) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		p.T.Fatal(err)
	}
	marks := [][]byte{[]byte("\x00HOME=" + p.Home + "\x00")}
	if run != "" {
		marks = append(marks, []byte("\x00WAVEX_RUN="+run+"\x00"))
	}
	for _, d := range procs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", d.Name(), "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue // gone, a zombie, or a kernel thread
		}
		ours := run != "" && bytes.Contains(cmdline, []byte("\x00guard\x00"+run+"\x00"))
		if !ours {
			environ, err := os.ReadFile(filepath.Join("/proc", d.Name(), "environ"))
			if err != nil {
				continue
			}
			environ = append([]byte{0}, environ...)
			for _, m := range marks {
				ours = ours || bytes.Contains(environ, m)
			}
		}
		if ours {
			stat, _ := os.ReadFile(filepath.Join("/proc", d.Name(), "stat"))
			argv := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
			found = append(found, Found{pid, argv, string(stat)})
		}
	}
	return found
}

// MustBeGone asserts that no process of the project is alive after within, as counted by
// rig.Within, and returns how long it took.
func (p Project) MustBeGone(within time.Duration, after string) time.Duration {
	p.T.Helper()
	took, left := p.Gone(within)
	if left != nil {
		p.T.Errorf("%s after %s there are still alive, or were until then:\n%v", took, after, left)
	}
	return took
}

// Gone waits until no process of the project is alive, and returns how long it took, as counted by
// rig.Within, and the processes that were alive after within.
func (p Project) Gone(within time.Duration) (took time.Duration, left []Found) {
	p.T.Helper()
	run, _ := LastRun(p.Events())
	ctx, cancel := context.WithTimeout(p.T.Context(), Limit)
	defer cancel()
	var now []Found
	took, ok := rig.Within(ctx, within, func() bool {
		if now = p.Alive(run); len(now) > 0 {
			left = now
		}
		return len(now) == 0
	})
	if ok {
		return took, nil
	}
	return took, left
}
