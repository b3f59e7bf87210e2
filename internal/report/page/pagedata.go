package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// Run holds the data that the page shows at once: the summary, and everything else but the texts of the attempts. Times
// are milliseconds since 1970, money is in micro-dollars, durations are milliseconds; a task is named by its index.
type Run struct {
	report.Summary
	Live     bool   `json:"live,omitempty"`     // served while the run is under way
	Controls bool   `json:"controls,omitempty"` // the server takes answers, and ends the run
	Now      int64  `json:"now"`                // time of this snapshot
	Wavex    string `json:"wavex,omitempty"`

	Verdict     string   `json:"verdict,omitempty"` // of a complete run: SHIP, MONITOR, RESEARCH
	Risks       []string `json:"risks,omitempty"`   // the reasons against a better one
	PausedUntil int64    `json:"hold,omitempty"`    // nothing starts before

	Cost        budget.USD  `json:"cost"`
	CounselCost budget.USD  `json:"counsel_cost,omitempty"`
	Budget      *budget.USD `json:"budget"`         // null: no limit
	MaxIter     *int        `json:"max_iterations"` // null: no limit

	Tasks        []Task      `json:"tasks"`
	Lists        []List      `json:"lists,omitempty"`
	Critical     []int       `json:"critical"` // task indexes of the longest chain, in order
	CriticalBy   string      `json:"weighed"`  // measure of Critical: "time" or "length"
	CriticalTime int64       `json:"chain"`    // its time in ms if measured by time
	Sessions     [][2]int64  `json:"sessions"` // from, to
	Spans        []Span      `json:"spans"`    // for the timeline
	Spending     [][2]int64  `json:"burn"`     // time and total spent, one step each
	Criteria     []Criterion `json:"criteria"` // of completion
	Reviews      []Review    `json:"reviews,omitempty"`
	Notes        []Note      `json:"notes,omitempty"`     // notable events, in order
	Questions    []Question  `json:"questions,omitempty"` // open ones, the oldest first
	Budgets      [][2]int64  `json:"budgets,omitzero"`    // time, budget in force from then on; -1: none
}

// Task is the short form of a task.
type Task struct {
	report.Task
	Blockers []int      `json:"on,omitempty"`
	Tail     string     `json:"tail,omitempty"`    // of one of the first failed tasks: the last failed check's output
	Known    string     `json:"known,omitempty"`   // how it is known to be done
	Command  bool       `json:"command,omitempty"` // a shell command instead of an agent
	Cost     budget.USD `json:"cost,omitempty"`
	Counsel  budget.USD `json:"counsel,omitempty"` // part of Cost
	Took     int64      `json:"took,omitempty"`
	Files    []string   `json:"files,omitempty"`
	Now      *Activity  `json:"now,omitempty"` // its current activity; nil if nothing runs
}

// List is a task with foreach: how many of its items are in which state.
type List struct {
	report.Group
	From     string     `json:"from"`   // where the list comes from, for people
	Most     int        `json:"most"`   // items, if the list is not known
	Failed   int        `json:"failed"` // without those that are blocked
	Cost     budget.USD `json:"cost"`
	Wave     int        `json:"wave,omitempty"` // of a list that is not known: behind its blockers
	Blockers []int      `json:"on,omitempty"`   // of a list that is not known: task indexes
}

// Activity is an attempt or a panel under way.
type Activity struct {
	Counsel bool   `json:"counsel,omitempty"` // a panel instead of an attempt
	Number  int    `json:"n"`                 // number of the attempt or the panel
	Since   int64  `json:"since"`
	Last    string `json:"last,omitempty"`   // the last sign of life
	At      int64  `json:"at,omitempty"`     // time of Last
	Worker  string `json:"worker,omitempty"` // the machine; "": that of the run
	Log     string `json:"log,omitempty"`    // the last lines of its log
}

// Question is a tool call that waits for a person.
type Question struct {
	ID      string `json:"id"`
	Task    string `json:"task"`
	Tool    string `json:"tool"`
	Target  string `json:"target"`
	Pattern string `json:"pattern"` // which the policy asks about
	Until   int64  `json:"until"`   // then the call is denied
}

// Criterion is a condition of the run's completion and its evidence.
type Criterion struct {
	Text     string `json:"text"`
	Met      bool   `json:"met"`
	By       string `json:"by,omitempty"` // the kind of evidence
	Evidence string `json:"evidence,omitempty"`
	Check    string `json:"check,omitempty"`
}

// Review is the result of a review.
type Review struct {
	event.ReviewEnded
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is one problem that a reviewer reports.
type Finding struct {
	counsel.Finding
	Blocks   bool   `json:"blocks,omitempty"`
	Location string `json:"place,omitempty"` // file and line
	State    string `json:"state,omitempty"` // its resolution
}

// Note is a notice of the run.
type Note struct {
	At    int64  `json:"at"`
	Level string `json:"level"` // "info", "warning", "stop"
	Task  *int   `json:"task,omitempty"`
	Text  string `json:"text"`
}

// Of derives the page's data from a state and the journal's records up to it. alive tells whether a
// wavex process works at the run.
func Of(s *scheduler.State, events []event.Event, now time.Time, alive bool) *Run {
	sum := report.Of(s, events).At(now, alive)
	r := &Run{Summary: sum, Now: unixMilli(now), Cost: sum.Cost, CounselCost: sum.CounselCost}
	r.Plan = strings.TrimPrefix(sum.Plan, s.Config.Dir+"/")
	r.Groups, r.Summary.Tasks = nil, nil // they are in Lists and Tasks
	if sum.Limit != "" {                 // the advice is a flag, and part of Resume
		r.Advice = ""
	}
	if s.PauseUntil.After(now) && s.Ended == nil {
		r.PausedUntil = unixMilli(s.PauseUntil)
	}
	if !sum.Limits.NoUSD {
		r.Budget = &sum.Limits.USD
	}
	if !sum.Limits.NoIterations {
		r.MaxIter = &sum.Limits.Iterations
	}
	if report.IsComplete(s) {
		v := report.VerdictOf(s)
		r.Verdict, r.Risks = v.Word, v.Risks
	}
	for i, c := range report.Criteria(s) {
		out := Criterion{Text: c.Text, Met: c.Met}
		if i < len(s.Assessment.Criteria) { // else it is the criterion that stands for having none
			out.By, out.Evidence, out.Check = c.Verification, textfmt.Multiline(s.Assessment.Criteria[i].Evidence, maxOutput),
				s.Assessment.Criteria[i].Check
		}
		r.Criteria = append(r.Criteria, out)
	}
	for _, b := range s.Assessment.Reviews {
		r.Reviews = append(r.Reviews, newReview(b))
	}
	for i := range sum.Tasks {
		r.Tasks = append(r.Tasks, newTask(s, &sum.Tasks[i], i))
	}
	for _, g := range sum.Groups {
		r.Lists = append(r.Lists, newList(s, g))
	}
	r.addOutputs(sum.Tasks)
	r.markCriticalPath(s)
	r.addSpans(s, events, now, alive)
	return r
}

// Bounds of the output of failed tasks on the first screen: tasks, and lines and bytes of each.
const (
	maxFailures     = 5
	maxFailureLines = 12
	maxFailureBytes = 2 << 10
)

// addOutputs adds the end of the output to the first failed tasks.
func (r *Run) addOutputs(tasks []report.Task) {
	left := maxFailures
	for i := range tasks {
		if tasks[i].Status != event.Failed || left == 0 {
			continue
		}
		left--
		_, output := tasks[i].Failure()
		lines := strings.Split(strings.TrimSpace(textfmt.Multiline(output, maxOutput)), "\n")
		text := strings.Join(lines[max(0, len(lines)-maxFailureLines):], "\n")
		r.Tasks[i].Tail = text[max(0, len(text)-maxFailureBytes):]
	}
}

func newTask(s *scheduler.State, t *report.Task, i int) Task {
	p := &s.Plan.Tasks[i]
	out := Task{Task: *t, Known: textfmt.Fit(report.Known(t.Shown), 400, false), Command: p.Command != "", Cost: t.Cost,
		Counsel: t.CounselCost, Took: t.Duration.Milliseconds()}
	out.Reason, out.Output, out.History = textfmt.Fit(t.Reason, 400, false), nil, nil
	if t.Earlier != "" {
		out.Reason = "up to date: completed by run " + t.Earlier
	}
	for _, b := range s.Plan.Graph.Blockers(i) {
		out.Blockers = append(out.Blockers, int(b))
	}
	for _, f := range p.Files[:min(len(p.Files), 20)] {
		out.Files = append(out.Files, f.Path)
	}
	return out
}

func newList(s *scheduler.State, g report.Group) List {
	l := List{Group: g, From: g.List, Most: g.MaxItems, Failed: g.Failed - g.Blocked, Cost: g.Cost}
	if g.Known {
		return l
	}
	l.Wave = 1
	for _, b := range s.Plan.ListBlockers(g.ID) {
		l.Blockers, l.Wave = append(l.Blockers, b), max(l.Wave, s.Tasks[b].Wave+1)
	}
	return l
}

func newReview(b event.ReviewEnded) Review {
	out := Review{ReviewEnded: b}
	out.Review.Findings = nil // they are in Findings
	for _, f := range b.Review.Findings {
		g := Finding{Finding: f, Blocks: f.Blocks(), Location: f.File, State: f.Resolution}
		if f.Line > 0 {
			g.Location += fmt.Sprintf(":%d", f.Line)
		}
		switch {
		case f.Refuted != "":
			g.State = "refuted: " + f.Refuted
		case f.Confirmed && g.State == "":
			g.State = "confirmed"
		}
		out.Findings = append(out.Findings, g)
	}
	return out
}

// markCriticalPath marks the chain of tasks that took longest, or, if no task took time yet, the chain with the
// most tasks.
func (r *Run) markCriticalPath(s *scheduler.State) {
	g := s.Plan.Graph
	var took float64
	r.Critical, took = g.CriticalPath(func(i int) float64 { return s.Tasks[i].Took.Seconds() })
	r.CriticalBy, r.CriticalTime = "time", int64(1000*took)
	if took == 0 {
		r.CriticalBy = "length"
		r.Critical, _ = g.CriticalPath(nil)
		return
	}
	// Tasks that have not begun take no time yet and are not part of the longest chain so far.
	for n := len(r.Critical); n > 1 && s.Tasks[r.Critical[n-1]].Took == 0; n-- {
		r.Critical = slices.Clip(r.Critical[:n-1])
	}
}

// unixMilli returns a time in the page's units; 0 for the zero time.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Update records the last sign of life, and the worker that has told it; "": the machine of the run.
func (d *Activity) Update(last string, at time.Time, worker string) {
	d.Last, d.At, d.Worker = textfmt.Fit(last, 200, false), unixMilli(at), textfmt.Line(worker)
}

// maxOutput bounds the text of an output, in bytes.
const maxOutput = 8 << 10

// Span is a piece of the timeline.
type Span struct {
	Kind    string `json:"k"`           // "attempt", "counsel", "review", "criteria", "wait", "integration", "delivery"
	Task    int    `json:"t"`           // -1: work of the run
	From    int64  `json:"a"`           // ms since 1970
	To      int64  `json:"b"`           // ms since 1970; if under way, the time of the page
	Open    bool   `json:"o,omitempty"` // under way, or cut off
	Number  int    `json:"n,omitempty"` // number of the attempt or the panel
	Outcome string `json:"r,omitempty"`
	Text    string `json:"x,omitempty"` // the reason of a wait, or the result
	Cost    int64  `json:"c,omitempty"`
}
