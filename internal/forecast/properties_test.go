package forecast

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// A forecast lies within its bounds, and these are not negative. Values that were always equal
// have no spread, and n of them cost n times as much.
func TestSumProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seen := rapid.SliceOfN(rapid.Float64Range(0, 1e12), 1, 30).Draw(t, "seen")
		n := rapid.IntRange(1, 10_000).Draw(t, "n")
		mid, low, high := forecastSum(seen, n)
		mean := 0.0
		for _, v := range seen {
			mean += v
		}
		if mean /= float64(len(seen)); math.Abs(mid-mean*float64(n)) > 1e-6*max(1, mid) {
			t.Fatalf("%d of %v make %v", n, seen, mid)
		}
		if len(seen) < minSamples {
			if low != 0 || high != 0 {
				t.Fatalf("%d are too few: %v to %v", len(seen), low, high)
			}
			return
		}
		if !(0 <= low && low <= mid && mid <= high) {
			t.Fatalf("%v is not within %v and %v", mid, low, high)
		}
		same := make([]float64, len(seen))
		for i := range same {
			same[i] = seen[0]
		}
		if mid, low, high := forecastSum(same, n); high-low > 1e-6*max(1, mid) {
			t.Fatalf("of what is always alike %v to %v", low, high)
		}
	})
}

// The text about very large estimates is correct too.
func TestLargeEstimates(t *testing.T) {
	t.Parallel()
	var tasks []string
	for i := range 400 {
		blocked := ""
		if i > 0 {
			blocked = fmt.Sprintf(`,"blockedBy":["t%d"]`, i-1)
		}
		tasks = append(tasks, fmt.Sprintf(`{"id":"t%d","subject":"a","estimate":{"usd":1e9,"seconds":31536000}%s}`,
			i, blocked))
	}
	p := testrepo.Plan(t, ".", `{"tasks":[`+strings.Join(tasks, ",")+`]}`)
	e := Expect(nil, p, 4)
	if e.Time <= 0 || e.Cost != 400*1e9*budget.Dollar || strings.Contains(e.String(), "-") {
		t.Errorf("%+v: %s", e, e)
	}
	for _, d := range InsufficientLimits(p, budget.Limits{USD: budget.Dollar, Iterations: 1, Wall: time.Hour}) {
		if strings.Contains(d.Message, "$-") || d.Severity != plan.SeverityWarning {
			t.Errorf("%+v", d)
		}
	}
}

// Work that was redone after a failed integration belongs to one task, with its total cost. The
// work of another run, and work that was not redone, is separate.
func TestHistory(t *testing.T) {
	t.Parallel()
	begun := func(run string) event.Body {
		return event.RunStarted{Config: event.Config{Run: run}}
	}
	end := func(task string, status event.Status, cost budget.USD) event.Body {
		return event.AttemptEnded{Task: task, Status: status, Result: runner.Result{Cost: cost,
			Duration: time.Duration(cost)}}
	}
	reopened := func(tasks ...string) event.Body {
		e := event.IntegrationEnded{}
		for _, id := range tasks {
			e.Reopened = append(e.Reopened, event.Reopened{Task: id})
		}
		return e
	}
	for name, c := range map[string]struct {
		bodies []event.Body
		want   string
	}{
		"nothing": {nil, "[] []"},
		"tries and panels": {[]event.Body{begun("r"), end("a", event.Pending, 1), event.CounselEnded{Task: "a"},
			end("a", event.Completed, 2), end("b", event.Failed, 9)}, "[3] [3]"},
		"together": {[]event.Body{begun("r"), end("a", event.Verified, 1), end("b", event.Verified, 2),
			reopened()}, "[1 2] [1 2]"},
		"made again": {[]event.Body{begun("r"), end("a", event.Verified, 1), end("b", event.Verified, 2),
			reopened("a"), end("a", event.Verified, 5), reopened()}, "[2 6] [2 6]"},
		"never made again": {[]event.Body{begun("r"), end("a", event.Verified, 1), reopened("a")}, "[] []"},
		"in two runs": {[]event.Body{begun("r"), end("a", event.Pending, 1), begun("s"),
			end("a", event.Completed, 2)}, "[2] [2]"},
		"after it is whole": {[]event.Body{begun("r"), end("a", event.Verified, 1), reopened(),
			end("a", event.Verified, 4), reopened("b")}, "[1 4] [1 4]"},
	} {
		var events []event.Event
		for _, b := range c.bodies {
			events = append(events, event.Event{Body: b})
		}
		costs, times := completedTasks(events)
		if got := fmt.Sprint(costs, times); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The limits of a plain run, and which of them cannot suffice.
func TestInsufficientLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ budget, want string }{
		"nothing said": {`{}`, "[]"},
		"all suffice":  {`{"usd":1,"iterations":3,"wallClock":"1m"}`, "[]"},
		"iterations":   {`{"iterations":2}`, "[short-iterations]"},
		"none set":     {`{"iterations":"unlimited","usd":"none"}`, "[]"},
		"money":        {`{"usd":0.25}`, "[short-budget]"},
		"the chain":    {`{"wallClock":"59s"}`, "[short-time]"},
		"all of them":  {`{"usd":0.01,"iterations":1,"wallClock":"1s"}`, "[short-iterations short-budget short-time]"},
	} {
		p := testrepo.Plan(t, ".", `{"budget":`+c.budget+
			`,"tasks":[{"id":"a","subject":"a","estimate":{"usd":0.1,"seconds":30}},{"id":"b","subject":"b","blockedBy":["a"],"estimate":{"usd":0.1,"seconds":30}},{"id":"c","subject":"c","estimate":{"usd":0.1,"seconds":30}}]}`)
		var codes []string
		for _, d := range InsufficientLimits(p, Limits(p)) {
			codes = append(codes, d.Code)
		}
		if got := fmt.Sprint(codes); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Only a criterion of kind assumption that has no check prevents a complete run.
func TestAssumptions(t *testing.T) {
	t.Parallel()
	p := testrepo.Plan(t, ".", `{"criteria":["c",{"text":"d","verification":"assumption"}],"tasks":[{"id":"a",
		"subject":"a","criteria":[{"text":"e","verification":"assumption"},{"text":"f","verification":"assumption","verify":"x"}]}]}`)
	ds := Assumptions(p)
	if len(ds) != 1 || ds[0].Severity != plan.SeverityWarning || !strings.HasSuffix(ds[0].Message, ": C-2, a/C-1") {
		t.Errorf("%+v", ds)
	}
	if ds := Assumptions(testrepo.Plan(t, ".", `{"tasks":[{"id":"a","command":"true"}]}`)); ds != nil {
		t.Errorf("%+v", ds)
	}
}
