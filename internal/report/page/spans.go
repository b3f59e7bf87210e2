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
	for i, e := range events {
		_ = meter.Replay(events[i : i+1]) // the caller has replayed them
		if _, ok := e.Body.(event.RunStarted); ok {
			// The page does not show an earlier run of the same journal.
			r.Spans = nil
			r.Spending = nil
			r.Notes = nil
			r.Budgets = nil
			clear(w.index)
		}
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
	switch b := e.Body.(type) {
	case event.RunStarted:
		w.Wavex = textfmt.Line(b.Wavex)
		w.session(at, b.Config)
	case event.RunResumed:
		w.closeAll(w.last) // it may have been cut off
		w.session(at, b.Config)
	case event.AttemptStarted:
		w.close("wait", b.Task, at)
		w.open(Span{Kind: "attempt", From: at, Number: b.Attempt, Text: b.Why}, b.Task)
	case event.AttemptEnded:
		w.attempt(b, at)
	case event.CostCorrected:
		w.corrected(b, at)
	case event.CounselStarted:
		w.open(Span{Kind: "counsel", From: at, Number: b.Panel}, b.Task)
	case event.CounselEnded:
		if p := w.close("counsel", b.Task, at); p != nil {
			p.Cost, p.Outcome, p.Text = int64(b.Verdict.Cost), "done", textfmt.Fit(textfmt.FirstLine(b.Verdict.Fix), 200, false)
			if b.Verdict.Unavailable != "" {
				p.Outcome, p.Text = "unavailable", textfmt.Fit(b.Verdict.Unavailable, 200, false)
			}
		}
	case event.CounselSkipped:
		w.note(at, "info", b.Task, "retry without counsel: "+b.Reason)
	case event.IntegrationStarted:
		w.open(Span{Kind: "integration", From: at, Number: b.Wave, Text: report.Plural(len(b.Tasks), "task", "tasks")}, "")
	case event.IntegrationEnded:
		w.integration(b, at)
	case event.DeliveryStarted:
		w.open(Span{Kind: "delivery", From: at}, "")
	case event.DeliveryEnded:
		if p := w.close("delivery", "", at); p != nil {
			p.Outcome, p.Text = "done", textfmt.Line(b.How+" "+b.Ref)
		}
		text := "delivered: " + b.How + " " + b.Ref
		if b.Command != "" {
			text += "; take the work over with: " + b.Command
		}
		w.note(at, "info", "", text)
	case event.CriteriaStarted:
		w.open(Span{Kind: "criteria", From: at, Number: b.Round}, "")
	case event.CriteriaEnded:
		if p := w.close("criteria", "", at); p != nil {
			p.Outcome, p.Cost, p.Text = "done", int64(b.Cost), textfmt.Line(b.Error)
		}
		if u := b.UpToDate; u != nil {
			w.upToDate(at, *u)
		}
		if r := b.Rechecked; r != nil {
			for _, g := range r.Regressions {
				w.note(at, "warning", g.Tasks[0], g.String())
			}
		}
	case event.ReviewStarted:
		w.open(Span{Kind: "review", From: at, Number: b.N, Text: string(b.Mode)}, "")
	case event.ReviewEnded:
		w.review(b, at)
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
	case event.Draining:
		w.stop(at, "", &b.Stop)
	case event.Notice:
		w.note(at, b.Level, b.Task, b.Text)
	case event.RunEnded:
		w.closeAll(at)
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

func (w *spanBuilder) attempt(b event.AttemptEnded, at int64) {
	if p := w.close("attempt", b.Task, at); p != nil {
		p.Outcome, p.Cost, p.Text = string(b.Result.Outcome), int64(b.Result.Cost), textfmt.Fit(b.Result.Reason, 200, false)
	}
	if !b.NotBefore.IsZero() {
		w.open(Span{Kind: "wait", From: at, Text: "backoff after " + string(b.Result.Outcome)}, b.Task)
	}
	if !b.PauseUntil.IsZero() {
		w.Spans = append(w.Spans, Span{Kind: "wait", Task: -1, From: at, To: unixMilli(b.PauseUntil),
			Text: "nothing starts: " +
				string(b.Result.Outcome)})
	}
	w.stop(at, b.Task, b.Stop)
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

func (w *spanBuilder) review(b event.ReviewEnded, at int64) {
	if p := w.close("review", "", at); p != nil {
		p.Cost, p.Outcome = int64(b.Review.Cost), "done"
		p.Text = fmt.Sprintf("%s, %s", b.Mode, report.Plural(len(b.Review.Findings), "finding", "findings"))
		switch {
		case b.Review.Error != "":
			p.Outcome, p.Text = "broken", string(b.Mode)+", "+textfmt.Fit(b.Review.Error, 200, false)
		case !b.Passed && b.Blockers > 0:
			p.Outcome = "wrong"
		}
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

func (w *spanBuilder) integration(b event.IntegrationEnded, at int64) {
	if p := w.close("integration", "", at); p != nil {
		p.Outcome, p.Text = "done", fmt.Sprintf("%d integrated", len(b.Completed))
		if len(b.Reopened) > 0 {
			p.Outcome, p.Text = "wrong", fmt.Sprintf("%d integrated, %d sent back", len(b.Completed), len(b.Reopened))
		}
	}
	for _, r := range b.Reopened {
		w.note(at, "warning", r.Task, "sent back ("+r.Kind+"): "+r.Result.Reason)
	}
	w.stop(at, "", b.Stop)
}

func (w *spanBuilder) open(p Span, task string) {
	p.Task = -1
	if task != "" {
		i, ok := w.s.Index(task)
		if !ok {
			return // no longer in the plan
		}
		p.Task = i
	}
	w.index[p.Kind+"/"+task] = len(w.Spans)
	w.Spans = append(w.Spans, p)
}

// close ends an open span and returns it. It returns nil if there is none.
func (w *spanBuilder) close(kind, task string, at int64) *Span {
	i, ok := w.index[kind+"/"+task]
	if !ok {
		return nil
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

func (w *spanBuilder) stop(at int64, task string, st *event.Stop) {
	if st != nil {
		w.note(at, "stop", task, "stopping: "+st.Reason)
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
