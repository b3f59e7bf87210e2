package tasklist

// This file plays runs to a mirror, event by event, and checks the list. The bubbles of synctest
// show when the mirror has nothing left to write.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/jsonobject"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

// fakeRun is a run of a list's plan and its mirror.
type fakeRun struct {
	t        testing.TB
	l        *List
	s        *scheduler.State
	m        *ProgressWriter
	seq      int64
	warnings []string
}

func startFakeRun(t testing.TB, l *List, run string) *fakeRun {
	t.Helper()
	p, ds, err := l.Plan(t.Context(), run)
	if p == nil || err != nil {
		t.Fatal(ds, err)
	}
	h := &fakeRun{t: t, l: l, s: scheduler.NewState(p)}
	h.m = NewProgressWriter(t.Context(), l, p, nil, func(s string) { h.warnings = append(h.warnings, s) })
	c := event.DefaultConfig()
	c.Parallel = 4
	c.Run, c.Limits = "r-1", budget.Limits{NoUSD: true, NoIterations: true}
	h.apply(event.RunStarted{Config: c, Tasks: len(p.Tasks)})
	return h
}

func (h *fakeRun) apply(b event.Body) {
	h.t.Helper()
	h.seq++
	e := event.Event{Seq: h.seq, Body: b}
	if err := h.s.Replay([]event.Event{e}); err != nil {
		h.t.Fatal(err)
	}
	h.m.Event(e, h.s)
}

func (h *fakeRun) start(id string) {
	h.t.Helper()
	i, _ := h.s.Index(id)
	t := &h.s.Tasks[i]
	h.apply(event.AttemptStarted{Task: id, Key: t.Key, Wave: t.Wave, Attempt: t.Attempts + 1, Try: t.Tries + 1,
		Why: "first"})
}

func (h *fakeRun) end(id string, o runner.Outcome, to event.Status, stuck int) {
	h.t.Helper()
	i, _ := h.s.Index(id)
	t := &h.s.Tasks[i]
	h.apply(event.AttemptEnded{Task: id, Key: t.Key, Attempt: t.Attempts, Result: runner.Result{Outcome: o},
		Status: to,
		Stuck:  stuck})
}

func (h *fakeRun) close() {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	h.m.Close(ctx)
}

// line returns the short form of a task in the list.
func (h *fakeRun) line(id string) string {
	h.t.Helper()
	t := whole(h.t, h.l)[id]
	if t == nil {
		return "gone"
	}
	m := &t.Metadata
	return strings.TrimRight(fmt.Sprintf("%s %s wave=%s loop=%s stuck=%s %s", t.Status, t.Owner,
		string(m.Get("wave")), m.Text("loopId"), string(m.Get("stuckCount")), m.Text("verification")), " ")
}

func (h *fakeRun) want(id, want string) {
	h.t.Helper()
	synctest.Wait()
	if got := h.line(id); got != want {
		h.t.Errorf("task %s is shown as %q, want %q", id, got, want)
	}
}

const untouched = "pending  wave= loop= stuck="

func TestProgressWriter(t *testing.T) {
	t.Parallel()
	two := strings.Replace(pending("2", ""), `"blockedBy":[]`, `"blockedBy":["1"]`, 1)
	l := folder(t, map[string]string{"1.json": pending("1", `,"mine":{"a":1},"metadata":{"mine":true}`), "2.json": two,
		"3.json": pending("3", "")})
	put(t, l, "3.json", strings.Replace(pending("3", ""), "do it", "do it. Verify: true", 1))
	synctest.Test(t, func(t *testing.T) {
		h := startFakeRun(t, l, "")
		h.want("1", untouched)
		h.start("1")
		h.want("1", "in_progress wavex wave=1 loop=r-1 stuck=0")
		h.want("2", untouched)
		h.end("1", runner.Wrong, event.Advising, 1)
		h.want("1", "in_progress wavex wave=1 loop=r-1 stuck=1")
		h.apply(event.CounselSkipped{Task: "1"})
		h.want("1", "pending  wave=1 loop=r-1 stuck=1")
		h.start("1")
		h.end("1", runner.Done, event.Completed, 1)
		h.want("1", "completed wavex wave=1 loop=r-1 stuck=1 assumption")
		h.start("3")
		h.end("3", runner.Done, event.Verified, 0)
		h.want("3", "in_progress wavex wave=1 loop=r-1 stuck=0")
		h.start("2")
		h.end("2", runner.Wrong, event.Failed, 4)
		h.want("2", "pending  wave=2 loop=r-1 stuck=4")
		// The failed task is marked as done, but it is not done.
		testrepo.Must(t, l.Update(t.Context(), "2", func(task *Task) bool { task.Status = Completed; return true }))
		h.apply(event.RunEnded{Status: "failed"})
		h.close()
		h.want("2", "pending  wave=2 loop=r-1 stuck=4")
		h.want("3", "pending  wave=1 loop=r-1 stuck=0")
		if one := content(t, l, "1.json"); !strings.Contains(one, `"mine": {`) || !strings.Contains(one, `"mine": true`) {
			t.Errorf("fields of others were lost: %s", one)
		}
		if len(h.warnings) > 0 {
			t.Error(h.warnings)
		}
		h.start("2") // does nothing after Close
		h.want("2", "pending  wave=2 loop=r-1 stuck=4")
	})
}

// Claude Code reads the metadata of a task before it locks the file, so a write in between is lost. The end of the run
// repeats it, and leaves a task alone that a person has changed since it was completed.
func TestMetadataIsRestoredAtTheEnd(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": pending("1", ""), "2.json": pending("2", ""), "3.json": pending("3", ""),
		"4.json": pending("4", "")})
	synctest.Test(t, func(t *testing.T) {
		h := startFakeRun(t, l, "")
		for _, id := range []string{"1", "2", "3", "4", "1"} { // 1 goes back, and is completed once more
			h.start(id)
			synctest.Wait() // it is shown as in progress
			h.end(id, runner.Done, event.Completed, 0)
			h.want(id, "completed wavex wave=1 loop=r-1 stuck=0 assumption")
		}
		change := func(id string, f func(*Task)) {
			t.Helper()
			testrepo.Must(t, l.Update(t.Context(), id, func(task *Task) bool { f(task); return true }))
		}
		change("1", func(task *Task) { task.Metadata = jsonobject.Object{}; task.Metadata.Set("note", []byte("1")) })
		change("2", func(task *Task) { task.Status, task.Owner, task.Metadata = Pending, "", nil })
		change("3", func(task *Task) { task.Owner, task.Metadata = "me", nil })
		testrepo.Must(t, os.Remove(l.file("4")))
		h.apply(event.RunEnded{Status: "complete"})
		h.close()
		h.want("1", "completed wavex wave=1 loop=r-1 stuck=0 assumption")
		if one := content(t, l, "1.json"); !strings.Contains(one, `"note": 1`) {
			t.Errorf("a note was lost: %s", one)
		}
		h.want("2", untouched)
		h.want("3", "completed me wave= loop= stuck=")
		h.want("4", "gone")
		if len(h.warnings) > 0 {
			t.Error(h.warnings)
		}
	})
}

// A task that the run adds gets a new number, once, in all sessions of the run.
func TestProgressOfAddedTasks(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": strings.Replace(pending("1", ""), "do it", "do it. Verify: true", 1),
		".highwatermark": "6"})
	added := event.TasksAdded{Wave: 2, Origin: "review", Tasks: []event.Added{{ID: "R-001", For: "x",
		Task: json.RawMessage(`{"id":"R-001","subject":"Mend x","description":"It is broken.","verify":["test -f x"]}`)}}}
	synctest.Test(t, func(t *testing.T) {
		h := startFakeRun(t, l, "")
		h.start("1")
		h.end("1", runner.Done, event.Completed, 0)
		h.apply(added)
		h.want("1", "completed wavex wave=1 loop=r-1 stuck=0 execution output")
		h.want("7", "pending  wave=2 loop=r-1 stuck=0")
		h.start("R-001")
		h.want("7", "in_progress wavex wave=2 loop=r-1 stuck=0")
		h.close()

		h = startFakeRun(t, l, "r-1") // the journal restores the task
		h.start("1")
		h.apply(added)
		h.start("R-001")
		h.end("R-001", runner.Done, event.Completed, 0)
		h.want("7", "completed wavex wave=2 loop=r-1 stuck=0 execution output")
		h.close()
		task := whole(t, l)["7"]
		if len(whole(t, l)) != 2 || task.Description != "It is broken.\n\nVerify: test -f x" ||
			task.Metadata.Text("remediation") != "R-001" {
			t.Errorf("%s", task.render())
		}
	})
}

// A failed write is reported once, repeated, and delays nothing.
func TestProgressInADamagedList(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": pending("1", ""), "2.json": pending("2", ""), "3.json": pending("3", "")})
	synctest.Test(t, func(t *testing.T) {
		h := startFakeRun(t, l, "")
		testrepo.Must(t, os.Remove(l.file("1")))
		put(t, l, "2.json", "{")
		h.start("1")
		h.start("2")
		h.start("3")
		h.end("1", runner.Done, event.Completed, 0)
		synctest.Wait()
		put(t, l, "2.json", pending("2", ""))
		h.apply(event.RunEnded{Status: "interrupted"})
		h.close()
		h.want("1", "gone")
		h.want("2", "pending  wave=1 loop=r-1 stuck=0")
		h.want("3", "pending  wave=1 loop=r-1 stuck=0")
		if len(h.warnings) != 2 || !strings.Contains(strings.Join(h.warnings, "\n"), "task 1 was deleted") {
			t.Errorf("%q", h.warnings)
		}
	})
}

// A lock that is never released delays Close, but not the run.
func TestProgressInALockedList(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": pending("1", "")})
	synctest.Test(t, func(t *testing.T) {
		h := startFakeRun(t, l, "")
		testrepo.Must(t, os.Mkdir(l.file("1")+".lock", 0o755))
		began := time.Now()
		h.start("1")
		h.end("1", runner.Done, event.Completed, 0)
		if took := time.Since(began); took > 0 {
			t.Errorf("the run waited %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		h.m.Close(ctx)
		if took := time.Since(began); took != 2*time.Second || len(h.warnings) != 1 {
			t.Errorf("%v %q", took, h.warnings)
		}
	})
}

// At the end the list agrees with the run, and no failed task looks done.
func TestProgressAtTheEndOfARun(t *testing.T) {
	t.Parallel()
	ends := []struct {
		outcome runner.Outcome
		status  event.Status
	}{{runner.Done, event.Completed}, {runner.Wrong, event.Failed}, {runner.Wrong, event.Pending},
		{runner.Interrupted, event.Pending}, {runner.Done, event.Verified}}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 2).Draw(r, "tasks")
		files := map[string]string{}
		for i := range n {
			id := fmt.Sprint(i + 1)
			files[id+".json"] = pending(id, "")
		}
		l := folder(t, files)
		h := startFakeRun(t, l, "")
		for range rapid.IntRange(0, 5).Draw(r, "steps") {
			i := rapid.IntRange(0, n-1).Draw(r, "task")
			id := h.s.Plan.Tasks[i].ID
			switch h.s.Tasks[i].Status {
			case event.Pending:
				h.start(id)
			case event.InProgress:
				e := rapid.SampledFrom(ends).Draw(r, "end")
				h.end(id, e.outcome, e.status, h.s.Tasks[i].Stuck)
			}
			if rapid.Bool().Draw(r, "somebody else") {
				to := rapid.SampledFrom([]Status{Pending, InProgress, Completed}).Draw(r, "to")
				if h.s.Tasks[i].Status == event.Completed {
					to = Completed // a task that a person reopens stays open
				}
				if err := l.Update(t.Context(), id, func(task *Task) bool { task.Status = to; return true }); err != nil {
					r.Fatal(err)
				}
			}
		}
		h.apply(event.RunEnded{Status: "failed"})
		h.close()
		tasks := whole(t, l)
		for i := range h.s.Tasks {
			shown, is := tasks[h.s.Plan.Tasks[i].ID].Status, h.s.Tasks[i].Status
			if h.s.Tasks[i].Attempts > 0 && (shown == Completed) != (is == event.Completed) || h.s.Tasks[i].Attempts > 0 &&
				shown == InProgress {
				r.Fatalf("task %s is %s and shown as %s", h.s.Plan.Tasks[i].ID, is, shown)
			}
		}
	})
}

var _ scheduler.View = (*ProgressWriter)(nil)
