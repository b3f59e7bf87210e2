package ui

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file draws the box of `wavex status`: the stages of the workflow and the next action of
// each.

// Status holds the data of the box. Its texts may be foreign.
type Status struct {
	Run, Name string
	Status    event.RunStatus
	Stopping  string // why nothing more starts; "" while the run starts work
	Next      string // the command that continues, or the next action
	Going     bool   // the run has not ended, and a wavex process works at it
	Stages    []Stage
	PlanPath  string
	report.Figures

	Plain bool // without a frame, for screen readers

	// The plan as a resume would find it: edited, unchanged, or with a mistake.
	PlanEdit    *event.Edit
	PlanMissing bool
	PlanError   error
}

// StatusOf derives the data of the box that come from the journal. alive tells whether a wavex process works at the
// run.
func StatusOf(s *scheduler.State, alive bool) Status {
	st := Status{Run: s.Config.Run, Name: s.Plan.Name, Status: event.RunRunning, Going: s.Ended == nil && alive,
		Stages: stages(s), PlanPath: s.Plan.Path, Figures: report.FiguresOf(s)}
	if s.Stop != nil {
		st.Stopping = cmp.Or(s.Stop.Reason, string(s.Stop.Status))
	}
	switch {
	case s.Ended != nil:
		st.Status, st.Next, st.Stopping = s.Ended.Status, s.Ended.Resume, s.Ended.Reason
	case !alive:
		st.Status, st.Next = event.RunCutOff, "wavex resume"
	}
	if !st.Going {
		st.Total.Running = 0
	}
	return st
}

// money returns the tasks, the money and the iterations.
func (st *Status) money() string {
	done, rest, _ := strings.Cut(tallyText(st.Total), ",")
	l := done + " tasks"
	if rest != "" {
		l += "," + rest
	}
	l += " | " + st.MoneyText()
	if !st.Limits.NoUSD && st.Limits.USD > 0 {
		l += fmt.Sprintf(" (%.0f%%)", 100*st.Cost.Float()/st.Limits.USD.Float())
	}
	return l + " | iteration " + st.IterationsText()
}

// StatusBox draws the stages of a run with the next action of each, no wider than columns or 100. Below
// it stands the command that continues, which is never cut.
func StatusBox(st Status, o Options) string {
	width := min(o.width()-1, 100)
	inner := max(width-4, 12)
	lines := wrapText(st.money(), inner)
	if st.Stopping != "" {
		lines = append(lines, wrapText("stopped: "+textfmt.Line(st.Stopping), inner)...)
	}
	lines = append(lines, "")
	for _, l := range st.Stages {
		if l.Name == planStage {
			l = st.plan(l)
		}
		lines = append(lines, l.lines(inner, o)...)
	}
	title := string(st.Status) + ": " + cmp.Or(textfmt.Line(st.Name), textfmt.Line(st.Run))
	if st.Plain {
		return title + "\n" + strings.Join(lines, "\n") + "\n" + st.resumeCommand()
	}
	return drawBox(title, lines, width, o) + st.resumeCommand()
}

// Request holds the data of a request that has no run yet.
type Request struct {
	Text    string        // the request
	Stage   string        // current stage: "intent", "shape", "decompose", "executing"
	Origin  *event.Origin // nil before the intent is settled
	Vague   bool          // too vague to continue
	Planned bool          // there is a plan, or a proposal of several plans
	Split   bool          // Planned is a proposal of several plans
	Next    string        // the command that continues
	Plain   bool
}

// RequestBox draws the stage of a request, as Box does for a run.
func RequestBox(r Request, o Options) string {
	width := min(o.width()-1, 100)
	inner := max(width-4, 12)
	lines := append(wrapText(textfmt.Line(r.Text), inner), "")
	at := map[string]int{"intent": 0, "shape": 1, "decompose": 2, "executing": 3}[r.Stage]
	for i, s := range []Stage{{markNone, "intent", "not settled", "score the request, and ask where it is unclear"},
		{markNone, "shape", "not settled", "find the files that it is about"},
		{markNone, "plan", "none yet", "break the request down into tasks"}} {
		switch {
		case i < at:
			s.Mark, s.Status, s.Next = markGood, "settled", ""
			if f := r.Origin; f != nil && i == 0 {
				s.Status = fmt.Sprintf("spec %d/10, fit %d, %s, workflow %s", f.SpecScore, f.FitScore, textfmt.Line(f.Shape),
					textfmt.Line(f.Workflow))
			}
			if i == 0 && r.Vague {
				s.Mark, s.Status, s.Next = markBad, s.Status+", too vague", "say it more clearly"
			}
			if i == 2 && r.Split {
				s.Mark, s.Status, s.Next = markWarn, "too large for one plan", "begin with one of the proposed parts"
			}
		case i > at || r.Vague:
			s.Next = ""
		default:
			s.Mark = markRetry
		}
		lines = append(lines, s.lines(inner, o)...)
	}
	run := Stage{markNone, "run", "not begun", ""}
	if r.Planned && !r.Split {
		run.Next = "run the plan"
	}
	lines = append(lines, run.lines(inner, o)...)
	end := "Continue with: " + textfmt.Line(r.Next) + "\n"
	if r.Plain {
		return "request\n" + strings.Join(lines, "\n") + "\n" + end
	}
	return drawBox("request", lines, width, o) + end
}

// resumeCommand returns the command that continues.
func (st Status) resumeCommand() string {
	switch {
	case st.PlanMissing: // the line of the plan has it
		return ""
	case st.Going:
		return "Watch it with: wavex watch\n"
	case st.Next != "":
		return "Continue with: " + textfmt.Line(st.Next) + "\n"
	case st.Status == event.RunComplete:
		return "Nothing is left to do. Full report: wavex report --html > report.html\n"
	}
	return ""
}

// drawBox draws a box with a title around clean lines.
func drawBox(title string, lines []string, width int, o Options) string {
	h, v, corners := "─", "│", [4]string{"┌", "┐", "└", "┘"}
	if o.ASCII {
		h, v, corners = "-", "|", [4]string{"+", "+", "+", "+"}
	}
	var b strings.Builder
	title = " " + textfmt.Truncate(title, width-6, o.ASCII) + " "
	b.WriteString(corners[0] + h + title + strings.Repeat(h, max(width-3-textfmt.Width(title), 0)) + corners[1] + "\n")
	for _, l := range lines {
		b.WriteString(v + " " + textfmt.Pad(textfmt.Truncate(l, width-4, o.ASCII), width-4) + " " + v + "\n")
	}
	b.WriteString(corners[2] + strings.Repeat(h, max(width-2, 0)) + corners[3] + "\n")
	return b.String()
}

// wrapText breaks a clean text into lines of at most columns, but at least 8.
func wrapText(text string, columns int) []string { return textfmt.Wrap(text, max(columns, 8)) }
