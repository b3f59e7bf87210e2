package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var testRuns = map[string]func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun{
	"mixed": reporttest.MixedRun, "complete": reporttest.CompleteRun, "paused": reporttest.PausedRun,
	"hostile": reporttest.HostileRun, "lists": reporttest.ListRun,
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	reporttest.Golden(t, name, got, *update)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, tell := range testRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, nil)
			r := report.Of(s.S, s.Events)
			j, err := r.JSON()
			testrepo.Must(t, err)
			x, err := r.JUnit()
			testrepo.Must(t, err)
			golden(t, name+".json", string(j))
			golden(t, name+".xml", string(x))
			golden(t, name+".md", r.Markdown())
			golden(t, name+".txt", r.Table(80, false))
			junit(t, x)
			for form, text := range map[string]string{"json": string(j), "junit": string(x), "md": r.Markdown(),
				"table": r.Table(0, true)} {
				for _, bad := range []string{"\x1b", "\r", "\x00", "\x07", "\u009b", "\u202e", "<loop-complete>"} {
					if strings.Contains(text, bad) {
						t.Errorf("%s shows %q", form, bad)
					}
				}
			}
		})
	}
}

// element is a part of the schema with which Jenkins validates JUnit files: its allowed attributes
// (required ones first) and its children, in this order.
type element struct {
	required, optional []string
	children           []string
}

var schema = map[string]element{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "disabled", "errors"}, []string{"testsuite"}},
	"testsuite": {[]string{"name", "tests"}, []string{"failures", "errors", "time", "disabled", "skipped", "timestamp",
		"hostname", "id", "package"},
		[]string{"properties", "testcase", "system-out", "system-err"}},
	"properties": {nil, nil, []string{"property"}},
	"property":   {[]string{"name", "value"}, nil, nil},
	"testcase": {[]string{"name"}, []string{"assertions", "time", "classname", "status"},
		[]string{"skipped", "error", "failure", "system-out", "system-err"}},
	"skipped": {nil, []string{"message", "type"}, nil}, "error": {nil, []string{"message", "type"}, nil},
	"failure": {nil, []string{"message", "type"}, nil}, "system-out": {}, "system-err": {},
}

// junit checks the structure of a JUnit file and that its counts are right.
func junit(t *testing.T, doc []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(doc))
	type open struct {
		name string
		last int // position of the last child in the schema's order
	}
	var stack []open
	var suite map[string]int // the counts in a suite's attributes
	seen := map[string]int{} // the counts of its cases
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		testrepo.Must(t, err)
		switch tok := tok.(type) {
		case xml.StartElement:
			name := tok.Name.Local
			def, ok := schema[name]
			if !ok {
				t.Fatalf("element %s is not in the schema", name)
			}
			if len(stack) == 0 && name != "testsuites" {
				t.Errorf("the root is %s", name)
			}
			if len(stack) > 0 {
				up := &stack[len(stack)-1]
				at := slices.Index(schema[up.name].children, name)
				if at < up.last {
					t.Errorf("%s in %s at the wrong place", name, up.name)
				}
				up.last = at
			}
			have := map[string]string{}
			for _, a := range tok.Attr {
				have[a.Name.Local] = a.Value
				if !slices.Contains(def.required, a.Name.Local) && !slices.Contains(def.optional, a.Name.Local) {
					t.Errorf("%s has an attribute %s", name, a.Name.Local)
				}
			}
			for _, a := range def.required {
				if _, ok := have[a]; !ok {
					t.Errorf("%s lacks %s", name, a)
				}
			}
			if name == "testsuite" {
				clear(seen)
				suite = map[string]int{}
				for _, k := range []string{"tests", "failures", "errors", "skipped"} {
					var n int
					if _, err := fmt.Sscan(have[k], &n); err != nil {
						t.Errorf("%s=%q", k, have[k])
					}
					suite[k] = n
				}
			}
			seen[name]++
			stack = append(stack, open{name: name})
		case xml.EndElement:
			stack = stack[:len(stack)-1]
			if tok.Name.Local == "testsuite" {
				for said, is := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error",
					"skipped": "skipped"} {
					if suite[said] != seen[is] {
						t.Errorf("a suite says %s=%d and has %d", said, suite[said], seen[is])
					}
				}
			}
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	s := reporttest.MixedRun(t, nil)
	r := report.Of(s.S, s.Events)
	if r.Status != "failed" || r.ExitCode != 1 || r.Resume != "wavex resume" || r.WorkTime != 220*time.Second {
		t.Errorf("%s %d %q %s", r.Status, r.ExitCode, r.Resume, r.WorkTime)
	}
	two := r.Tasks[1]
	if h := two.History; len(h) != 2 || len(h[0].Counsel) != 1 || h[1].Why != "retry" || !h[1].Advised {
		t.Errorf("the history of %s: %+v", two.ID, two.History)
	}
	var cost budget.USD
	for _, task := range r.Tasks {
		spent := task.CounselCost
		for _, a := range task.History {
			spent += a.End.Result.Cost
		}
		if spent != task.Cost {
			t.Errorf("%s cost %s, its attempts and panels %s", task.ID, task.Cost, spent)
		}
		cost += task.Cost
	}
	if cost != r.Cost {
		t.Errorf("the run cost %s, its tasks %s", r.Cost, cost)
	}
	if six := r.Tasks[5]; six.Root != "T-005" || six.Reason != "blocked by T-005" || six.Attempts != 0 {
		t.Errorf("%+v", six)
	}

	short := report.Of(s.S, nil) // without the journal: the last attempt only
	if h := short.Tasks[1].History; len(h) != 1 || h[0].Attempt != 2 {
		t.Errorf("%+v", h)
	}
}

// A journal holds several runs; a report is about the last one.
func TestOfForgetsEarlierRuns(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil)
	s.StartRun(reporttest.Config())
	r := report.Of(s.S, s.Events)
	if r.Status != "running" || r.Cost != 0 || !r.Ended.IsZero() || len(r.Tasks[0].History) != 0 {
		t.Errorf("%s %s %s %v", r.Status, r.Cost, r.Ended, r.Tasks[0].History)
	}
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	var exit []bool
	reporttest.CompleteRun(t, func(e event.Event, s *scheduler.State) {
		for _, c := range report.Criteria(s) {
			if c.Met != report.Complete(s) {
				t.Errorf("after %s: %s is %t, the exit signal %t", e.Body.Type(), c.Text, c.Met, report.Complete(s))
			}
		}
		exit = append(exit, report.Complete(s))
	})
	if slices.Index(exit, true) != len(exit)-1 {
		t.Errorf("the exit signal over the run: %v", exit)
	}
}

func TestTableOfManyTasks(t *testing.T) {
	t.Parallel()
	tasks := make(reporttest.Tasks, 300)
	for i := range tasks {
		tasks[i].ID, tasks[i].Subject = fmt.Sprintf("T-%03d", i+1),
			"A subject that is long enough to be cut at some point 終わり"
	}
	s := reporttest.New(t, "many", tasks).StartRun(reporttest.Config()).StartWave(1)
	s.StartAttempt("T-001", 0).EndAttempt("T-001", reporttest.PassingResult(1), event.Completed, nil)
	r := report.Of(s.S, s.Events)
	got := r.Table(70, false)
	hidden := "1 completed task, 99 pending tasks not shown; wavex report --all shows each"
	if strings.Contains(got, "T-001") || !strings.Contains(got, "("+hidden+")") ||
		!strings.Contains(got, "T-201") || strings.Contains(got, "T-202") {
		t.Error(got)
	}
	for line := range strings.Lines(got) {
		if w := textfmt.Width(strings.TrimSuffix(line, "\n")); strings.HasPrefix(line, "T-") && w > 70 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	if md := r.Markdown(); strings.Contains(md, "T\\-001") ||
		!strings.Contains(md, hidden) {
		t.Error("the table in Markdown is not bounded")
	}
}

// Tables have a row for a list in its place, and rows for those of its tasks that are not done and have begun. A brief
// summary has the same table.
func TestTableOfLists(t *testing.T) {
	t.Parallel()
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprint(i)
	}
	list, err := json.Marshal(items)
	testrepo.Must(t, err)
	s := reporttest.Parse(t, `{"tasks":[{"id":"own","subject":"Do it","verify":["true"]},
		{"id":"g","subject":"Do ${item}","verify":["true"],"foreach":{"items":`+string(list)+`,"maxItems":1000}},
		{"id":"end","subject":"End it","verify":["true"],"blockedBy":["g"]}]}`)
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("g[0]", 0).StartAttempt("g[1]", 1).StartAttempt("g[2]", 2)
	s.EndAttempt("g[0]", reporttest.PassingResult(10_000), event.Completed, nil)
	s.EndAttempt("g[1]", reporttest.FailingResult(20_000), event.Failed, nil)
	r := report.Of(s.S, s.Events)
	table := r.Table(0, true)
	var ids []string
	for line := range strings.Lines(table[:strings.Index(table, "\n(")]) {
		ids = append(ids, strings.Fields(line)[0])
	}
	if want := []string{"task", "own", "g", "g[1]", "g[2]", "end"}; !slices.Equal(ids, want) {
		t.Errorf("rows of %v, want %v", ids, want)
	}
	for _, want := range []string{"1000 items, 1 running, 1 failed, 997 waiting\n",
		"\n(998 tasks of lists not shown; wavex report --all shows each)\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	r.ShowAll()
	all, _, _ := strings.Cut(r.Table(0, true), "\n\n")
	if strings.Count(all, "\ng[") != 1000 || strings.Contains(all, "not shown") ||
		strings.Index(all, "\ng  ") > strings.Index(all, "\ng[0]") {
		t.Errorf("with all:\n%s", all[:1000])
	}
}

func TestMarkdownFence(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "a|b", reporttest.Tasks{{ID: "T-001",
		Subject: "x | y"}}).StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0)
	bad := reporttest.FailingResult(1)
	bad.Checks[0].Output = "```\n</details><script>"
	s.EndAttempt("T-001", bad, event.Failed, nil)
	r := report.Of(s.S, s.Events)
	md := r.Markdown()
	if !strings.Contains(md, "\n````text\n") || strings.Count(md, "````") != 2 || !strings.Contains(md, `| x \| y |`) {
		t.Error(md)
	}
}

func TestJSONIsVersioned(t *testing.T) {
	t.Parallel()
	s := reporttest.PausedRun(t, nil)
	r := report.Of(s.S, s.Events)
	b, err := r.JSON()
	testrepo.Must(t, err)
	var got map[string]any
	testrepo.Must(t, json.Unmarshal(b, &got))
	if got["v"] != 1.0 || got["budget_usd"] != nil || got["max_iterations"] != 11.0 || got["status"] != "running" {
		t.Errorf("%v", got)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-1: "0s", 0: "0s", 440 * time.Millisecond: "400ms", 1500 * time.Millisecond: "1.5s", 12400 * time.Millisecond: "12s",
		59600 * time.Millisecond: "1m00s", 192 * time.Second: "3m12s", 3599700 * time.Millisecond: "1h00m",
		7500 * time.Second: "2h05m",
	} {
		if got := report.FormatDuration(d); got != want {
			t.Errorf("Took(%d) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 12_345: "12.3k", 999_949: "999.9k",
		999_950: "1M", 4_500_000: "4.5M"} {
		if got := report.FormatTokens(n); got != want {
			t.Errorf("Tokens(%d) = %q, want %q", n, got, want)
		}
	}
	l := budget.Limits{USD: 25 * budget.Dollar, Iterations: 10}
	if m, i := report.FormatSpent(2_500_000, l), report.FormatIterations(3, l); m != "$2.50/$25" || i != "3/10" {
		t.Errorf("%s %s", m, i)
	}
	l = budget.Limits{NoUSD: true, NoIterations: true}
	if m, i := report.FormatSpent(0, l), report.FormatIterations(3, l); m != "$0.00/none" || i != "3/unlimited" {
		t.Errorf("%s %s", m, i)
	}
}

func TestFormatSpent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spent, limit budget.USD
		want         string
	}{
		{122_400, 120_000, "$0.1224/$0.12"}, {120_000, 120_000, "$0.12/$0.12"}, {24_998_000, 25_000_000, "$24.9980/$25"},
		{2_500_000, 25_000_000, "$2.50/$25"}, {0, 1_000, "$0.00/$0.001"}, {900, 1_000, "$0.0009/$0.001"},
	} {
		if got := report.FormatSpent(c.spent, budget.Limits{USD: c.limit}); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.spent, c.limit, got, c.want)
		}
	}
}

// An attempt whose work was sent back by an integration says so, and an open one is not in the history yet.
func TestHistoryOfAReopenedTask(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "apart", reporttest.Tasks{{ID: "T-001"}})
	c := reporttest.Config()
	c.Isolation = event.Isolated
	s.StartRun(c).StartWave(1).StartAttempt("T-001", 0).EndAttempt("T-001", reporttest.PassingResult(10_000),
		event.Verified, nil)
	s.Apply(event.IntegrationStarted{Wave: 1, Tasks: []string{"T-001"}})
	s.Apply(event.IntegrationEnded{Wave: 1, Reopened: []event.Reopened{{Task: "T-001", Kind: "conflict",
		Status: event.Pending, Result: runner.Result{Outcome: runner.Wrong, Reason: "it.go"}}}}).StartAttempt("T-001", 0)
	r := report.Of(s.S, s.Events)
	h := r.Tasks[0].History
	if len(h) != 1 || h[0].Reopened.Note() != "sent back by the integration (conflict): it.go" || h[0].Why != "first" {
		t.Errorf("%+v", h)
	}
}
