//go:build unix

package ci

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/runlog"
)

// This file holds how jobs can stop: at a limit, by the end of wavex, and by the loss of the machine.

const chainText = `{"version": 1, "name": "chain", "tasks": [
  {"id": "A", "subject": "one", "files": ["a.txt"], "verify": ["test -s a.txt"]},
  {"id": "B", "subject": "two", "blockedBy": ["A"], "files": ["b.txt"], "verify": ["test -s b.txt"]},
  {"id": "C", "subject": "three", "blockedBy": ["B"], "files": ["c.txt"], "verify": ["test -s c.txt"]},
  {"id": "D", "subject": "four", "blockedBy": ["C"], "files": ["d.txt"], "verify": ["test -s d.txt"]}
]}`

const writesText = `{"tasks": {
  "A": {"writes": [{"path": "a.txt", "content": "a"}]},
  "B": {"writes": [{"path": "b.txt", "content": "b"}]},
  "C": {"writes": [{"path": "c.txt", "content": "c"}]},
  "D": {"writes": [{"path": "d.txt", "content": "d"}]}
}}`

// slow returns writesText with one task that does not end.
func slow(task string) string {
	return strings.Replace(writesText, `"`+task+`": {`, `"`+task+`": {"duration": "10m", `, 1)
}

// begun returns a condition: an attempt at a task has begun.
func begun(task string) func([]event.Event) bool {
	return func(events []event.Event) bool {
		return slices.ContainsFunc(events, func(e event.Event) bool {
			b, ok := e.Body.(event.AttemptStarted)
			return ok && b.Task == task
		})
	}
}

// when calls do once, with the shell of the script that runs when the machine's journal meets a condition. wait
// returns when that has happened, or when the scripts have ended.
func (m *machine) when(cond func([]event.Event) bool, do func(shell *os.Process)) (wait func()) {
	var watch sync.WaitGroup
	var once sync.Once
	m.started = func(shell *os.Process) {
		watch.Go(func() {
			met := false
			rig.Until(m.t.Context(), func() bool {
				events, err := runlog.Read(loop.In(m.workspace))
				met = err == nil && cond(events)
				return met || shell.Signal(syscall.Signal(0)) != nil
			})
			if met {
				once.Do(func() { do(shell) })
			}
		})
	}
	return watch.Wait
}

// killWavex ends the wavex of a machine with SIGKILL.
func (m *machine) killWavex() {
	pid, err := journal.LockOwner(loop.In(m.workspace))
	if err == nil && pid != 0 {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		m.t.Error(err)
	}
}

// attempts returns the tasks that a job has begun, in order.
func (m *machine) attempts(since int) (tasks []string) {
	events, err := runlog.Read(loop.In(m.workspace))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range events[since:] {
		if b, ok := e.Body.(event.AttemptStarted); ok {
			tasks = append(tasks, b.Task)
		}
	}
	return tasks
}

// TestLimits: each of three jobs stops at a limit, and the work of all is on the server after each. The branch
// moves meanwhile.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, chainText, writesText)
	for _, c := range []struct {
		event  map[string]string
		limit  string
		pushed string
	}{
		{byHand("1"), "1", "one"},
		{hourly("2"), "+1", "one, two"},
		{hourly("3"), "+1", "one, two, three"},
	} {
		with := p.rehearsed("max-iterations", c.limit)
		if c.limit == "1" {
			with["args"] += " --allow-short"
		}
		o := p.newMachine(c.event, with).job(p.github)
		if got := o.outputs["wavex"]["exit-code"]; o.failed || got != "3" {
			t.Fatalf("failed %t, exit %s\n%s", o.failed, got, o.log)
		}
		if got := p.server.pushed(); got != c.pushed || len(p.server.branches()) != 1 {
			t.Fatalf("pushed %q to %q, want %q\n%s", got, p.server.branches(), c.pushed, o.log)
		}
		p.server.commit(map[string]string{"of-others": c.pushed})
	}
}

// TestKilled: SIGKILL ends wavex while the server refuses pushes. The later steps of the job push the
// integrated work, and the next job goes on from there.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, chainText, slow("C"))
	p.server.onPush(refuse)
	m := p.newMachine(byHand("1"), p.rehearsed())
	watch := m.when(begun("C"), func(*os.Process) {
		p.server.onPush("")
		m.killWavex()
	})
	o := m.job(p.github)
	watch()
	if got := p.server.pushed(); !o.failed || got != "one, two" {
		t.Fatalf("failed %t, pushed %q\n%s", o.failed, got, o.log)
	}
	next := p.newMachine(hourly("2"), p.rehearsed())
	next.overlay["args"] += " --scenario " + p.scenario(writesText)
	o = next.job(p.github)
	if got := p.server.pushed(); o.failed || got != "one, two, three, four" {
		t.Errorf("failed %t, pushed %q\n%s", o.failed, got, o.log)
	}
	if got := strings.Join(next.attempts(0), " "); got != "A B C C D" {
		t.Errorf("attempts %s\n%s", got, o.log)
	}
}

// TestMachineLost: a machine is lost with everything on it, after jobs that saved .loop and in the first job. All that
// was pushed stays on the server. With an older .loop, the next job takes the pushed work over; without one, it
// prints the tasks that it does again.
func TestMachineLost(t *testing.T) {
	t.Parallel()
	lose := func(p *ciFixture, task string, event map[string]string) {
		m := p.newMachine(event, p.rehearsed("max-iterations", "20"))
		m.overlay["args"] += " --scenario " + p.scenario(slow(task))
		watch := m.when(begun(task), func(*os.Process) {
			m.lost.Store(true)
			m.killWavex()
		})
		m.job(p.github)
		watch()
	}
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		p := newCIFixture(t, chainText, writesText)
		with := p.rehearsed("max-iterations", "1")
		with["args"] += " --allow-short"
		p.newMachine(byHand("1"), with).job(p.github)
		lose(p, "D", hourly("2"))
		if got := p.server.pushed(); got != "one, two, three" {
			t.Fatalf("pushed %q", got)
		}
		m := p.newMachine(hourly("3"), p.rehearsed("max-iterations", "+1"))
		o := m.job(p.github)
		if got := p.server.pushed(); o.failed || got != "one, two, three, four" || len(p.server.branches()) != 1 {
			t.Errorf("failed %t, pushed %q to %q", o.failed, got, p.server.branches())
		}
		if got := strings.Join(m.attempts(0), " "); got != "A D" {
			t.Errorf("attempts %s", got)
		}
		if want := "the remote has work that is not on record: B, C;"; !strings.Contains(o.log, want) {
			t.Errorf("it does not say %q\n%s", want, o.log)
		}
	})
	t.Run("at first", func(t *testing.T) {
		t.Parallel()
		p := newCIFixture(t, chainText, writesText)
		lose(p, "C", byHand("1"))
		lost := p.server.branches()
		if o := p.newMachine(hourly("2"), p.rehearsed()).job(p.github); o.outputs["wavex"]["status"] != "idle" {
			t.Errorf("an hourly job began a run\n%s", o.log)
		}
		o := p.newMachine(byHand("3"), p.rehearsed()).job(p.github)
		if o.failed {
			t.Errorf("failed\n%s", o.log)
		}
		if got := p.server.branches(); len(got) != 2 || !slices.Contains(got, lost[0]) {
			t.Errorf("branches %q, %q was pushed", got, lost)
		}
	})
}

// TestCancelledPush: the job is cancelled while a push to a server hangs, which does not react to signals. wavex
// ends in time, and the later steps push.
func TestCancelledPush(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, chainText, slow("B"))
	hung := filepath.Join(p.server.dir, "hung")
	p.server.onPush("test ! -e " + hung + " || exit 0\ntouch " + hung +
		"\ntrap '' INT TERM HUP\nwhile :; do sleep 1; done")
	m := p.newMachine(byHand("1"), p.rehearsed())
	watch := m.when(func([]event.Event) bool { return exists(hung) }, func(shell *os.Process) {
		_ = shell.Signal(syscall.SIGINT) // it may have ended
		if took, ok := rig.Within(t.Context(), 7*time.Second, func() bool {
			return shell.Signal(syscall.Signal(0)) != nil
		}); !ok {
			t.Errorf("the step was over after %s", took)
		}
	})
	o := m.job(p.github)
	watch()
	if got := o.outputs["wavex"]["exit-code"]; !o.failed || got != "143" {
		t.Errorf("failed %t, exit %s\n%s", o.failed, got, o.log)
	}
	if got := p.server.pushed(); got != "one" {
		t.Errorf("pushed %q\n%s", got, o.log)
	}
}

// TestSharedDirectory: agents that share the checkout. .loop alone carries the work from job to job, also after
// SIGKILL: the files as they were before the last wave. Nothing is pushed, and the action says so.
func TestSharedDirectory(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, chainText, slow("C"))
	shared := func(kv ...string) map[string]string {
		with := p.rehearsed(kv...)
		with["args"] += " --isolation shared"
		return with
	}
	first := shared("max-iterations", "1")
	first["args"] += " --allow-short"
	o := p.newMachine(byHand("1"), first).job(p.github)
	if want := "nothing is pushed: tasks work in the project's directory"; o.failed || !strings.Contains(o.log, want) {
		t.Fatalf("failed %t, or it does not say %q\n%s", o.failed, want, o.log)
	}
	m := p.newMachine(hourly("2"), shared("max-iterations", "+9"))
	works := func([]event.Event) bool { // the agent of C
		found, _ := filepath.Glob(filepath.Join(m.workspace, ".loop/runs/*/tasks/C/attempt-1/stream.jsonl"))
		return len(found) > 0
	}
	watch := m.when(works, func(*os.Process) { m.killWavex() })
	m.job(p.github)
	watch()
	m = p.newMachine(hourly("3"), shared())
	m.overlay["args"] += " --scenario " + p.scenario(writesText)
	o = m.job(p.github)
	if got := strings.Join(m.attempts(0), " "); o.failed || got != "A B C C D" || len(p.server.branches()) > 0 {
		t.Errorf("failed %t, attempts %s, branches %q\n%s", o.failed, got, p.server.branches(), o.log)
	}
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
		if !exists(filepath.Join(m.workspace, name)) {
			t.Errorf("there is no %s\n%s", name, o.log)
		}
	}
}
