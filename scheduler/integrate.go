package scheduler

import (
	"context"
	"fmt"

	"wavex/runner"
)

// This file implements isolation in the loop. A task that is done in its own tree is only verified;
// it is completed when its work passes together with that of the others. It does not use git.

// IntegrationStarted begins to combine the work of verified tasks.
type IntegrationStarted struct {
	Wave  int      `json:"wave"`
	Tasks []string `json:"tasks"` // verified, in plan order
}

// IntegrationEnded is one decision: the tasks whose work is integrated, and those that are
// reopened. An interrupted integration is repeated.
type IntegrationEnded struct {
	Wave      int      `json:"wave"`
	Commit    string   `json:"commit,omitempty"` // of the integrated tree
	Completed []string `json:"completed"`
	// Commits are the commits of the completed tasks on the delivered branch, by task.
	Commits  map[string]string `json:"commits,omitempty"`
	Reopened []Reopened        `json:"reopened,omitempty"`
	Note     string            `json:"note,omitempty"`
	Stop     *Stop             `json:"stop,omitempty"`
}

// Reopened is a task whose work failed together with the rest.
type Reopened struct {
	Task    string        `json:"task"`
	Kind    string        `json:"kind"` // "conflict", "red", "deletes"
	Result  runner.Result `json:"result"`
	Status  Status        `json:"status"`
	Stuck   int           `json:"stuck"`
	Blocked []string      `json:"blocked,omitempty"`
}

// DeliveryStarted begins the delivery of the integrated tree, the last step before the end.
type DeliveryStarted struct {
	Complete bool `json:"complete"`
}

// DeliveryEnded says where the delivered work is.
type DeliveryEnded struct {
	How     string `json:"how"` // "ff", "branch", "pr", "patch", "none"
	Ref     string `json:"ref,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Command string `json:"command,omitempty"` // with which the user takes over the work; "": none
	Why     string `json:"why,omitempty"`
	// Failed means that the work is not at the requested place: the run is not over.
	Failed bool `json:"failed,omitempty"`
}

// Type names the event.
func (IntegrationStarted) Type() string { return "integration_started" }

// Type names the event.
func (IntegrationEnded) Type() string { return "integration_ended" }

// Type names the event.
func (DeliveryStarted) Type() string { return "delivery_started" }

// Type names the event.
func (DeliveryEnded) Type() string { return "delivery_ended" }

// Integrated is the result of an integration.
type Integrated struct {
	Commit    string
	Completed []string
	Commits   map[string]string // see IntegrationEnded
	Culprits  []Culprit
	Note      string
}

// Culprit is a task whose work makes the integration fail.
type Culprit struct{ Task, Kind, Reason, Detail string }

// Integrator combines the work of isolated tasks. Both methods are called from a worker goroutine,
// never at the same time, and may be called again for the same work after a crash. An error is a
// problem that the user must solve.
type Integrator interface {
	Integrate(ctx context.Context, wave int, tasks []string) (Integrated, error)
	Deliver(ctx context.Context, complete bool) (DeliveryEnded, error)
}

// Isolated is the value of Config.Isolation that gives each task its own tree.
const Isolated = "worktree"

// decideIntegration returns the integration that is due, or nil.
func decideIntegration(s *State) Body {
	if s.queue.awaitingIntegration == 0 {
		return nil
	}
	ev := IntegrationStarted{Wave: s.Wave}
	for i := range s.Tasks {
		if s.Tasks[i].Status == Verified {
			ev.Tasks = append(ev.Tasks, s.Plan.Tasks[i].ID)
		}
	}
	return ev
}

// decideFinish returns the end, or the delivery that must precede it.
func decideFinish(s *State) Body {
	if q := decideEndApproval(s); q != nil {
		return q
	}
	if s.Config.Isolation == Isolated && !s.delivered && s.Counts.Completed > 0 {
		if s.Stop == nil || s.Counts.Pending == 0 && s.Counts.Completed < len(s.Tasks) {
			return DeliveryStarted{Complete: s.Counts.Completed == len(s.Tasks) && s.ExitSignal}
		}
	}
	return decideRunEnd(s)
}

// onIntegration returns the consequences of an integration. Only the culprits are reopened.
func onIntegration(s *State, wave int, r Integrated, err error) IntegrationEnded {
	e := IntegrationEnded{Wave: wave, Commit: r.Commit, Completed: r.Completed, Commits: r.Commits, Note: r.Note}
	if err != nil {
		e.Stop = &Stop{Status: "blocked", ExitCode: 5, Reason: "bringing the wave's work together: " + err.Error(),
			Advice: "nothing is lost: the work of each task is on its own branch; put the cause right, then resume"}
		return e
	}
	for _, c := range r.Culprits {
		i, ok := s.Index(c.Task)
		if !ok {
			continue
		}
		res := runner.Result{Outcome: runner.Wrong, Reason: fmt.Sprintf("%s: %s", c.Kind, c.Reason), Detail: c.Detail,
			Signature: "integration " + c.Kind + ": " + c.Reason, Session: s.Tasks[i].Session, Contained: true}
		a := AttemptEnded{Task: c.Task, Status: Pending, Stuck: s.Tasks[i].Stuck}
		onStuck(s, i, res, &a)
		stopOnFailFast(s, &a)
		if a.Stop != nil && e.Stop == nil {
			e.Stop = a.Stop
		}
		e.Reopened = append(e.Reopened, Reopened{Task: c.Task, Kind: c.Kind, Result: res, Status: a.Status, Stuck: a.Stuck,
			Blocked: a.Blocked})
	}
	return e
}

func (s *State) applyIntegrationEnded(b IntegrationEnded) {
	s.busy = false
	if b.Stop != nil && s.Stop == nil {
		s.Stop = b.Stop
	}
	for _, id := range b.Completed {
		if i, ok := s.Index(id); ok && s.Tasks[i].Status == Verified {
			s.Tasks[i].Commit = b.Commits[id]
			s.move(i, Completed)
		}
	}
	s.markIntegrated(b)
	for _, r := range b.Reopened {
		i, ok := s.Index(r.Task)
		if !ok || s.Tasks[i].Status != Verified {
			continue
		}
		t := &s.Tasks[i]
		t.noteResult(r.Result, false)
		t.Stuck = r.Stuck
		t.Continue = false
		t.Next = "retry"
		t.Commit = ""
		s.move(i, r.Status)
		s.block(r.Task, r.Blocked)
	}
}

// block blocks the tasks that depend on a failed task.
func (s *State) block(root string, ids []string) {
	for _, id := range ids {
		if j, ok := s.Index(id); ok && !s.Tasks[j].Status.Finished() {
			s.Tasks[j].RootCause = root
			s.move(j, Blocked)
		}
	}
}
