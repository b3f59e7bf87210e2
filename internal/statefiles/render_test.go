package statefiles

import (
	"bytes"
	"encoding/json"
	"flag"
	"reflect"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

var update = flag.Bool("update", false, "write the golden files")

// stories has runs of every kind; each calls show after every event.
var stories = map[string]func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun{
	"mixed": reporttest.MixedRun, "complete": reporttest.CompleteRun, "paused": reporttest.PausedRun,
	"hostile":  reporttest.HostileRun,
	"reviewed": reporttest.ReviewedRun,
}

func valid(t *testing.T, s jsonschematest.Schema, text []byte) {
	t.Helper()
	if err := s.Validate(text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// The files are valid after each event of every kind of run, and the book updated by events equals
// the book of the state.
func TestEveryEvent(t *testing.T) {
	t.Parallel()
	workflow, linear := jsonschematest.New(t, WorkflowSchema()), jsonschematest.New(t, LinearSchema())
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept model
			var events []event.Event
			tell(t, func(e event.Event, s *scheduler.State) {
				events = append(events, e)
				kept.update(e, s)
				if whole := newModel(s); !reflect.DeepEqual(*whole, kept) {
					t.Fatalf("after event %d (%s) the book has\n%+v\nand the state\n%+v", e.Seq, e.Body.Type(), kept, *whole)
				}
				w, err := kept.mergeWorkflow(nil)
				testrepo.Must(t, err)
				valid(t, workflow, w)
				l, err := kept.mergeLinear(nil)
				testrepo.Must(t, err)
				valid(t, linear, l)
				invariant(t, l)
				if p := string(kept.progress()); strings.Contains(p, "<loop-complete>") ||
					strings.ContainsAny(p, "\x1b\x00\u202e") {
					t.Errorf("PROGRESS.md has what an agent smuggled in:\n%q", p)
				}
			})
		})
	}
}

// invariant checks that the steps are the completed and the remaining ones, and that there is a
// status for each criterion, in the same order.
func invariant(t *testing.T, text []byte) {
	t.Helper()
	var l linear
	var order struct {
		Status json.RawMessage `json:"criteriaStatus"`
	}
	type plain linear
	testrepo.Must(t, json.Unmarshal(bytes.Replace(text, []byte(`"criteriaStatus"`), []byte(`"-"`), 1), (*plain)(&l)))
	testrepo.Must(t, json.Unmarshal(text, &order))
	seen := map[string]int{}
	for _, s := range l.Steps {
		seen[s]++
	}
	for _, s := range append(l.Completed, l.Remaining...) {
		seen[s]--
	}
	for s, n := range seen {
		if n != 0 {
			t.Errorf("step %q is %d times too often among the steps", s, n)
		}
	}
	status, err := members(order.Status)
	testrepo.Must(t, err)
	var names []string
	for _, m := range status {
		names = append(names, m.Name)
	}
	if !reflect.DeepEqual(names, l.Criteria) {
		t.Errorf("criteria %q, but status of %q", l.Criteria, names)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	reporttest.Golden(t, name, string(got), *update)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, nil)
			b := newModel(s.S)
			w, err := b.mergeWorkflow(nil)
			testrepo.Must(t, err)
			golden(t, name+".workflow.json", w)
			l, err := b.mergeLinear(nil)
			testrepo.Must(t, err)
			golden(t, name+".state.json", l)
			golden(t, name+".md", b.progress())
		})
	}
}

// The file equals the example of the seed document, line by line except for its damaged heading.
func TestProgressExample(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "Add validation to auth", reporttest.Tasks{
		{"1", "Add ValidationError import to auth.ts", nil}, {"2", "Add ValidationError import to api.ts", nil},
		{"3", "Create validation schema", []int{0}}, {"4", "Implement validateToken", []int{1}},
		{"5", "Implement validateUser", []int{2}}, {"R-001", "Close the gap", []int{4}}})
	good := reporttest.PassingResult(1_000_000)
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("1", 0).StartAttempt("2", 1)
	s.Advance(time.Second).EndAttempt("1", good, event.Completed, nil).EndAttempt("2",
		reporttest.PassingResult(1_500_000),
		event.Completed, nil)
	s.StartWave(2).StartAttempt("3", 0)
	want := `# Loop Progress: Add validation to auth

**Status:** Wave 2 of 4 | Iteration 3 | Cost: $2.50/$25

## ✅ Completed (Wave 1)
- [x] T-001: Add ValidationError import to auth.ts
- [x] T-002: Add ValidationError import to api.ts

## 🔄 In Progress (Wave 2)
- [ ] T-003: Create validation schema (assigned to subagent)

## ⏳ Pending (Wave 2+)
- [ ] T-004: Implement validateToken
- [ ] T-005: Implement validateUser (blocked by T-003)
- [ ] R-001: Close the gap (blocked by T-005)

## 📊 Metrics
- Tasks: 2/6 complete
- Stuck count: 0
- Counsel consulted: No
`
	if got := string(newModel(s.S).progress()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Steps have different texts, for any subjects of the tasks.
func TestStepsDiffer(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "", reporttest.Tasks{{"a", "Test", nil}, {"b", "Test", nil}, {"c", "b: Test", nil},
		{"d", "", nil}})
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("b", 0).EndAttempt("b", runner.Result{Outcome: runner.Done},
		event.Completed, nil)
	b := newModel(s.S)
	want := []string{"a: Test", "b: Test", "b: Test (2)", "d"}
	if got := b.steps; !reflect.DeepEqual(got, want) {
		t.Errorf("steps are %q, want %q", got, want)
	}
	l, err := b.mergeLinear(nil)
	testrepo.Must(t, err)
	invariant(t, l)
}

// state.json lists the last errors of attempts: of those that failed, not of those that were interrupted.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "", reporttest.Tasks{{"a", "A", nil}})
	c := reporttest.Config()
	c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
	s.StartRun(c).StartWave(1)
	end := func(o runner.Outcome, reason string) {
		s.StartAttempt("a", 0).EndAttempt("a", runner.Result{Outcome: o, Reason: reason, Signature: "s"}, event.Pending, nil)
	}
	errorsOf := func() (l struct {
		Errors    []taskError
		LastError *string `json:"last_error"`
	}) {
		t.Helper()
		text, err := newModel(s.S).mergeLinear(nil)
		if err == nil {
			valid(t, jsonschematest.New(t, LinearSchema()), text)
			err = json.Unmarshal(text, &l)
		}
		testrepo.Must(t, err)
		return l
	}
	end(runner.Interrupted, "a signal")
	if l := errorsOf(); l.Errors == nil || len(l.Errors) > 0 || l.LastError != nil {
		t.Errorf("an interruption is an error: %+v, %v", l.Errors, l.LastError)
	}
	end(runner.Wrong, "tests\nfail\x1b[31m "+strings.Repeat("ä", 300))
	end(runner.Throttled, "")
	l := errorsOf()
	if len(l.Errors) != 2 || *l.LastError != "throttled" {
		t.Fatalf("%+v, %s", l.Errors, *l.LastError)
	}
	want := taskError{reporttest.Start, "a", 2, "logic", "wrong", "s", "tests fail " + strings.Repeat("ä", 186) + "..."}
	if l.Errors[0] != want || l.Errors[1].Class != "transient" {
		t.Errorf("%+v, want %+v", l.Errors, want)
	}
	for range 50 {
		end(runner.Wrong, "last")
	}
	if l := errorsOf(); len(l.Errors) != 50 || l.Errors[0].Excerpt != "last" || l.Errors[0].Attempt != 4 {
		t.Errorf("%d errors, the first is %+v", len(l.Errors), l.Errors[0])
	}
	s.Apply(event.RunStarted{Config: c, Plan: "plan.json"})
	if l := errorsOf(); len(l.Errors) > 0 {
		t.Errorf("the next run begins with %+v", l.Errors)
	}
}

// A thorough review that did not come about has no score and no blockers, and says why.
func TestReviewWithoutAnswer(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]counsel.Review{
		`{"passed":false,"blockers_remaining":null,"score":null,"issues":null,"round":1,"error":"no expert answered"}`: {
			Error: "no expert\nanswered"},
		`{"passed":true,"blockers_remaining":0,"score":null,"issues":0,"round":1,"nothing":"no file changed"}`: {
			Nothing: "no file changed"},
	} {
		s := reporttest.New(t, "", reporttest.Tasks{{"a", "A", nil}})
		s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("a", 0)
		s.EndAttempt("a", reporttest.PassingResult(1000), event.Completed, nil)
		s.Apply(event.ReviewStarted{N: 1, Mode: counsel.Thorough, Round: 1})
		s.Apply(event.ReviewEnded{N: 1, Mode: counsel.Thorough, Round: 1, Passed: r.Error == "", Review: r})
		text, err := newModel(s.S).mergeWorkflow(nil)
		testrepo.Must(t, err)
		valid(t, jsonschematest.New(t, WorkflowSchema()), text)
		var w struct {
			Reviews struct{ Thorough json.RawMessage }
		}
		testrepo.Must(t, json.Unmarshal(text, &w))
		var got bytes.Buffer
		if err := json.Compact(&got, w.Reviews.Thorough); err != nil || got.String() != want {
			t.Errorf("%s, want %s (%v)", got.String(), want, err)
		}
	}
}
