package report_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// TestExpensesAgreeWithRuns compares the amounts of each run with its cost in the list of runs, and those of panels
// with the run's own report.
func TestExpensesAgreeWithRuns(t *testing.T) {
	t.Parallel()
	all := journals(t)
	sums, counsel := map[string]budget.USD{}, map[string]budget.USD{}
	for _, x := range expenses(all).List {
		sums[x.Run] += x.Cost
		if x.Purpose == report.Counsel {
			counsel[x.Run] += x.Cost
		}
		if x.Cost <= 0 || x.Plan == "" || x.Time.IsZero() {
			t.Errorf("%+v", x)
		}
	}
	for _, r := range report.Runs(all, time.Time{}, false) {
		if r.Run == "r-3" {
			continue // a rehearsal
		}
		if sums[r.Run] != r.Cost || r.Cost == 0 {
			t.Errorf("%s: expenses of %d, the run cost %d", r.Run, sums[r.Run], r.Cost)
		}
	}
	mixed := report.Of(reporttest.MixedRun(t, nil).S, nil)
	if counsel["r-2"] != mixed.CounselCost || mixed.CounselCost == 0 {
		t.Errorf("panels of %d, the report says %d", counsel["r-2"], mixed.CounselCost)
	}
}

// TestRehearsalsCostNothing leaves out a run whose costs are made up.
func TestRehearsalsCostNothing(t *testing.T) {
	t.Parallel()
	x := expenses(journals(t))
	for _, e := range x.List {
		if e.Run == "r-3" {
			t.Errorf("%+v", e)
		}
	}
	if x.Rehearsals != 1 || len(x.List) == 0 {
		t.Errorf("%+v", x)
	}
}

func expenses(events []event.Event) *report.Expenses {
	var x report.Expenses
	x.Add(events)
	return &x
}

// requested returns a journal with a request that led to no run, and one that led to a run.
func requested(t *testing.T) []event.Event {
	t.Helper()
	at := time.Date(2026, 1, 1, 23, 59, 0, 0, time.UTC)
	ask := func(cost budget.USD) []event.Event {
		return []event.Event{{Time: at, Body: event.RequestOpened{}},
			{Time: at, Body: event.CallEnded{Step: "shape", Try: 1, Outcome: runner.Done, Cost: cost}}}
	}
	run := reporttest.CompleteRun(t, nil).Events
	begun := run[0].Body.(event.RunStarted)
	begun.Origin = &event.Origin{Spent: 3000}
	run[0].Body = begun
	return append(append(ask(5000), ask(2000)...), run...)
}

func TestExpensesOfRequests(t *testing.T) {
	t.Parallel()
	all := requested(t)
	sums := map[string]budget.USD{}
	var planning budget.USD
	for _, x := range expenses(all).List {
		sums[x.Run] += x.Cost
		if x.Purpose == report.Planning {
			planning += x.Cost
		}
	}
	run := report.Runs(all, time.Time{}, false)[0]
	if planning != 8000 || sums[""] != 7000 || sums[""]+sums[run.Run] != run.Cost+5000 {
		t.Errorf("planning %d, by run %v, and the run cost %d", planning, sums, run.Cost)
	}
}

// A cost that is corrected later, on another day, counts as corrected in the sums, the list of runs and the attempts.
func TestCorrectedCosts(t *testing.T) {
	t.Parallel()
	c := event.DefaultConfig()
	c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
	c.Run, c.Workers.Engine = "r-1", "temporal://engine.example:7233/default"
	key := "k"
	lost := event.AttemptEnded{Task: "a", Key: key, Attempt: 1, Status: event.Pending,
		Result: runner.Result{Outcome: runner.Interrupted, Cost: 900_000, Priced: "cap", Model: "opus"}}
	var events []event.Event
	for i, b := range []event.Body{event.RunStarted{Config: c, Plan: "p", Tasks: 1, Waves: 1},
		event.AttemptStarted{Task: "a", Key: key, Wave: 1, Attempt: 1, Try: 1, Why: "first", Cap: 900_000}, lost,
		event.AttemptStarted{Task: "a", Key: key, Wave: 1, Attempt: 2, Try: 1, Why: "again", Cap: 900_000},
		event.CostCorrected{Task: "a", Key: key, Attempt: 1, Was: 900_000, Cost: 4_000, Priced: "stream",
			Usage: runner.Usage{Output: 7}}} {
		events = append(events, event.Event{Seq: int64(i + 1), Time: time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC), Body: b})
	}
	for by, key := range map[string]string{"day": "2026-03-03", "plan": "p", "model": "opus", "run": "r-1"} {
		if rows := expenses(events).Sum(by); len(rows) != 1 || rows[0].Key != key || rows[0].Total != 4_000 {
			t.Errorf("by %s: %+v", by, rows)
		}
	}
	unlimited := slices.Clone(events)
	free := lost
	free.Result.Cost = 0 // without a cap
	unlimited[2].Body = free
	unlimited[4].Body = event.CostCorrected{Task: "a", Key: key, Attempt: 1, Cost: 4_000, Priced: "stream"}
	if rows := expenses(unlimited).Sum("day"); len(rows) != 1 || rows[0].Key != "2026-03-05" || rows[0].Total != 4_000 {
		t.Errorf("without a cap: %+v", rows)
	}
	if r := report.Runs(events, time.Time{}, false)[0]; r.Cost != 4_000 {
		t.Errorf("the run cost %d", r.Cost)
	}
	attempts := report.LastRun(events).Attempts["a"]
	if first := attempts[0].End.Result; len(attempts) != 2 || first.Cost != 4_000 || first.Priced != "stream" ||
		first.Usage.Output != 7 || attempts[1].End != nil || lost.Result.Cost != 900_000 {
		t.Errorf("%+v", attempts)
	}
}

// The attempts of a task have the corrected cost in the report of its run.
func TestCorrectedCostInTheReport(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "lost", reporttest.Tasks{{ID: "a", Subject: "A"}})
	c := reporttest.Config()
	c.Workers.Engine = "temporal://engine.example:7233/default"
	s.StartRun(c).StartWave(1).StartAttempt("a", 0)
	s.EndAttempt("a", runner.Result{Outcome: runner.Interrupted, Cost: 900_000, Priced: "cap"}, event.Pending, nil)
	s.Apply(event.CostCorrected{Task: "a", Key: s.S.Tasks[0].Key, Attempt: 1, Was: 900_000, Cost: 4_000, Priced: "stream",
		Usage: runner.Usage{Output: 7}})
	task := report.Of(s.S, s.Events).Tasks[0]
	if len(task.History) != 1 || task.History[0].End.Result.Cost != 4_000 || task.Cost != 4_000 {
		t.Errorf("%+v", task)
	}
	if r := report.AttemptsOf(s.S, s.Events)[0][0].End.Result; r.Cost != 4_000 || r.Priced != "stream" {
		t.Errorf("%+v", r)
	}
}

func TestSumCosts(t *testing.T) {
	t.Parallel()
	day := func(d, hour int) time.Time { return time.Date(2026, 3, d, hour, 0, 0, 0, time.FixedZone("", 3600)) }
	x := report.Expenses{Rehearsals: 1, List: []report.Expense{
		{Time: day(1, 12), Run: "r-1", Plan: "a", Model: "sonnet", Purpose: report.Work, Cost: 100_000},
		{Time: day(2, 0), Run: "r-1", Plan: "a", Purpose: report.Counsel, Cost: 50_000}, // the day before in UTC
		{Time: day(2, 12), Run: "r-2", Plan: "b", Model: "opus", Purpose: report.Work, Cost: 900_000, Notional: true},
		{Time: day(2, 13), Run: "r-2", Plan: "b", Model: "sonnet", Purpose: report.Reviews, Cost: 1},
	}}
	for by, want := range map[string]string{
		"day":   "2026-03-01:150000:1 2026-03-02:900001:1",
		"plan":  "b:900001:1 a:150000:1",
		"model": "opus:900000:1 sonnet:100001:2 -:50000:1",
		"run":   "r-1:150000:1 r-2:900001:1",
	} {
		var got []string
		for _, r := range x.Sum(by) {
			var parts budget.USD
			for usd := range maps.Values(r.Of) {
				parts += usd
			}
			if parts != r.Total {
				t.Errorf("%s %s: the parts are %d of %d", by, r.Key, parts, r.Total)
			}
			got = append(got, r.Key+":"+jsonText(t, r.Total)+":"+jsonText(t, r.Runs))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("by %s: %s, want %s", by, text, want)
		}
	}
	table := x.Table("plan", 0)
	for _, want := range []string{"plan  runs    cost   work  counsel", "b     1     $0.90*  $0.90",
		"all   2     $1.05*  $1.00", "without 1 rehearsal, whose costs are made up"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	testrepo.Must(t, err)
	return string(b)
}
