package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// killedLists has a list of a command, one of an agent's output, whose items have steps, and one of the outputs of a
// list.
func killedLists() string {
	return planText(`{"id":"lines","foreach":{"command":"list"},"subject":"Read ${item}","verify":["true"]}`,
		`{"id":"find","subject":"Find","verify":["true"],"output":{"type":"object"}}`,
		`{"id":"fix","foreach":{"items":"${tasks.find.output.items}","parallel":2},"steps":[
			{"name":"look","subject":"Look at ${item}","verify":["true"],"output":{"type":"object"}},
			{"name":"mend","command":"echo ${steps.look.output.next[0]}","output":{"type":"object"}}]}`,
		`{"id":"each","foreach":"${tasks.fix.outputs[*].next[*]}","subject":"Each ${item}","verify":["true"]}`,
		`{"id":"report","command":"cat ${tasks.fix.outputs}","blockedBy":["each","lines"]}`)
}

// listRunner makes the attempts at killedLists. seed decides in which of them the turn is recorded before its checks,
// and which checks pass beside other attempts.
type listRunner struct{ seed uint64 }

func (r listRunner) Attempt(_ context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%d", r.seed, req.Task, req.Attempt)
	draw := h.Sum64()
	res := runner.Result{Outcome: runner.Done, Session: req.Session, Turns: 1, Cost: 1000, Priced: "result"}
	if req.Output != nil {
		res.Output = &runner.Output{Value: listOutputs(req.Task)}
	}
	switch {
	case req.Turn != nil:
		res = req.Turn.Result
		res.Cost, res.Priced, res.Outcome = 0, "", runner.Done
	case req.Command != "":
		res.Cost, res.Priced = 0, ""
		return res
	case draw%3 > 0:
		if err := hooks.TurnEnded(runner.Turn{Result: res}); err != nil {
			res.Outcome = runner.Interrupted
			return res
		}
	}
	res.Beside = draw%2 == 0
	return res
}

// cutOffAttempts is the Recovery of attempts at killedLists: every second one has a conversation to continue.
type cutOffAttempts struct{ atCap }

func (cutOffAttempts) Attempt(e event.AttemptStarted) runner.Result {
	res := runner.Result{Outcome: runner.Interrupted, Reason: "killed", Contained: true}
	if e.Attempt%2 == 1 && e.Cap > 0 {
		res.Cost, res.Priced, res.Session, res.Turns = 100, "stream", e.Session, 1
	}
	return res
}

// listOutputs returns the output of a task of killedLists.
func listOutputs(task string) json.RawMessage {
	switch {
	case task == "lines.list":
		return json.RawMessage(`["a","b","c"]`)
	case task == "find":
		return json.RawMessage(`{"items":["x","y","z"]}`)
	}
	item, _, _ := strings.Cut(strings.TrimPrefix(task, "fix["), "]")
	return json.RawMessage(fmt.Sprintf(`{"next":["%s-1","%s-2"]}`, item, item))
}

// Whenever sessions of a run with lists are killed, no item is completed twice, none is lost, no list is added or
// made again, no turn that was recorded is made again, and no user starts before its output is there.
func TestListsKilledAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p, j := mustPlan(t, killedLists()), &memJournal{}
		cfg := testConfig()
		cfg.Review, cfg.AcceptAssumptions, cfg.Parallel = event.ReviewOff, true, rapid.IntRange(1, 4).Draw(rt, "parallel")
		cfg.Schedule = rapid.SampledFrom([]event.Schedule{event.Waves, event.Eager}).Draw(rt, "schedule")
		cfg.Limits = budget.Limits{USD: 5 * budget.Dollar, Iterations: 50}
		var start event.Body = event.RunStarted{Config: cfg}
		for session := 0; ; session++ {
			s, before := NewState(p), len(j.events)
			if err := s.Replay(j.events); err != nil {
				rt.Fatal(err)
			}
			end := runKilledLists(rt, s, j, rapid.Uint64().Draw(rt, "seed"), start)
			if end.Status != event.RunComplete {
				rt.Fatalf("session %d: %+v", session, end)
			}
			again := replayed(rt, p, j.events)
			if live, replayed := listState(s), listState(again); live != replayed {
				rt.Fatalf("session %d: a replay differs:\n%s\nwant\n%s", session, replayed, live)
			}
			if session == 4 || rapid.IntRange(0, 3).Draw(rt, "kill") == 0 {
				break
			}
			cut := rapid.IntRange(before+1, len(j.events)-1).Draw(rt, "cut")
			j.events, start = j.events[:cut], event.RunResumed{Config: cfg, Nonce: fmt.Sprint(session)}
		}
		checkKilledLists(rt, j.events)
		checkOrder(rt, j.events, p)
	})
}

// listState returns what views show of a run with lists.
func listState(s *State) string {
	out := fmt.Sprintln(s.Figures.tallies, s.queue.members, s.Waves, s.Counts, s.Plan.Keys(), s.Ledger.Spent(),
		s.Ledger.Iterations())
	for k := range s.Plan.Groups {
		p := &s.Plan.Groups[k]
		out += fmt.Sprintln(p.ID, p.Known, p.Tasks, s.GroupTally(p), s.groups[p.ID].running)
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		out += fmt.Sprintln(s.Plan.Tasks[i].ID, t.Status, t.Wave, t.Key, t.Attempts, t.Tries, t.Cost, s.Output(i))
	}
	return out
}

// runKilledLists runs or resumes killedLists to its end.
func runKilledLists(t *rapid.T, s *State, j *memJournal, seed uint64, start event.Body) event.RunEnded {
	l := &Loop{State: s, StartEvent: start, Journal: j, Runner: listRunner{seed}, Items: items, Now: time.Now,
		Jitter: func() float64 { return 0 }, Verify: verifyFailing(),
		Recover: func(context.Context) Recovery { return cutOffAttempts{} },
		Request: func(s *State, i int, e event.AttemptStarted) (runner.Request, error) {
			req := runner.Request{Task: e.Task, Attempt: e.Attempt, Session: e.Session, Command: s.Plan.Tasks[i].Command}
			if s.Plan.Tasks[i].Output != nil {
				req.Output = &runner.OutputSpec{}
			}
			for _, id := range s.Plan.Tasks[i].Uses() {
				if _, _, err := s.Outputs(id); err != nil {
					return req, err
				}
			}
			return req, nil
		}}
	end, err := l.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// checkKilledLists fails unless each task of killedLists was completed once, and each list was added once.
func checkKilledLists(t *rapid.T, events []event.Event) {
	completed, turns, added := map[string]int{}, map[string]int{}, map[string]int{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.ItemsAdded:
			added[b.Group]++
		case event.TurnEnded:
			turns[b.Task]++
		case event.AttemptStarted:
			if completed[b.Task] > 0 {
				t.Errorf("record %d starts %s, which is completed", e.Seq, b.Task)
			}
		case event.AttemptEnded:
			if b.Status == event.Completed {
				completed[b.Task]++
			}
		case event.IntegrationEnded:
			for _, id := range b.Completed {
				completed[id]++
			}
		}
	}
	want := []string{"each[x-1]", "each[x-2]", "each[y-1]", "each[y-2]", "each[z-1]", "each[z-2]", "find",
		"fix[x].look", "fix[x].mend", "fix[y].look", "fix[y].mend", "fix[z].look", "fix[z].mend",
		"lines.list", "lines[a]", "lines[b]", "lines[c]", "report"}
	var got []string
	for id, n := range completed {
		if got = append(got, id); n != 1 || turns[id] > 1 {
			t.Errorf("%s was completed %d times, after %d turns", id, n, turns[id])
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("completed are %q", got)
	}
	if len(added) != 3 || added["lines"] != 1 || added["fix"] != 1 || added["each"] != 1 {
		t.Errorf("lists were added %v times", added)
	}
}
