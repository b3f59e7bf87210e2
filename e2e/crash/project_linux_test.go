package crash

// This file holds a scratch project and the wavex processes in it: their start, the processes
// that they leave, and their journal. It knows the command line and the files of wavex as a
// user's own script would.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// limit bounds one wavex process of these tests, which takes a second at most if it works
// correctly on an idle machine.
const limit = 4 * time.Minute

// goneTime bounds the wait for processes that must end by themselves, which takes milliseconds. A
// process left alive by mistake lives for five minutes.
const goneTime = time.Minute

// project is a scratch directory with a plan.
type project struct {
	t   *testing.T
	dir string
}

func newProject(t *testing.T, plan string) project {
	t.Helper()
	p := project{t, t.TempDir()}
	p.write("plan.json", plan)
	return p
}

func (p project) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p project) loop() string    { return string(loop.In(p.dir)) }
func (p project) journal() string { return filepath.Join(p.loop(), "journal.jsonl") }

// home returns the variable that marks every process of this project: HOME passes to every child.
func (p project) home() string { return "HOME=" + p.dir }

// process is a running wavex.
type process struct {
	project
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	over           chan struct{} // closed when it has ended and its output is read
	err            error         // of Wait; valid once over is closed
}

// ended is a wavex that has ended.
type ended struct {
	exit           int // -1 if killed
	stdout, stderr string
}

// start starts wavex in the project with only the test's environment.
func (p project) start(env []string, args ...string) *process {
	t := p.t
	t.Helper()
	w := &process{project: p, over: make(chan struct{})}
	if len(args) > 0 && args[0] == "run" { // these plans do not need reviews, which are many processes
		args = append(slices.Clone(args), "--review", "off", "--accept-assumptions")
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	w.cmd = exec.CommandContext(ctx, shared.wavex, args...)
	w.cmd.Dir = p.dir
	w.cmd.Env = append([]string{p.home(), "PATH=" + os.Getenv("PATH")}, env...)
	w.cmd.Stdout, w.cmd.Stderr = &w.stdout, &w.stderr
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.cmd.WaitDelay = goneTime // then a grandchild that holds our pipes is an error
	if err := w.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("starting wavex: %v", err)
	}
	go func() {
		defer close(w.over)
		w.err = w.cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-w.over
	})
	return w
}

// end waits for the process.
func (w *process) end() ended {
	w.t.Helper()
	<-w.over
	var exit *exec.ExitError
	if w.err != nil && !errors.As(w.err, &exit) {
		w.t.Fatalf("waiting for wavex %q: %v\n%s", w.cmd.Args[1:], w.err, w.stderr.String())
	}
	return ended{w.cmd.ProcessState.ExitCode(), w.stdout.String(), w.stderr.String()}
}

// run runs wavex to its end.
func (p project) run(args ...string) ended {
	p.t.Helper()
	return p.start(nil, args...).end()
}

// rehearse runs or continues the plan.
func (p project) rehearse(more ...string) ended {
	p.t.Helper()
	return p.run(append([]string{"run", "plan.json", "--agent", "rehearse", "--output", "json"}, more...)...)
}

// mustComplete runs or continues the plan, which must end as complete.
func (p project) mustComplete() ended {
	p.t.Helper()
	e := p.rehearse()
	if e.exit != 0 {
		p.t.Fatalf("the run does not complete: exit %d\n%s\njournal:\n%s", e.exit, e.stderr, p.dump())
	}
	return e
}

// mustSay asserts the exit code of a wavex, and words on its stderr.
func (e ended) mustSay(t *testing.T, exit int, words ...string) {
	t.Helper()
	if e.exit != exit {
		t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s", e.exit, exit, e.stdout, e.stderr)
	}
	for _, w := range words {
		if !strings.Contains(e.stderr, w) {
			t.Errorf("stderr does not say %q:\n%s", w, e.stderr)
		}
	}
}

// events returns the events of the journal, without a torn tail.
func (p project) events() []event.Event {
	p.t.Helper()
	records, err := journal.Read(p.journal())
	if err != nil {
		p.t.Fatal(err)
	}
	events := make([]event.Event, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r, &events[i]); err != nil {
			p.t.Fatalf("record %d: %v\n%s", i+1, err, r)
		}
	}
	return events
}

// dump returns the journal for a message.
func (p project) dump() string {
	b, _ := os.ReadFile(p.journal())
	return string(b)
}

// lastRun returns the id of the newest run in a journal, and the end of its last session, or nil.
func lastRun(events []event.Event) (run string, end *event.RunEnded) {
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

// alive returns the processes that belong to the project or to its run, and its guards: all
// except a wavex that is a child of the test.
func (p project) alive(run string) (found []string) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		p.t.Fatal(err)
	}
	marks := [][]byte{[]byte("\x00" + p.home() + "\x00")}
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
			found = append(found, strconv.Itoa(pid)+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))+" "+
				string(stat))
		}
	}
	return found
}

// mustBeGone asserts that no process of the project is alive after within, as counted by
// rig.Within, and returns how long it took.
func (p project) mustBeGone(within time.Duration, after string) time.Duration {
	p.t.Helper()
	run, _ := lastRun(p.events())
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	var left []string
	took, ok := rig.Within(ctx, within, func() bool { left = p.alive(run); return len(left) == 0 })
	if !ok {
		p.t.Errorf("%s after %s there are still alive, or were until then:\n%s", took, after, strings.Join(left, "\n"))
	}
	return took
}
