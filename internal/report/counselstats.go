package report

import (
	"fmt"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// CounselStats compares the retries with and without a panel in the runs of a journal. Money is in
// micro-dollars.
type CounselStats struct {
	counsel.Effect
	Runs       int        `json:"runs"`   // with at least one retry
	Silent     int        `json:"silent"` // panels that gave no advice; their retries are in Without
	SilentCost budget.USD `json:"silent_cost"`
}

// CounselStatsOf compares the retries of every run in a journal: those whose prompt had a panel's advice
// with the others. A trial begins with a stuck attempt and ends with the next attempt that is done,
// stuck, or the task's last. Attempts in between (a usage limit, an interruption, a topped-up cap)
// decide nothing, but their cost counts. It ignores tasks of p that are commands, because they
// never get a panel. p may be nil.
func CounselStatsOf(events []event.Event, p *plan.Plan) (out CounselStats) {
	commandTasks := map[string]bool{}
	if p != nil {
		for i := range p.Tasks {
			commandTasks[p.Tasks[i].ID] = p.Tasks[i].Command != ""
		}
	}
	var all []counsel.Trial
	for _, run := range AttemptsOfRuns(events) {
		before := len(all)
		for task, list := range run {
			if !commandTasks[task] {
				all = append(all, out.trials(list)...)
			}
		}
		if len(all) > before {
			out.Runs++
		}
	}
	out.Effect = counsel.MeasureEffect(all)
	return out
}

// trials returns the decided retries of a task, and counts the panels that gave no advice.
func (c *CounselStats) trials(attempts []AttemptRecord) (done []counsel.Trial) {
	var open *counsel.Trial // not decided yet
	key := ""               // content key of the task then; "" if the failure had none
	for _, a := range attempts {
		if a.End == nil {
			continue
		}
		outcome, last := a.End.Result.Outcome, a.End.Status == event.Failed
		switch {
		case open == nil:
		case key != "" && key != a.Key:
			open = nil // the task was changed in between, so this is not a retry of it
		default:
			open.Cost += a.End.Result.Cost
			if open.Passed = outcome == "done"; open.Passed || outcome.Stuck() || last {
				done, open = append(done, *open), nil
			}
		}
		if outcome.Stuck() && !last {
			open, key = &counsel.Trial{Class: string(outcome)}, a.Key
		}
		if r := a.Reopened; r != nil && r.Status != event.Failed {
			open, key = &counsel.Trial{Class: r.Kind}, ""
		}
		for _, v := range a.Counsel {
			switch {
			case open == nil || v.Skipped != "":
			case v.Again:
				open.Cost += v.Verdict.Cost
			case v.Verdict.Unavailable != "":
				c.Silent++
				c.SilentCost += v.Verdict.Cost
			default:
				open.Counsel = true
				open.Cost += v.Verdict.Cost
			}
		}
	}
	return done
}

// Text returns the finding for people: the summary, then a line for each class of failure.
func (c *CounselStats) Text() string {
	var b strings.Builder
	b.WriteString(c.Summary + "\n")
	if c.Silent > 0 {
		fmt.Fprintf(&b, "%s gave no advice and cost %s; the retries that followed count as without.\n",
			Plural(c.Silent, "panel", "panels"), c.SilentCost.Spent())
	}
	if len(c.Classes) == 0 {
		return b.String()
	}
	b.WriteByte('\n')
	rows := [][]string{{"after", "with counsel", "95 %", "cost", "without", "95 %", "cost"}}
	for _, k := range c.Classes {
		rows = append(rows, append(append([]string{textfmt.Line(k.Class)}, armCells(k.With)...), armCells(k.Without)...))
	}
	writeGrid(&b, rows, 0, true)
	return b.String()
}

// armCells returns the cells of one side of a comparison: passed of all, interval, dollars.
func armCells(a counsel.Arm) []string {
	if a.Trials == 0 {
		return []string{"-", "-", "-"}
	}
	return []string{fmt.Sprintf("%d/%d", a.Passed, a.Trials), fmt.Sprintf("%.0f-%.0f %%", 100*a.Low, 100*a.High),
		a.Cost.Spent()}
}
