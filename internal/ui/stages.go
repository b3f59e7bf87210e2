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
)

// This file describes the stages of a run for the box of wavex status.

// stageLine is one stage of the box.
type stageLine struct {
	mark   mark
	name   string
	status string
	next   string // next action; "": none
}

// lines formats the stage for a box with inner columns.
func (l stageLine) lines(inner int, o Options) (out []string) {
	sign := marks[l.mark].sign
	if o.ASCII {
		sign = map[mark]string{markGood: "ok", markBad: "!!", markRetry: "..", markWarn: "! "}[l.mark]
	}
	head := textfmt.Pad(sign, 2) + " " + textfmt.Pad(l.name, 9)
	for i, w := range wrapText(l.status, inner-textfmt.Width(head)) {
		if i > 0 {
			head = strings.Repeat(" ", textfmt.Width(head))
		}
		out = append(out, head+w)
	}
	if l.next == "" {
		return out
	}
	for i, w := range wrapText("next: "+l.next, inner-18) {
		pad := 12
		if i > 0 {
			pad = 18
		}
		out = append(out, textfmt.Truncate(strings.Repeat(" ", pad)+w, inner, o.ASCII))
	}
	return out
}

func (st StatusView) stages() []stageLine {
	s := st.State
	var out []stageLine
	if f := s.Origin; f != nil {
		out = append(out, stageLine{markGood, "request", fmt.Sprintf("spec %d/10, fit %d, %s, workflow %s", f.SpecScore,
			f.FitScore, textfmt.Line(f.Shape), textfmt.Line(f.Workflow)), ""})
	}
	out = append(out, st.plan())
	waves := st.waves()
	out = append(out, waves)
	done := s.IsDone()
	out = append(out, st.review(done), st.criteria(done))
	if n := len(s.Regressions); n > 0 {
		out = append(out, stageLine{markWarn, "checks", report.Plural(n, "is broken", "are broken") + ": " +
			fitText(s.Regressions[0].String()),
			`wavex verify --fix, or "recheck": false where that is as it should be`})
	}
	if s.Gate != nil || len(s.Criteria) > 0 && s.Ended == nil {
		out = append(out, st.gate())
	}
	if d := s.LastDelivery; d != nil {
		out = append(out, stageLine{markGood, "delivery", strings.TrimSpace(textfmt.Line(d.How) + " " + textfmt.Line(d.Ref)),
			textfmt.Line(d.Command)})
	} else if s.Config.Isolation == event.Isolated {
		out = append(out, stageLine{markNone, "delivery", "not yet: " + cmp.Or(textfmt.Line(s.Config.Deliver), "auto"),
			""})
	}
	return out
}

// plan describes the plan of the run, and the changes that a resume would find in it.
func (st StatusView) plan() stageLine {
	s := st.State
	l := stageLine{markGood, "plan", fmt.Sprintf("%s in %s", report.Plural(len(s.Tasks), "task", "tasks"),
		report.Plural(s.Waves, "wave", "waves")), ""}
	switch {
	case st.PlanMissing:
		l.mark, l.status = markWarn, l.status+"; "+textfmt.Line(s.Plan.Path)+" is not there any more"
		l.next = "put it back, or name the file that it is now: wavex resume FILE"
	case st.PlanError != nil:
		first, _, _ := strings.Cut(st.PlanError.Error(), "\n")
		l.mark, l.status, l.next = markWarn, l.status+"; the file has mistakes by now", fitText(first)
	case st.PlanEdit != nil:
		l.mark, l.status, l.next = markWarn, l.status+"; the file was edited since", planEditText("resume; ", st.PlanEdit)
	}
	return l
}

func (st StatusView) waves() stageLine {
	s, c := st.State, st.State.Counts
	l := stageLine{markRetry, "waves", fmt.Sprintf("%d of %d completed", c.Completed, len(s.Tasks)), ""}
	if s.Ended == nil {
		l.status = fmt.Sprintf("wave %d of %d, ", s.CurrentWave(), s.Waves) + l.status
	}
	if c.Failed > 0 {
		l.mark, l.status = markBad, l.status+fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Blocked > 0 {
		l.status += fmt.Sprintf(", %d blocked", c.Blocked)
	}
	if c.Completed == len(s.Tasks) {
		l.mark = markGood
		return l
	}
	var at nextTask
	l.next = at.next(s, time.Time{})
	if l.next == "none" || c.Failed > 0 && c.Pending == 0 {
		l.next = st.failureText()
	}
	return l
}

// failureText names the first failed task and its reason.
func (st StatusView) failureText() string {
	s := st.State
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

func (st StatusView) review(done bool) stageLine {
	s := st.State
	if r := s.Thorough(); r != nil {
		l := stageLine{markGood, "review", fmt.Sprintf("thorough, passed, %s",
			report.Plural(len(r.Review.Findings), "finding",
				"findings")), ""}
		if !r.Passed {
			l.mark, l.status, l.next = markBad, fmt.Sprintf("thorough, not passed, %s", report.Plural(r.Blockers, "blocker",
				"blockers")), ""
			for _, f := range r.Review.Findings {
				if f.Blocks() {
					l.next = "mend " + fitText(f.Text)
					break
				}
			}
			if r.Review.Error != "" {
				l.status = "thorough, none came about: " + fitText(r.Review.Error)
			}
		}
		return l
	}
	light := 0
	for i := range s.Reviews {
		if s.Reviews[i].Mode == counsel.Light {
			light++
		}
	}
	l := stageLine{markNone, "review", "none yet", ""}
	if light > 0 {
		l.status = report.Plural(light, "light review", "light reviews")
	}
	switch {
	case s.Gate != nil:
		l.mark, l.status = markGood, textfmt.Line(cmp.Or(s.Gate.Review, "none"))
	case done && s.Ended == nil:
		l.next = "the thorough review, now that all tasks are completed"
	}
	return l
}

func (st StatusView) criteria(done bool) stageLine {
	list := report.Criteria(st.State)
	met, first := 0, ""
	for _, c := range list {
		if c.Met {
			met++
		} else if first == "" {
			first = textfmt.Line(c.Text)
		}
	}
	l := stageLine{markNone, "criteria", fmt.Sprintf("%d of %d met", met, len(list)), ""}
	switch {
	case met == len(list):
		l.mark = markGood
	case done:
		l.mark, l.next = markWarn, "show that: "+first
	}
	return l
}

func (st StatusView) gate() stageLine {
	g := st.State.Gate
	switch {
	case g == nil:
		return stageLine{markNone, "gate", "not yet", ""}
	case g.Passed:
		return stageLine{markGood, "gate", "passed", ""}
	}
	l := stageLine{markBad, "gate", "refuses", ""}
	if len(g.Reasons) > 0 {
		l.next = "put right: " + fitText(g.Reasons[0])
	}
	return l
}
