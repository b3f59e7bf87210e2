// Package report describes how a run went, per task and in total, as a table, JSON, JUnit XML and
// Markdown. It reads the state and the journal's events; it decides nothing and writes no file
// itself.
package report

import (
	"cmp"
	"slices"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/check"
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
	Totals  *Totals        `json:"-"`                // of all tasks
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

	// History needs the events; without them it holds only the last attempt.
	History []Attempt `json:"-"`
}

// Attempt describes one ended attempt and the panel that followed it.
type Attempt struct {
	Number   int              `json:"number"`
	Why      string           `json:"why,omitempty"`     // as in event.AttemptStarted
	Advised  bool             `json:"advised,omitempty"` // counsel's advice was in the prompt
	Outcome  runner.Outcome   `json:"outcome"`
	Reason   string           `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Report   string           `json:"report,omitempty"` // the agent's own words; untrusted
	Started  time.Time        `json:"started,omitzero"`
	Duration time.Duration    `json:"-"`
	Cost     budget.USD       `json:"-"`
	Charged  bool             `json:"charged"`
	Worker   string           `json:"worker,omitempty"`  // the machine; "": that of the run
	Refused  int              `json:"refused,omitempty"` // tool calls that the policy did not let run
	Escaped  bool             `json:"escaped,omitempty"` // see scheduler.LeftProcess
	Checks   []check.Evidence `json:"-"`
	Note     string           `json:"note,omitempty"` // the next step and its reason
	Counsel  *counsel.Verdict `json:"-"`              // nil: no panel followed
}

// Of derives a summary. events are the journal's records so far, or nil; records before the last
// RunStarted belong to an earlier run and are ignored. Of only reads the state and keeps no part of
// it that a later event would change.
func Of(s *scheduler.State, events []event.Event) Summary {
	r, history := headOf(s), historyOf(s, events)
	r.Tasks = make([]Task, 0, len(s.Tasks))
	r.addTasks(s, func(i int, t Task) {
		t.History = history(i)
		r.Tasks = append(r.Tasks, t)
	})
	return r
}

// addTasks adds all tasks to the figures, and calls keep with each.
func (r *Summary) addTasks(s *scheduler.State, keep func(i int, t Task)) {
	shown := 0
	for i := range s.Tasks {
		t := newTask(s, i)
		r.Totals.add(&t)
		if r.addToGroup(&t, shown); !t.Hidden {
			shown++
		}
		keep(i, t)
	}
	r.Totals.end()
}

// headOf returns a summary without tasks.
func headOf(s *scheduler.State) Summary {
	r := Summary{Run: s.Config.Run, Agent: s.Config.Agent, Status: event.RunRunning, Ended: s.EndedAt(),
		Figures: FiguresOf(s), Assessment: s.Assessment, Counts: s.Counts, Window: s.Window,
		Sandbox: s.Config.Sandbox,
		Place:   Place{s.Config.Dir, s.Config.Isolation, s.Config.MadeUp, s.LastDelivery},
		Totals:  newTotals(s.Plan, s.Waves)}
	if s.Plan != nil {
		r.Name, r.Plan, r.Groups = s.Plan.Name, cmp.Or(s.Plan.Path, s.PlanPath), GroupsOf(s)
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
	if s.Gate != nil {
		r.Advice = cmp.Or(r.Advice, s.Gate.Advice)
	}
	r.Totals.OtherCost = r.Cost
	for i := range s.Tasks {
		r.Totals.OtherCost -= s.Tasks[i].Cost
		r.CounselCost += s.Tasks[i].CounselCost
		if p := &s.Plan.Tasks[i]; s.StaysFailed(i) {
			r.Totals.addRetry(cmp.Or(p.Group, p.ID))
		}
		r.Totals.addAdvice(&s.Tasks[i])
		r.Usage = r.Usage.Plus(s.Tasks[i].Usage)
	}
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
	if row := len(s.Criteria) + i; row < len(s.Evidence) && t.Status == event.Completed {
		out.Shown = s.Evidence[row]
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

// lastOf returns the last attempt of a task, if it has ended.
func lastOf(s *scheduler.State, i int) []Attempt {
	if last := s.Tasks[i].Last; last != nil {
		return []Attempt{newAttempt(s.Tasks[i].Attempts, *last)}
	}
	return nil
}

func newAttempt(n int, r runner.Result) Attempt {
	return Attempt{Number: n, Outcome: r.Outcome, Reason: r.Reason, Detail: r.Detail, Report: r.Report, Started: r.Started,
		Duration: r.Duration, Cost: r.Cost, Charged: r.Outcome.Charged(), Refused: r.Refused, Worker: r.Worker,
		Checks: r.Checks, Escaped: !r.Contained && r.Outcome == runner.Done}
}

// endedOf returns the attempts that have ended.
func endedOf(list []AttemptRecord) (history []Attempt) {
	for _, a := range list {
		if a.End != nil {
			history = append(history, a.ended())
		}
	}
	return history
}

// ended returns an attempt that has ended.
func (a *AttemptRecord) ended() Attempt {
	out := newAttempt(a.Attempt, a.End.Result)
	out.Why, out.Advised = a.Why, a.Advised
	out.Charged, out.Note = a.End.Charged, a.End.Note
	if a.Reopened != nil {
		out.Note = a.Reopened.Note()
	}
	for _, c := range a.Counsel {
		if c.Skipped == "" {
			out.Counsel = &c.Verdict
		}
	}
	return out
}
