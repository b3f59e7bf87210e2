package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// Purpose says which part of a run an amount was spent on.
type Purpose string

// The purposes, in the order of the table's columns.
const (
	Work     Purpose = "work"     // attempts at tasks
	Counsel  Purpose = "counsel"  // panels and pre-checks
	Reviews  Purpose = "review"   // reviews
	Judge    Purpose = "judge"    // criteria in prose
	Planning Purpose = "planning" // requests, before there is a plan
)

var purposes = [...]Purpose{Work, Counsel, Reviews, Judge, Planning}

// Expense is an amount that a run, or a request before it, has spent.
type Expense struct {
	Time     time.Time
	Run      string // "" before the run of a request
	Plan     string // its name, else its path; "" before the run of a request
	Model    string // of the session of an attempt; "" if it is not on record
	Purpose  Purpose
	Cost     budget.USD // micro-dollars
	Notional bool       // a subscription, which is not billed the amount
}

// Expenses are those of journals, without rehearsals, whose costs are made up.
type Expenses struct {
	List       []Expense // in the order of their records
	Rehearsals int       // number of runs that were left out
}

// attempt names an attempt of a run.
type attempt struct {
	task string
	n    int
}

// Add adds the expenses of a journal. Those of a run add up to the cost that Runs returns. A cost
// that was corrected later counts as corrected, at the end of its attempt.
func (x *Expenses) Add(events []event.Event) {
	m, begun := meter{State: scheduler.NewMeter()}, false
	spent := map[Purpose]budget.USD{} // by the run so far
	asked := budget.USD(0)            // by the request before it
	ended := map[attempt]int{}        // of the run: the index of its cost in the list
	now, rehearsal := Expense{}, false
	add := func(p Purpose, cost budget.USD) {
		if now.Purpose, now.Cost = p, cost; cost > 0 && !rehearsal {
			x.List = append(x.List, now)
		}
	}
	for i, e := range events {
		now.Time, now.Model = e.Time, ""
		switch b := e.Body.(type) {
		case event.RequestOpened:
			now.Run, now.Plan = "", ""
			asked = 0
			rehearsal = b.Config.Agent == event.Rehearsal
		case event.CallEnded:
			asked += b.Cost
			add(Planning, b.Cost)
		case event.RunStarted:
			now.Run, now.Plan = b.Config.Run, cmp.Or(b.Name, b.Plan)
			clear(spent)
			clear(ended)
			if b.Origin != nil {
				spent[Planning] = min(asked, b.Origin.Spent)
			}
			asked = 0
			m.torn, begun = false, true
			if rehearsal = b.Config.Agent == event.Rehearsal; rehearsal {
				x.Rehearsals++
			}
		case event.CostCorrected:
			if n, ok := ended[attempt{b.Task, b.Attempt}]; ok {
				x.List[n].Cost += b.Cost - b.Was
				spent[Work] += b.Cost - b.Was
			}
		case event.TurnEnded:
			now.Model = b.Turn.Result.Model
		case event.AttemptEnded:
			now.Model = b.Result.Model
		}
		if !begun {
			continue
		}
		m.add(events[i : i+1])
		now.Notional = m.Notional
		before := len(x.List)
		for k, cost := range costsOf(m.Efforts()) {
			p := purposes[k]
			add(p, cost-spent[p])
			spent[p] = max(spent[p], cost)
		}
		if b, ok := e.Body.(event.AttemptEnded); ok && len(x.List) > before {
			ended[attempt{b.Task, b.Attempt}] = before
		}
	}
}

// costsOf returns the costs in the order of purposes.
func costsOf(e scheduler.Efforts) [len(purposes)]budget.USD {
	return [...]budget.USD{e.Work.Cost, e.Counsel.Cost, e.Review.Cost, e.Judge.Cost, e.Planning.Cost}
}

// CostRow is the sum of the expenses of one day, plan, model or run.
type CostRow struct {
	Key      string // the day in UTC (2006-01-02), the plan, the model, or the run
	Runs     int    // number of runs with expenses
	Notional bool   // at least one of them is of a subscription
	Total    budget.USD
	Of       map[Purpose]budget.USD
}

// CostsBy are the words that Sum takes.
var CostsBy = []string{"day", "plan", "model", "run"}

// Sum adds up the expenses by day, plan, model or run. Days and runs are in the order of time, the others begin with
// the most expensive one.
func (x *Expenses) Sum(by string) []CostRow {
	rows, runs := map[string]*CostRow{}, map[[2]string]bool{}
	for _, e := range x.List {
		key := cmp.Or(map[string]string{"day": e.Time.UTC().Format(time.DateOnly), "plan": e.Plan, "model": e.Model,
			"run": e.Run}[by], "-")
		r := rows[key]
		if r == nil {
			r = &CostRow{Key: key, Of: map[Purpose]budget.USD{}}
			rows[key] = r
		}
		r.Total += e.Cost
		r.Of[e.Purpose] += e.Cost
		r.Notional = r.Notional || e.Notional
		if id := [2]string{key, e.Run}; e.Run != "" && !runs[id] {
			runs[id] = true
			r.Runs++
		}
	}
	out := make([]CostRow, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[key])
	}
	if by == "plan" || by == "model" {
		slices.SortStableFunc(out, func(a, b CostRow) int { return cmp.Compare(b.Total, a.Total) })
	}
	return out
}

// Table returns the sums by day, plan, model or run for people. The last row has the sum of all. Lines are cut at
// columns (0: never).
func (x *Expenses) Table(by string, columns int) string {
	rows := x.Sum(by)
	grid := [][]string{{by, "runs", "cost"}}
	for _, p := range purposes {
		grid[0] = append(grid[0], string(p))
	}
	sum := CostRow{Key: "all", Of: map[Purpose]budget.USD{}}
	for _, r := range rows {
		sum.Runs += r.Runs
		sum.Total += r.Total
		sum.Notional = sum.Notional || r.Notional
		for p, usd := range r.Of {
			sum.Of[p] += usd
		}
	}
	for _, r := range append(slices.Clone(rows), sum) {
		cost, runs := r.Total.Spent(), strconv.Itoa(r.Runs)
		if r.Notional {
			cost += "*"
		}
		if r.Key == sum.Key && (by == "day" || by == "model") {
			runs = "" // a run may be in several rows
		}
		line := []string{textfmt.Line(r.Key), runs, cost}
		for _, p := range purposes {
			line = append(line, r.Of[p].Spent())
		}
		grid = append(grid, line)
	}
	var b strings.Builder
	writeGrid(&b, dropColumns(grid, columns, "planning", "judge", "runs"), columns, false)
	if x.Rehearsals > 0 {
		fmt.Fprintf(&b, "without %s, whose costs are made up\n", Plural(x.Rehearsals, "rehearsal", "rehearsals"))
	}
	return b.String()
}

// JSON returns the sums by day, plan, model or run for programs, in dollars.
func (x *Expenses) JSON(by string) ([]byte, error) {
	rows := x.Sum(by)
	type wire struct {
		Key      string              `json:"key"`
		Runs     int                 `json:"runs"`
		CostUSD  float64             `json:"cost_usd"`
		Notional bool                `json:"notional,omitempty"`
		By       map[Purpose]float64 `json:"cost_usd_by_purpose"`
	}
	out := struct {
		V          int    `json:"v"`
		By         string `json:"by"`
		Rows       []wire `json:"rows"`
		Rehearsals int    `json:"rehearsals"` // that are not in the rows
	}{Version, by, make([]wire, 0, len(rows)), x.Rehearsals}
	for _, r := range rows {
		w := wire{r.Key, r.Runs, r.Total.Float(), r.Notional, map[Purpose]float64{}}
		for p, usd := range r.Of {
			w.By[p] = usd.Float()
		}
		out.Rows = append(out.Rows, w)
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(textfmt.JSON(b), '\n'), err
}
