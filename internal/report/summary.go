// Package report describes how a run went, per task and in total, as a table, JSON, JUnit XML and
// Markdown. It reads the state and the journal's events; it decides nothing and writes no file
// itself.
package report

import (
	"cmp"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// Summary describes one run. Money is in micro-dollars; the rendered forms use dollars. The fields with a
// name in JSON are part of that form as they are; see wireRun.
type Summary struct {
	Run   string `json:"run"`
	Name  string `json:"name,omitempty"` // of the plan; may be empty
	Plan  string `json:"plan,omitempty"` // path of the plan file as given; may be empty
	Agent string `json:"agent,omitempty"`

	Status   event.RunStatus `json:"status"`
	ExitCode event.ExitCode  `json:"exit_code"`
	Reason   string          `json:"reason,omitempty"`
	Advice   string          `json:"advice,omitempty"`  // after a stop: advice for a person
	Limit    string          `json:"limit,omitempty"`   // the limit that stopped the run
	Breaker  event.Breaker   `json:"breaker,omitempty"` // the breaker that stopped the run
	Resume   string          `json:"resume,omitempty"`  // the command that continues; "": none does
	ResumeAt time.Time       `json:"resume_at,omitzero"`

	Ended time.Time `json:"ended,omitzero"` // of its last session; zero before the end
	Figures

	scheduler.Assessment `json:"-"`
	Tasks                []Task        `json:"-"` // in plan order
	Groups               []Group       `json:"groups,omitempty"`
	Counts               event.Counts  `json:"counts"`
	CounselCost          budget.USD    `json:"-"`
	Sandbox              event.Sandbox `json:"sandbox,omitzero"` // of the last session

	Place   Place          `json:"-"`                // of the work
	Request string         `json:"-"`                // that the plan was made of; "": none
	Window  *runner.Window `json:"window,omitempty"` // of a subscription's usage limit; nil: unknown
	Usage   runner.Usage   `json:"tokens"`           // of attempts; panels do not report theirs
	totals  totals
}

// Place says where the work of a run is.
type Place struct {
	Dir       string // where tasks worked, unless Isolation is event.Isolated
	Isolation event.Isolation
	MadeUp    bool                 // the work was made up, and is not kept
	Delivery  *event.DeliveryEnded // the last one; nil: none
}

// Task describes one task of a Summary.
type Task struct {
	ID      string   `json:"id"`
	Group   string   `json:"group,omitempty"` // the task with foreach that it comes from
	Subject string   `json:"subject"`         // the command if it has no subject
	Wave    int      `json:"wave"`            // from 1
	Pos     plan.Pos `json:"-"`

	Status  event.Status   `json:"status"`
	Outcome runner.Outcome `json:"outcome,omitempty"`    // of the last attempt; "" if none ended
	Reason  string         `json:"reason,omitempty"`     // why the task is not completed
	Hidden  bool           `json:"-"`                    // tables leave it out
	Root    string         `json:"blocked_by,omitempty"` // of a blocked task: the task that failed
	Allowed bool           `json:"allowed,omitempty"`    // it failed, and its group allows that
	Breaker event.Breaker  `json:"breaker,omitempty"`    // that stopped the failed task; "": none did
	Commit  string         `json:"commit,omitempty"`     // of its work, if it worked in a tree of its own
	Shown   event.Evidence `json:"-"`                    // what shows it, as the gate saw it
	Earlier string         `json:"up_to_date,omitempty"` // the earlier run that completed it; "": it is not up to date
	Output  *runner.Output `json:"output,omitempty"`     // its structured result; nil: none

	Attempts    int           `json:"attempts"` // started
	Panels      int           `json:"panels"`   // convened
	Cost        budget.USD    `json:"-"`
	CounselCost budget.USD    `json:"-"` // part of Cost
	Usage       runner.Usage  `json:"tokens"`
	Refused     int           `json:"-"` // tool calls that the policy did not let run
	Duration    time.Duration `json:"-"` // of all attempts, without waits and panels

	// History has the attempts that have ended; without the events only the last one.
	History []Attempt `json:"-"`
}

// Of derives a summary. events are the journal's records so far, or nil; records before the last
// RunStarted belong to an earlier run and are ignored. Of only reads the state and keeps no part of
// it that a later event would change.
func Of(s *scheduler.State, events []event.Event) Summary {
	r := Summary{Run: s.Config.Run, Agent: s.Config.Agent, Status: event.RunRunning, Ended: s.EndedAt(),
		Figures: FiguresOf(s), Assessment: s.Assessment, Counts: s.Counts, Window: s.Window,
		Sandbox: s.Config.Sandbox,
		Place:   Place{s.Config.Dir, s.Config.Isolation, s.Config.MadeUp, s.Figures.LastDelivery}}
	if s.Plan != nil {
		r.Name, r.Plan, r.Groups = s.Plan.Name, cmp.Or(s.Plan.Path, s.Figures.Begun.Plan), GroupsOf(s)
	}
	if s.Origin != nil {
		r.Request = s.Origin.Request
	}
	if st := s.Stop; st != nil {
		r.Advice, r.Limit, r.Breaker = st.Advice, st.Limit, st.Breaker
	}
	if e := s.Ended; e != nil {
		r.Status = e.Status
		r.ExitCode = e.ExitCode
		r.Reason = e.Reason
		r.Resume = e.Resume
		r.ResumeAt = e.ResumeAt
	}
	if s.Assessment.Gate != nil {
		r.Advice = cmp.Or(r.Advice, s.Assessment.Gate.Advice)
	}
	r.totals.otherCost = r.Cost
	history := historyOf(s, events)
	r.Tasks = make([]Task, len(s.Tasks))
	for i := range s.Tasks {
		t := newTask(s, i)
		t.History = history[i]
		r.Tasks[i] = t
		r.CounselCost += t.CounselCost
		r.Usage = r.Usage.Plus(t.Usage)
		if s.StaysFailed(i) {
			r.totals.addRetry(cmp.Or(t.Group, t.ID))
		}
		r.totals.addAdvice(&s.Tasks[i])
		r.totals.add(&t)
	}
	r.hideTasks()
	r.addUpGroups()
	return r
}

// At returns the summary as another process sees it at a time. alive tells whether a wavex process works on
// the run. A run without an end and without a process was cut off.
func (r Summary) At(now time.Time, alive bool) Summary {
	switch {
	case r.Status != event.RunRunning:
	case alive:
		r.WorkTime = r.WorkTimeAt(now)
	default:
		r.Status, r.Resume = event.RunCutOff, "wavex resume"
		r.Groups = slices.Clone(r.Groups)
		for k, g := range r.Groups {
			r.Groups[k] = g.Stopped()
		}
	}
	return r
}

func newTask(s *scheduler.State, i int) Task {
	t, p := &s.Tasks[i], &s.Plan.Tasks[i]
	out := Task{ID: p.ID, Group: p.Group, Subject: p.Title(), Wave: t.Wave, Pos: p.Pos, Status: t.Status,
		Root: t.RootCause, Allowed: s.IsAllowed(i), Commit: t.Commit, Attempts: t.Attempts, Panels: t.Panels,
		Cost: t.Cost, CounselCost: t.CounselCost, Usage: t.Usage, Refused: t.Refused, Duration: t.Took,
		Output: s.Output(i)}
	if t.UpToDate() {
		out.Earlier = t.Earlier.Run
	}
	if row := len(s.Assessment.Criteria) + i; row < len(s.Assessment.Evidence) && t.Status == event.Completed {
		out.Shown = s.Assessment.Evidence[row]
	}
	if l := t.Last; l != nil {
		out.Outcome = l.Outcome
		if t.Status != event.Completed {
			out.Reason = l.Reason
		}
	}
	switch {
	case t.Turn == nil:
	case t.Status == event.InProgress:
		out.Reason = "its turn has ended; the checks follow"
	case t.Status == event.Pending:
		out.Reason = "its turn has ended; a resume makes the checks"
	}
	if t.Stop != nil {
		out.Breaker, out.Reason = t.Stop.Breaker, t.Stop.Reason
	}
	if t.Status == event.Blocked && t.Challenge != nil && !t.Challenge.Go {
		out.Reason = "refused by the pre-check: " + t.Challenge.Reason
	}
	if t.Status == event.Blocked && t.RootCause != "" {
		out.Reason = "blocked by " + t.RootCause
	}
	return out
}

// historyOf returns the attempts of each task that have ended. Without their events it has the last one only.
func historyOf(s *scheduler.State, events []event.Event) [][]Attempt {
	all := AttemptsOf(s, events)
	for i, list := range all {
		all[i] = slices.DeleteFunc(list, func(a Attempt) bool { return a.End == nil })
		if last := s.Tasks[i].Last; last != nil && len(all[i]) == 0 {
			all[i] = []Attempt{{AttemptStarted: event.AttemptStarted{Attempt: s.Tasks[i].Attempts},
				End: &event.AttemptEnded{Result: *last, Charged: last.Outcome.Charged()}}}
		}
	}
	return all
}
