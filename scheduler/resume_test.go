package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// sessions runs one session after the other over one journal.
type sessions struct {
	plan   string
	config event.Config
	events []event.Event
}

// run runs the next session, with more iterations than the run has made.
func (s *sessions) run(t *testing.T, iterations int, results map[string][]runner.Result) (starts []string,
	end event.RunEnded) {
	t.Helper()
	b := newFixture(t, mustPlan(t, s.plan), s.config)
	testrepo.Must(t, b.State.Replay(s.events))
	c := s.config
	c.Limits.Iterations = b.State.Ledger.Iterations() + iterations
	b.journal.events, b.runner.results = slices.Clone(s.events), results
	if b.StartEvent = event.Body(event.RunStarted{Config: c}); len(s.events) > 0 {
		b.StartEvent = event.RunResumed{Config: c}
	}
	end = b.run(t)
	for _, started := range of[event.AttemptStarted](&memJournal{events: b.journal.events[len(s.events):]}) {
		starts = append(starts, started.Task)
	}
	s.events = b.journal.events
	return starts, end
}

// starving returns a plan with a task that never passes, a chain of eight steps, and a task that waits for the first.
func starving() string {
	tasks := []string{task("bad"), task("c1"), task("after", "bad")}
	for n := 2; n <= 8; n++ {
		tasks = append(tasks, task(fmt.Sprint("c", n), fmt.Sprint("c", n-1)))
	}
	return planText(tasks...)
}

func resumeConfig(schedule event.Schedule, isolation event.Isolation) event.Config {
	c := event.DefaultConfig()
	c.Run, c.Agent, c.Schedule, c.Isolation, c.Parallel = "r", "fake", schedule, isolation, 4
	c.Limits = budget.Limits{USD: 25 * budget.Dollar}
	return c
}

// A resume spends on what moves: a task that failed in an earlier session is tried when the rest of the plan is done,
// and a stopped or failed one never again.
func TestResumeSpendsOnWhatMoves(t *testing.T) {
	t.Parallel()
	same := func(int) runner.Result { return wrong("no") }
	for _, tc := range []struct {
		name     string
		first    int // iterations of the first session
		attempts int // at bad, in all sessions
		exit     event.ExitCode
		fails    func(n int) runner.Result
	}{
		{"stopped at once", 5, 3, 4, same},
		{"tried once", 2, 3, 4, same},
		{"tried twice", 3, 3, 4, same},
		{"without retries left", 9, 4, 1, func(n int) runner.Result { return wrong(fmt.Sprint(n)) }},
		{"with retries left", 2, 4, 1, func(n int) runner.Result { return wrong(fmt.Sprint(n)) }},
	} {
		for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
			s, results := &sessions{plan: starving(), config: resumeConfig(schedule, "")}, map[string][]runner.Result{}
			for n := range 4 {
				results["bad"] = append(results["bad"], tc.fails(n))
			}
			all, end := s.run(t, tc.first, results)
			if !slices.Contains(all, "bad") {
				t.Fatalf("%s, %s: the first session ran %v", tc.name, schedule, all)
			}
			var resumed []string
			for n := range 5 {
				var starts []string
				starts, end = s.run(t, 3, results)
				if resumed = append(resumed, starts...); n == 4 && len(starts) > 0 {
					t.Errorf("%s, %s: the fifth resume ran %v", tc.name, schedule, starts)
				}
			}
			if k := slices.Index(resumed, "bad"); k >= 0 && k < slices.Index(resumed, "c8") {
				t.Errorf("%s, %s: the resumes ran %v", tc.name, schedule, resumed)
			}
			all = append(all, resumed...)
			attempts := len(slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id != "bad" }))
			if attempts != tc.attempts || end.ExitCode != tc.exit ||
				end.Tasks != (event.Counts{Completed: 8, Failed: 1, Blocked: 1}) || end.Iterations != 8+attempts {
				t.Errorf("%s, %s: %d attempts at bad, ended as %+v", tc.name, schedule, attempts, end)
			}

			edited := *s
			edited.plan = strings.Replace(s.plan, `do bad`, `do better`, 1)
			if edited.plan == s.plan {
				t.Fatal("the plan is not edited")
			}
			if starts, end := edited.run(t, 9, nil); fmt.Sprint(starts) != "[bad after]" || end.Status != event.RunComplete {
				t.Errorf("%s, %s: after an edit ran %v, ended as %+v", tc.name, schedule, starts, end)
			}
			s.config.Only = []string{"bad"}
			if starts, end := s.run(t, 9, nil); fmt.Sprint(starts) != "[bad]" || end.ExitCode != 0 {
				t.Errorf("%s, %s: the retry ran %v, ended as %+v", tc.name, schedule, starts, end)
			}
		}
	}
}

// A limit that failed a task can be raised: it goes on where it was, after the tasks that were never tried.
func TestResumeAfterAHigherLimit(t *testing.T) {
	t.Parallel()
	s := &sessions{plan: planText(task("bad"), task("c1"), task("c2")), config: resumeConfig(event.Waves, "")}
	s.config.MaxRetries, s.config.Parallel = 1, 1
	results := map[string][]runner.Result{"bad": {wrong("1"), wrong("2"), wrong("3"), {Outcome: runner.Done}}}
	if starts, end := s.run(t, 2, results); fmt.Sprint(starts) != "[bad bad]" || end.ExitCode != 3 {
		t.Fatalf("the first session ran %v, ended as %+v", starts, end)
	}
	s.config.MaxRetries = 2
	if starts, end := s.run(t, 9, results); fmt.Sprint(starts) != "[c1 c2 bad]" || end.ExitCode != 1 {
		t.Errorf("with one retry more it ran %v, ended as %+v", starts, end)
	}
	s.config.MaxRetries = 3
	if starts, end := s.run(t, 9, results); fmt.Sprint(starts) != "[bad]" || end.Status != event.RunComplete {
		t.Errorf("with another retry it ran %v, ended as %+v", starts, end)
	}

	dear := func(own string) string {
		return planText(strings.Replace(task("dear"), `"id"`, `"budgetUSD":`+own+`,"id"`, 1), task("c"))
	}
	s = &sessions{plan: dear("0.5"), config: resumeConfig(event.Waves, "")}
	dearResults := []runner.Result{wrong("no"), {Outcome: runner.OverCap, Cost: budget.Dollar / 2}, {Outcome: runner.Done}}
	results = map[string][]runner.Result{"dear": dearResults}
	if starts, end := s.run(t, 9, results); len(starts) != 3 || end.ExitCode != 1 {
		t.Fatalf("the budget of the task is spent: ran %v, ended as %+v", starts, end)
	}
	if starts, end := s.run(t, 9, results); len(starts) != 0 || end.ExitCode != 1 {
		t.Errorf("with the same budget it ran %v, ended as %+v", starts, end)
	}
	s.plan = dear("5")
	if starts, end := s.run(t, 9, results); fmt.Sprint(starts) != "[dear]" || end.Status != event.RunComplete {
		t.Errorf("with a higher budget it ran %v, ended as %+v", starts, end)
	}
}

// Two failed tasks block one: it waits until the last of them is completed.
func TestResumeBehindTwoFailedTasks(t *testing.T) {
	t.Parallel()
	s := &sessions{plan: planText(task("a"), task("b"), task("after", "a", "b")), config: resumeConfig(event.Eager, "")}
	s.config.MaxRetries = 0
	s.run(t, 9, map[string][]runner.Result{"a": {wrong("a")}, "b": {wrong("b")}})
	for _, c := range []struct {
		only   string
		starts string
		tasks  event.Counts
	}{{"a", "[a]", event.Counts{Completed: 1, Failed: 1, Blocked: 1}}, {"", "[]",
		event.Counts{Completed: 1, Failed: 1, Blocked: 1}}, {"b", "[b]", event.Counts{Completed: 2, Pending: 1}},
		{"", "[after]", event.Counts{Completed: 3}}} {
		if s.config.Only = nil; c.only != "" {
			s.config.Only = []string{c.only}
		}
		if starts, end := s.run(t, 9, nil); fmt.Sprint(starts) != c.starts || end.Tasks != c.tasks {
			t.Errorf("--only %s ran %v, ended as %+v", c.only, starts, end)
		}
	}
}

// A resume never tries a task that failed for good, whatever the earlier sessions did. Other failed tasks are tried
// after the tasks that never failed and do not wait for them.
func TestResumesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var tasks []string
		for n := range rapid.IntRange(2, 9).Draw(rt, "tasks") {
			var blockers []string
			for k := range n {
				if rapid.IntRange(0, 3).Draw(rt, "edge") == 0 {
					blockers = append(blockers, fmt.Sprint("t", k))
				}
			}
			tasks = append(tasks, task(fmt.Sprint("t", n), blockers...))
		}
		s := &sessions{plan: planText(tasks...), config: resumeConfig(
			rapid.SampledFrom([]event.Schedule{event.Waves, event.Eager}).Draw(rt, "schedule"), "")}
		s.config.Counsel = rapid.Bool().Draw(rt, "counsel")
		results := map[string][]runner.Result{}
		for n := range tasks {
			for range rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(rt, "failures") {
				id := fmt.Sprint("t", n)
				results[id] = append(results[id], wrong(id+fmt.Sprint(rapid.IntRange(0, 1).Draw(rt, "error"))))
			}
		}
		for id := range results {
			results[id] = append(results[id], runner.Result{Outcome: runner.Done, Cost: 10, Turns: 1})
		}
		s.run(t, rapid.IntRange(1, 9).Draw(rt, "iterations"), results)
		for range 4 {
			before := replayed(rt, mustPlan(t, s.plan), s.events)
			from := len(s.events)
			_, end := s.run(t, rapid.IntRange(1, 9).Draw(rt, "iterations"), results)
			checkResume(rt, before, s.events[from:])
			if end.Status == event.RunFailed && end.Tasks.Failed == 0 {
				rt.Fatalf("ended as %+v", end)
			}
		}
	})
}

// checkResume fails if a session that resumes a state breaks the rules.
func checkResume(t *rapid.T, s *State, events []event.Event) {
	var late []bool
	for _, e := range events {
		if b, ok := e.Body.(event.AttemptStarted); ok {
			i, _ := s.Index(b.Task)
			if s.isFailed(i) {
				t.Fatalf("%s is %s, and a resume tried it", b.Task, s.Tasks[i].Status)
			}
			for j := range s.Tasks {
				if late[i] && !late[j] && !s.Tasks[j].Status.Finished() {
					t.Fatalf("%s failed before, and a resume tried it before %s is done", b.Task, s.Plan.Tasks[j].ID)
				}
			}
		}
		if err := s.apply(e); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(event.RunResumed); ok {
			late = slices.Clone(s.deferral.last)
			late = append(late, make([]bool, len(s.Tasks)-len(late))...)
		}
	}
}
