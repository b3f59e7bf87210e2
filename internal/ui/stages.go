package ui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file describes the stages of a run for the box of wavex status.

// Stage is one stage of the box. Its texts are clean.
type Stage struct {
	Mark   mark
	Name   string
	Status string
	Next   string // next action; "": none
}

// planStage is the name of the stage that depends on the plan's file too.
const planStage = "plan"

// lines formats the stage for a box with inner columns.
func (l Stage) lines(inner int, o Options) (out []string) {
	sign := marks[l.Mark].sign
	if o.ASCII {
		sign = map[mark]string{markGood: "ok", markBad: "!!", markRetry: "..", markWarn: "! "}[l.Mark]
	}
	head := textfmt.Pad(sign, 2) + " " + textfmt.Pad(l.Name, 9)
	for i, w := range wrapText(l.Status, inner-textfmt.Width(head)) {
		if i > 0 {
			head = strings.Repeat(" ", textfmt.Width(head))
		}
		out = append(out, head+w)
	}
	if l.Next == "" {
		return out
	}
	for i, w := range wrapText("next: "+l.Next, inner-18) {
		pad := 12
		if i > 0 {
			pad = 18
		}
		out = append(out, textfmt.Truncate(strings.Repeat(" ", pad)+w, inner, o.ASCII))
	}
	return out
}

// stages describes the stages of a run.
func stages(s *scheduler.State) []Stage {
	var out []Stage
	if f := s.Origin; f != nil {
		out = append(out, Stage{markGood, "request", fmt.Sprintf("spec %d/10, fit %d, %s, workflow %s", f.SpecScore,
			f.FitScore, textfmt.Line(f.Shape), textfmt.Line(f.Workflow)), ""})
	}
	out = append(out, Stage{markGood, planStage, fmt.Sprintf("%s in %s", report.Plural(len(s.Tasks), "task", "tasks"),
		report.Plural(s.Waves, "wave", "waves")), ""})
	done := s.IsDone()
	out = append(out, wavesStage(s), reviewStage(s, done), criteriaStage(s, done))
	if n := len(s.Assessment.Regressions); n > 0 {
		out = append(out, Stage{markWarn, "checks", report.Plural(n, "is broken", "are broken") + ": " +
			fitText(s.Assessment.Regressions[0].String()),
			`wavex verify --fix, or "once": true where that is as it should be`})
	}
	if s.Assessment.Gate != nil || len(s.Assessment.Criteria) > 0 && s.Ended == nil {
		out = append(out, gateStage(s.Assessment.Gate))
	}
	if d := s.Figures.LastDelivery; d != nil {
		out = append(out, Stage{markGood, "delivery", strings.TrimSpace(textfmt.Line(d.How) + " " + textfmt.Line(d.Ref)),
			textfmt.Line(d.Command)})
	} else if s.Config.Isolation == event.Isolated {
		out = append(out, Stage{markNone, "delivery", "not yet: " + cmp.Or(textfmt.Line(s.Config.Deliver), "auto"),
			""})
	}
	return out
}

// plan adds the changes that a resume would find in the plan.
func (st Status) plan(l Stage) Stage {
	switch {
	case st.PlanMissing:
		l.Mark, l.Status = markWarn, l.Status+"; "+textfmt.Line(st.PlanPath)+" is not there any more"
		l.Next = "put it back, or name the file that it is now: wavex resume FILE"
	case st.PlanError != nil:
		first, _, _ := strings.Cut(st.PlanError.Error(), "\n")
		l.Mark, l.Status, l.Next = markWarn, l.Status+"; the file has mistakes by now", fitText(first)
	case st.PlanEdit != nil:
		l.Mark, l.Status, l.Next = markWarn, l.Status+"; the file was edited since", planEditText("resume; ", st.PlanEdit)
	}
	return l
}

func wavesStage(s *scheduler.State) Stage {
	c := s.Counts
	l := Stage{markRetry, "waves", fmt.Sprintf("%d of %d completed", c.Completed, len(s.Tasks)), ""}
	if s.Ended == nil {
		l.Status = fmt.Sprintf("wave %d of %d, ", s.CurrentWave(), s.Waves) + l.Status
	}
	if c.Failed > 0 {
		l.Mark, l.Status = markBad, l.Status+fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Blocked > 0 {
		l.Status += fmt.Sprintf(", %d blocked", c.Blocked)
	}
	if s.IsDone() {
		if l.Mark = markGood; c.Completed < len(s.Tasks) {
			l.Mark, l.Status = markWarn, l.Status+", as the plan allows"
		}
		return l
	}
	var at nextTask
	l.Next = at.next(s, time.Time{})
	if l.Next == "none" || c.Failed > 0 && c.Pending == 0 {
		l.Next = failureText(s)
	}
	return l
}

// failureText names the first failed task and its reason.
func failureText(s *scheduler.State) string {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == event.Failed {
			l := "look at " + taskLabel(s, s.Plan.Tasks[i].ID)
			if t.Last != nil && t.Last.Reason != "" {
				l += " (" + fitText(t.Last.Reason) + ")"
			}
			return l + ": wavex logs " + textfmt.Line(s.Plan.Tasks[i].ID)
		}
	}
	return ""
}

func reviewStage(s *scheduler.State, done bool) Stage {
	if r := s.Assessment.Thorough(); r != nil {
		l := Stage{markGood, "review", fmt.Sprintf("thorough, passed, %s",
			report.Plural(len(r.Review.Findings), "finding",
				"findings")), ""}
		if !r.Passed {
			l.Mark, l.Status, l.Next = markBad, fmt.Sprintf("thorough, not passed, %s", report.Plural(r.Blockers, "blocker",
				"blockers")), ""
			for _, f := range r.Review.Findings {
				if f.Blocks() {
					l.Next = "mend " + fitText(f.Text)
					break
				}
			}
			if r.Review.Error != "" {
				l.Status = "thorough, none came about: " + fitText(r.Review.Error)
			}
		}
		return l
	}
	light := 0
	for i := range s.Assessment.Reviews {
		if s.Assessment.Reviews[i].Mode == counsel.Light {
			light++
		}
	}
	l := Stage{markNone, "review", "none yet", ""}
	if light > 0 {
		l.Status = report.Plural(light, "light review", "light reviews")
	}
	switch {
	case s.Assessment.Gate != nil:
		l.Mark, l.Status = markGood, textfmt.Line(cmp.Or(s.Assessment.Gate.Review, "none"))
	case done && s.Ended == nil:
		l.Next = "the thorough review, now that all tasks are completed"
	}
	return l
}

func criteriaStage(s *scheduler.State, done bool) Stage {
	list := report.Criteria(s)
	met, first := 0, ""
	for _, c := range list {
		if c.Met {
			met++
		} else if first == "" {
			first = textfmt.Line(c.Text)
		}
	}
	l := Stage{markNone, "criteria", fmt.Sprintf("%d of %d met", met, len(list)), ""}
	switch {
	case met == len(list):
		l.Mark = markGood
	case done:
		l.Mark, l.Next = markWarn, "show that: "+first
	}
	return l
}

func gateStage(g *event.GateEnded) Stage {
	switch {
	case g == nil:
		return Stage{markNone, "gate", "not yet", ""}
	case g.Passed:
		return Stage{markGood, "gate", "passed", ""}
	}
	l := Stage{markBad, "gate", "refuses", ""}
	if len(g.Reasons) > 0 {
		l.Next = "fix: " + fitText(g.Reasons[0])
	}
	return l
}
