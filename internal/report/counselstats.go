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
func CounselStatsOf(events []event.Event, p *plan.Plan) CounselStats {
	t := trialCounter{open: map[string]*openTrial{}, commandTasks: map[string]bool{}}
	if p != nil {
		for i := range p.Tasks {
			t.commandTasks[p.Tasks[i].ID] = p.Tasks[i].Command != ""
		}
	}
	for _, e := range events {
		t.add(e)
	}
	t.out.Effect = counsel.MeasureEffect(t.done)
	return t.out
}

// openTrial is a retry that is not decided yet.
type openTrial struct {
	counsel.Trial
	key string // content key of the task; "" if the failure had none
}

type trialCounter struct {
	open         map[string]*openTrial // by task
	commandTasks map[string]bool
	done         []counsel.Trial
	counted      bool // this run is counted in Runs
	out          CounselStats
}

func (t *trialCounter) add(e event.Event) {
	switch b := e.Body.(type) {
	case event.RunStarted:
		clear(t.open)
		t.counted = false
	case event.CounselEnded:
		o := t.open[b.Task]
		switch {
		case o == nil:
		case b.Verdict.Unavailable != "":
			t.out.Silent++
			t.out.SilentCost += b.Verdict.Cost
		default:
			o.Counsel = true
			o.Cost += b.Verdict.Cost
		}
	case event.AttemptEnded:
		if !t.commandTasks[b.Task] {
			t.addAttempt(b)
		}
	case event.IntegrationEnded:
		for _, r := range b.Reopened {
			if r.Status != event.Failed && !t.commandTasks[r.Task] {
				t.open[r.Task] = &openTrial{Trial: counsel.Trial{Class: r.Kind}}
			}
		}
	}
}

func (t *trialCounter) addAttempt(b event.AttemptEnded) {
	passed, stuck := b.Result.Outcome == "done", b.Result.Outcome.Stuck()
	last := b.Status == event.Failed
	if o := t.open[b.Task]; o != nil && o.key != "" && o.key != b.Key {
		delete(t.open, b.Task) // the task was changed in between, so this is not a retry of it
	} else if o != nil {
		o.Cost += b.Result.Cost
		if passed || stuck || last {
			o.Passed = passed
			t.done = append(t.done, o.Trial)
			delete(t.open, b.Task)
			if !t.counted {
				t.counted = true
				t.out.Runs++
			}
		}
	}
	if stuck && !last {
		t.open[b.Task] = &openTrial{Trial: counsel.Trial{Class: string(b.Result.Outcome)}, key: b.Key}
	}
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
