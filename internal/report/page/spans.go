package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// spanBuilder collects spans, money and notes with their times. The To of an open span is 0.
type spanBuilder struct {
	*Run
	s     *scheduler.State
	meter *scheduler.State // for the money at each event
	index map[string]int   // of open spans in Spans, by kind and task
	last  int64            // time of the last event
}

func (r *Run) addSpans(s *scheduler.State, events []event.Event, now time.Time, alive bool) {
	meter := scheduler.NewMeter()
	w := &spanBuilder{Run: r, s: s, meter: meter, index: map[string]int{}}
	events = report.LastRun(events).Events // the page does not show an earlier run of the same journal
	for i, e := range events {
		_ = meter.Replay(events[i : i+1]) // the caller has replayed them
		w.event(e)
		w.spend(unixMilli(e.Time), false)
		w.last = unixMilli(e.Time)
	}
	end := w.last
	if alive && s.Ended == nil {
		end = unixMilli(now)
	}
	for i := range r.Spans {
		if p := &r.Spans[i]; p.To == 0 {
			p.To, p.Open = max(end, p.From), true
		}
	}
	for _, a := range s.Activities() {
		if i, ok := s.Index(a.Task); alive && ok {
			r.Tasks[i].Now = &Activity{Counsel: a.Kind == "counsel", Number: a.Attempt, Since: unixMilli(a.Since)}
		}
	}
	for _, x := range s.Sessions() {
		to := end
		if !x.End.IsZero() {
			to = unixMilli(x.End)
		}
		r.Sessions = append(r.Sessions, [2]int64{unixMilli(x.Start), max(to, unixMilli(x.Start))})
	}
	if len(r.Spending) > 0 {
		w.spend(end, true)
	}
}

func (w *spanBuilder) event(e event.Event) {
	at := unixMilli(e.Time)
	if b := e.Beginning(); b != nil {
		if b.Resumed {
			w.closeAll(w.last) // it may have been cut off
		} else {
			w.Wavex = textfmt.Line(b.Wavex)
		}
		w.session(at, b.Config)
	}
	begun, ended := e.Starts(), e.Ends()
	p := &Span{} // the span that begins or ends
	switch {
	case begun.Kind == event.Precheck:
	case begun.Kind != "":
		if begun.Kind == event.Attempt {
			w.close("wait", begun.Task, at)
		}
		p = w.open(Span{Kind: begun.Kind, From: at, Number: begun.N}, begun.Task)
	case ended.Kind != "":
		p = w.close(ended.Kind, ended.Task, at)
		p.Outcome, p.Cost = "done", int64(ended.Cost)
	case e.End() != nil:
		w.closeAll(at)
	}
	switch b := e.Body.(type) {
	case event.AttemptStarted:
		p.Text = b.Why
	case event.AttemptEnded:
		w.attempt(b, p, at)
	case event.CostCorrected:
		w.corrected(b, at)
	case event.CounselEnded:
		p.Text = textfmt.Fit(textfmt.FirstLine(b.Verdict.Fix), 200, false)
		if b.Verdict.Unavailable != "" {
			p.Outcome, p.Text = "unavailable", textfmt.Fit(b.Verdict.Unavailable, 200, false)
		}
	case event.CounselSkipped:
		w.note(at, "info", b.Task, "retry without counsel: "+b.Reason)
	case event.IntegrationStarted:
		p.Text = report.Plural(len(b.Tasks), "task", "tasks")
	case event.IntegrationEnded:
		w.integration(b, p, at)
	case event.DeliveryEnded:
		p.Text = textfmt.Line(b.How + " " + b.Ref)
		text := "delivered: " + b.How + " " + b.Ref
		if b.Command != "" {
			text += "; take the work over with: " + b.Command
		}
		w.note(at, "info", "", text)
	case event.CriteriaEnded:
		p.Text = textfmt.Line(b.Error)
		w.criteria(b, at)
	case event.ReviewStarted:
		p.Text = string(b.Mode)
	case event.ReviewEnded:
		endReview(b, p)
	case event.ReviewSkipped:
		w.note(at, "info", "", "no "+string(b.Mode)+" review: "+b.Reason)
	case event.TasksAdded:
		for _, a := range b.Tasks {
			w.note(at, "info", a.ID, "added to the plan, for "+a.For)
		}
	case event.ItemsAdded:
		w.note(at, "info", "", fmt.Sprintf("the list of %s has %s", b.Group, report.Plural(len(b.Items), "item", "items")))
	case event.GateEnded:
		if !b.Passed {
			w.note(at, "stop", "", "the gate refuses: "+strings.Join(b.Reasons, "; "))
		}
	case event.Notice:
		w.note(at, b.Level, b.Task, b.Text)
	}
	if stop, _ := e.Stops(); stop != nil {
		w.note(at, "stop", ended.Task, "stopping: "+stop.Reason)
	}
}

// criteria notes the results of a verification that no span shows.
func (w *spanBuilder) criteria(b event.CriteriaEnded, at int64) {
	if u := b.UpToDate; u != nil {
		w.upToDate(at, *u)
	}
	if r := b.Rechecked; r != nil {
		for _, g := range r.Regressions {
			w.note(at, "warning", g.Tasks[0], g.String())
		}
	}
}

func (w *spanBuilder) session(at int64, c event.Config) {
	w.spend(at, true)
	limit := int64(c.Limits.USD)
	if c.Limits.NoUSD {
		limit = -1
	}
	if n := len(w.Budgets); n == 0 || w.Budgets[n-1][1] != limit {
		w.Budgets = append(w.Budgets, [2]int64{at, limit})
	}
}

func (w *spanBuilder) attempt(b event.AttemptEnded, p *Span, at int64) {
	outcome := string(b.Result.Outcome)
	p.Outcome, p.Text = outcome, textfmt.Fit(b.Result.Reason, 200, false)
	if !b.NotBefore.IsZero() {
		w.open(Span{Kind: "wait", From: at, Text: "backoff after " + outcome}, b.Task)
	}
	if !b.PauseUntil.IsZero() {
		w.Spans = append(w.Spans, Span{Kind: "wait", Task: -1, From: at, To: unixMilli(b.PauseUntil),
			Text: "nothing starts: " + outcome})
	}
}

// corrected changes the cost of the span of an attempt.
func (w *spanBuilder) corrected(b event.CostCorrected, at int64) {
	i, ok := w.s.Index(b.Task)
	for k := range w.Spans {
		if p := &w.Spans[k]; ok && p.Kind == "attempt" && p.Task == i && p.Number == b.Attempt {
			p.Cost = int64(b.Cost)
		}
	}
	w.note(at, "info", b.Task, fmt.Sprintf("attempt %d has cost %s, and had counted as %s", b.Attempt, b.Cost.Spent(),
		b.Was.Spent()))
}

func endReview(b event.ReviewEnded, p *Span) {
	p.Text = fmt.Sprintf("%s, %s", b.Mode, report.Plural(len(b.Review.Findings), "finding", "findings"))
	switch {
	case b.Review.Error != "":
		p.Outcome, p.Text = "broken", string(b.Mode)+", "+textfmt.Fit(b.Review.Error, 200, false)
	case !b.Passed && b.Blockers > 0:
		p.Outcome = "wrong"
	}
}

// upToDate notes the tasks that an earlier run completed.
func (w *spanBuilder) upToDate(at int64, u event.UpToDate) {
	w.note(at, "info", "", fmt.Sprintf("up to date: %s", report.Plural(len(u.Tasks), "task", "tasks")))
	if len(u.Changed) > 0 {
		w.note(at, "info", "", "changed since, and not done again: "+event.ListTasks(u.Changed, 0))
	}
	for _, d := range u.Due {
		w.note(at, "info", d.Task, "runs again: "+d.Reason)
	}
}

func (w *spanBuilder) integration(b event.IntegrationEnded, p *Span, at int64) {
	p.Text = fmt.Sprintf("%d integrated", len(b.Completed))
	if len(b.Reopened) > 0 {
		p.Outcome, p.Text = "wrong", fmt.Sprintf("%d integrated, %d sent back", len(b.Completed), len(b.Reopened))
	}
	for _, r := range b.Reopened {
		w.note(at, "warning", r.Task, "sent back ("+r.Kind+"): "+r.Result.Reason)
	}
}

// open adds an open span and returns it, until the next call. It adds none for a task that is no longer in the plan.
func (w *spanBuilder) open(p Span, task string) *Span {
	p.Task = -1
	if task != "" {
		i, ok := w.s.Index(task)
		if !ok {
			return &p
		}
		p.Task = i
	}
	w.index[p.Kind+"/"+task] = len(w.Spans)
	w.Spans = append(w.Spans, p)
	return &w.Spans[len(w.Spans)-1]
}

// close ends an open span and returns it, until the next call of open. Without one it returns an empty one.
func (w *spanBuilder) close(kind, task string, at int64) *Span {
	i, ok := w.index[kind+"/"+task]
	if !ok {
		return &Span{}
	}
	delete(w.index, kind+"/"+task)
	w.Spans[i].To = max(at, w.Spans[i].From)
	return &w.Spans[i]
}

// closeAll ends the spans that were open when a session ended.
func (w *spanBuilder) closeAll(at int64) {
	for _, i := range w.index {
		w.Spans[i].To, w.Spans[i].Open = max(at, w.Spans[i].From), w.Spans[i].Kind != "wait"
	}
	clear(w.index)
	for i := range w.Spans { // a hold that the session did not wait for
		w.Spans[i].To = max(min(w.Spans[i].To, at), w.Spans[i].From)
	}
}

// spend adds a step of the money if it has changed, or in any case.
func (w *spanBuilder) spend(at int64, always bool) {
	spent, n := int64(w.meter.Ledger.Spent()), len(w.Spending)
	if always || n > 0 && w.Spending[n-1][1] != spent {
		w.Spending = append(w.Spending, [2]int64{at, spent})
	}
}

func (w *spanBuilder) note(at int64, level, task, text string) {
	n := Note{At: at, Level: level, Text: textfmt.Fit(text, 600, false)}
	if i, ok := w.s.Index(task); ok && task != "" {
		n.Task = &i
	}
	if len(w.Notes) == maxNotes {
		w.Notes = slices.Delete(w.Notes, 0, 1)
	}
	w.Notes = append(w.Notes, n)
}

// maxNotes bounds the notes; the newest are kept.
const maxNotes = 500
