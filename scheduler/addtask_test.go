package scheduler

import (
	"encoding/json"
	"slices"
	"testing"

	"wavex/internal/event"
	"wavex/runner"
)

// Tasks that join while an attempt runs get a wave after it, in the order of their edges. They need
// evidence like others, and no task joins a run that stops.
func TestTasksAreAddedToARunningRun(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), testConfig())
	b.runner.started = make(chan string, 10)
	gate := make(chan struct{})
	b.runner.gates = map[string]chan struct{}{"a": gate}
	joins := make(chan []json.RawMessage)
	warnings := make(chan string)
	b.AddedTasks, b.Warnings = joins, warnings
	done := b.start(t)
	<-b.runner.started
	joins <- []json.RawMessage{[]byte(task("c")), []byte(task("d", "c", "b")), []byte(task("a")),
		[]byte(task("e", "nowhere"))}
	joins <- []json.RawMessage{[]byte(task("c"))} // already known
	warnings <- "e cannot join"
	close(gate)
	if end := <-done; end.Status != "complete" || end.Tasks.Completed != 4 {
		t.Fatalf("ended as %+v", end)
	}
	if started, want := b.runner.order(), []string{"a", "b", "c", "d"}; !slices.Equal(started, want) {
		t.Errorf("started %q, want %q", started, want)
	}
	if got := of[event.TasksAdded](b.journal); len(got) != 1 || got[0].Origin != event.FromList || len(got[0].Tasks) != 2 {
		t.Errorf("added %+v", got)
	}
	if !slices.Contains(of[event.Notice](b.journal), event.Notice{Level: "warning", Text: "e cannot join"}) {
		t.Errorf("the notices are %+v", of[event.Notice](b.journal))
	}
	if onAddedTasks(b.State, []json.RawMessage{[]byte(task("f"))}) != nil {
		t.Error("a task joins a run that has ended")
	}
}

// A joined task without evidence prevents completion, unlike a repair task.
func TestAddedTasksNeedEvidence(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	mustApply(t, s, event.RunStarted{Config: testConfig()},
		onAddedTasks(s, []json.RawMessage{[]byte(`{"id":"b","subject":"B"}`)}))
	if against, _ := unproven(s.evidence(false)); len(against) != 2 {
		t.Errorf("against it speaks %q", against)
	}
}

// A task that joins after a task it waits for has failed is blocked by it, like those that were there
// before, and so are the joined tasks that wait for it.
func TestAddedTasksWaitForAFailedTask(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("x"))))
	key := s.Tasks[0].Key
	mustApply(t, s, event.RunStarted{Config: testConfig()}, event.WaveStarted{Wave: 1},
		event.AttemptStarted{Task: "a", Key: key, Attempt: 1}, event.AttemptEnded{Task: "a", Key: key, Attempt: 1,
			Status: event.Failed, Result: runner.Result{Outcome: runner.Wrong}})
	mustApply(t, s, onAddedTasks(s, []json.RawMessage{[]byte(task("b", "a")), []byte(task("c", "b")),
		[]byte(task("d", "x"))}))
	for id, want := range map[string]event.Status{"b": event.Blocked, "c": event.Blocked, "d": event.Pending} {
		i, ok := s.Index(id)
		if !ok || s.Tasks[i].Status != want || (want == event.Blocked) != (s.Tasks[i].RootCause == "a") {
			t.Errorf("%s is %s because of %q, want %s", id, s.Tasks[i].Status, s.Tasks[i].RootCause, want)
		}
	}
	if s.Counts.Blocked != 2 || s.Left(0) != 2 { // x and d
		t.Errorf("%+v, %d left", s.Counts, s.Left(0))
	}
}
