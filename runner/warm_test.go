//go:build unix

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/internal/proc"
)

const (
	secondID = "22222222-2222-4222-8222-222222222222"
	firstID  = "11111111-1111-4111-8111-111111111111"
)

// The lines of a process that serves several conversations.
var (
	readied  = `{"type":"control_response","response":{"subtype":"success","request_id":"wavex-ready"}}`
	unready  = `{"type":"control_response","response":{"subtype":"error","request_id":"wavex-ready","error":"Unsupported control request subtype"}}`
	rested   = `{"type":"control_response","response":{"subtype":"success","request_id":"wavex-rest"}}`
	clearing = with(initLine, `"tools":["Bash"]`, `"tools":["Bash"],"slash_commands":["run","clear"]`)
	isClear  = with(resultGood, `"num_turns":2`, `"num_turns":0`, `"result":"all done"`, `"result":""`, firstID, secondID)
	again    = with(resultGood, firstID, secondID, `0.00625,"usage"`, `0.01,"usage"`, `"inputTokens":1000,"outputTokens":50`, `"inputTokens":1500,"outputTokens":60`)
)

// serves is what a process says in a conversation that is well, from ready to rest.
func serves(init, result string) []step {
	return []step{{Await: readyID}, {Print: readied}, {Await: "do it"}, {Print: init}, {Print: result}, {Await: restID}, {Print: rested}}
}

// twice is a process for two conversations, the second in a session of its own.
func twice() []step {
	second := serves(with(clearing, firstID, secondID), again)
	steps := append(serves(clearing, resultGood), second[:2]...)
	return append(append(append(steps, step{Await: clearCommand}, step{Print: isClear}), second[2:]...), step{EOF: true})
}

// pooled is a place for attempts whose processes wait in a pool of n.
func pooled(t *testing.T, n int, steps []step) (*bench, func(task string) Request) {
	t.Helper()
	b := setup(t, script{Steps: steps})
	b.agent.Warm = NewWarm(n, 0)
	t.Cleanup(b.agent.Warm.Close)
	return b, func(task string) Request {
		req := b.req
		req.Task, req.LogDir = task, filepath.Join(b.logs, task)
		return req
	}
}

func (w *Warm) waiting() []*cli {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*cli(nil), w.idle...)
}

// One process serves two attempts: each has its own session, cost, permissions and variables, and
// the files of each tell what it cost.
func TestOneProcessServesTwo(t *testing.T) {
	t.Parallel()
	heard := filepath.Join(t.TempDir(), "heard")
	steps := twice()
	b, ask := pooled(t, 1, append(steps[:len(steps)-1:len(steps)-1], step{Dump: heard}, step{EOF: true}))
	one, two := ask("T-001"), ask("T-002")
	one.Checks, two.Checks = []plan.Check{{Run: "true one"}}, []plan.Check{{Run: "true two"}}
	first := b.agent.Attempt(t.Context(), one)
	if w := b.agent.Warm.waiting(); first.Outcome != Done || first.Cost != 6250 || first.Session != firstID || !first.Contained || len(w) != 1 {
		t.Fatalf("first = %+v, %d wait", first, len(w))
	}
	pid := b.agent.Warm.waiting()[0].p.Pid()
	second := b.agent.Attempt(t.Context(), two)
	if second.Outcome != Done || second.Cost != 3750 || second.Priced != "result" || second.Session != secondID || second.Fresh {
		t.Fatalf("second = %+v", second)
	}
	if want := (Usage{Input: 500, Output: 10}); second.Usage != want {
		t.Errorf("usage of the second = %+v, want %+v", second.Usage, want)
	}
	if w := b.agent.Warm.waiting(); len(w) != 1 || w[0].p.Pid() != pid {
		t.Errorf("%d wait, want the same process", len(w))
	}
	for req, want := range map[string]budget.USD{one.LogDir: first.Cost, two.LogDir: second.Cost} {
		if s, err := Recall(req, flat{}, 0); err != nil || s.Cost != want || s.Priced != "result" {
			t.Errorf("recalled from %s: %+v, %v; want %s", req, s, err, want)
		}
	}
	b.agent.Warm.Close()
	d := readDump(t, heard)
	lines := strings.Split(strings.TrimSpace(d.Heard), "\n")
	if len(lines) != 7 {
		t.Fatalf("heard %d lines:\n%s", len(lines), d.Heard)
	}
	for i, parts := range [][]string{
		{readyID, "Bash(true one)", `"WAVEX_TASK":"T-001"`, b.req.Run + `/T-001/1"`}, {"do it"}, {restID, `"allow":[]`},
		{readyID, "Bash(true two)", `"WAVEX_TASK":"T-002"`, b.req.Run + `/T-002/1"`}, {clearCommand}, {"do it"}, {restID},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d is %s, want %q in it", i, lines[i], part)
			}
		}
	}
	if args := strings.Join(d.Args, " "); strings.Contains(args, "--settings") {
		t.Errorf("rules of one attempt are for all of them: %s", args)
	}
}

// A retry in the same session goes on where its process stands.
func TestRetryKeepsItsProcess(t *testing.T) {
	t.Parallel()
	steps := append(serves(clearing, resultGood), serves(clearing, with(again, secondID, firstID))...)
	b, ask := pooled(t, 2, append(steps, step{EOF: true}))
	first := b.agent.Attempt(t.Context(), ask("T-001"))
	retry := ask("T-001")
	retry.Attempt, retry.Resume, retry.Session, retry.LogDir = 2, true, first.Session, filepath.Join(b.logs, "retry")
	if r := b.agent.Attempt(t.Context(), retry); r.Outcome != Done || r.Cost != 3750 || r.Session != firstID || r.Fresh {
		t.Errorf("%+v", r)
	}
}

// What makes a process unfit for another attempt: it is ended, or not taken, and the next
// attempt has a process of its own.
func TestProcessesThatDoNotServeTwice(t *testing.T) {
	t.Parallel()
	orphan := filepath.Join(t.TempDir(), "orphan")
	working := append(serves(clearing, resultGood)[:5], step{Print: textLine}, step{Await: restID}, step{Print: rested}, step{Print: resultGood}, step{Exit: code(0)})
	for _, tc := range []struct {
		name   string
		steps  []step
		second func(*Request)
		after  func(*bench) // between the attempts
		served int          // processes that were kept after the first attempt
	}{
		{"it has left a process", append([]step{{Orphan: orphan}}, twice()...), nil, nil, 0},
		{"it works on", working, nil, nil, 0},
		{"its turn failed", append(serves(clearing, resultBad)[:5], step{Exit: code(1)}), nil, nil, 0},
		{"it cannot begin anew", append(serves(initLine, resultGood), step{EOF: true}), nil, nil, 1},
		{"another model is wanted", twice(), func(r *Request) { r.Settings.Model = "other" }, nil, 1},
		{"other variables are given", twice(), func(r *Request) { r.Env = map[string]string{"MORE": "1"} }, nil, 1},
		{"another directory is wanted", twice(), func(r *Request) { r.Dir = filepath.Dir(r.Dir) }, nil, 1},
		{"agents were defined meanwhile", twice(), func(r *Request) {
			must(os.MkdirAll(filepath.Join(r.Dir, ".claude", "agents"), 0o755))
			must(os.WriteFile(filepath.Join(r.Dir, ".claude", "agents", "new.md"), []byte("new"), 0o644))
		}, nil, 1},
		{"it may spend more than the attempt", twice(), func(r *Request) { r.Cap = budget.Dollar }, nil, 1},
		{"it died", append(serves(clearing, resultGood), step{EOF: true}), nil, func(b *bench) {
			for _, c := range b.agent.Warm.waiting() {
				_ = c.p.Stdin.Close()
				<-c.p.Done()
			}
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b, ask := pooled(t, 3, tc.steps)
			b.agent.Attempt(t.Context(), ask("T-001"))
			was := b.agent.Warm.waiting()
			if len(was) != tc.served {
				t.Fatalf("%d processes wait, want %d", len(was), tc.served)
			}
			if tc.after != nil {
				tc.after(b)
			}
			req := ask("T-002")
			if tc.second != nil {
				tc.second(&req)
			}
			b.agent.Attempt(t.Context(), req)
			for _, c := range was {
				if c.left.served > 1 {
					t.Error("it served both")
				}
			}
			if data, err := os.ReadFile(filepath.Join(req.LogDir, streamFile)); err != nil || strings.Contains(string(data), `"type":"wavex"`) {
				t.Errorf("the second attempt's stream: %s, %v", data, err)
			}
		})
	}
}

// A CLI that does not do what comes before the prompt has the attempt in the plain way, and
// what it spent instead is not lost.
func TestRefusals(t *testing.T) {
	t.Parallel()
	t.Run("no settings", func(t *testing.T) {
		t.Parallel()
		b := setup(t, script{Steps: []step{{Await: readyID}, {Print: unready}, {EOF: true}}, With: map[string][]step{"--settings": inPlace()}})
		b.agent.Warm = NewWarm(2, 0)
		defer b.agent.Warm.Close()
		b.req.Checks = []plan.Check{{Run: "true"}}
		if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || r.Cost != 10_000 || b.agent.Warm.wants() {
			t.Errorf("%+v, and the pool goes on: %v", r, b.agent.Warm.wants())
		}
	})
	t.Run("the model is asked to clear", func(t *testing.T) {
		t.Parallel()
		asked := with(isClear, `"num_turns":0`, `"num_turns":1`, `0.00625,"usage"`, `0.007,"usage"`)
		b := setup(t, script{Steps: append(serves(clearing, resultGood), step{Await: readyID}, step{Print: readied}, step{Await: clearCommand}, step{Print: asked}, step{EOF: true}),
			With: map[string][]step{"--settings": inPlace()}})
		b.agent.Warm = NewWarm(2, 0)
		defer b.agent.Warm.Close()
		if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || len(b.agent.Warm.waiting()) != 1 {
			t.Fatalf("first: %+v", r)
		}
		b.req.Checks = []plan.Check{{Run: "true"}}
		b.req.LogDir = filepath.Join(b.logs, "second")
		if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || r.Cost != 10_000+750 {
			t.Errorf("second: %+v, want the cost of both processes", r)
		}
	})
}

// What a process has left alive may give it another turn after its result: that is the
// attempt's, with its cost.
func TestTurnAfterTheResult(t *testing.T) {
	t.Parallel()
	orphan := filepath.Join(t.TempDir(), "orphan")
	steps := append([]step{{Orphan: orphan}}, serves(clearing, resultGood)...)
	b, ask := pooled(t, 1, append(steps, step{EOF: true}, step{Print: textLine}, step{Print: with(again, secondID, firstID)}))
	req := ask("T-001")
	if r := b.agent.Attempt(t.Context(), req); r.Outcome != Done || r.Cost != 10_000 || len(b.agent.Warm.waiting()) != 0 {
		t.Errorf("%+v", r)
	}
	if s, err := Recall(req.LogDir, flat{}, 0); err != nil || s.Cost != 10_000 {
		t.Errorf("recalled: %+v, %v", s, err)
	}
}

// handOver is a place where a process has served one attempt, does the steps after that and
// waits. The next attempt's request is the bench's; in the plain way it would get others.
func handOver(t *testing.T, after, plain []step) *bench {
	t.Helper()
	b := setup(t, script{Steps: append(serves(clearing, resultGood), after...), With: map[string][]step{"--settings": inPlace()}})
	b.agent.Warm = NewWarm(1, 0)
	t.Cleanup(b.agent.Warm.Close)
	if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || len(b.agent.Warm.waiting()) != 1 {
		t.Fatalf("first: %+v", r)
	}
	b.req.Checks = []plan.Check{{Run: "true"}}
	b.req.LogDir = filepath.Join(b.logs, "second")
	return b
}

// inPlace is a process in the plain way that does the work.
func inPlace() []step {
	return []step{{Await: "do it"}, {Print: with(initLine, firstID, secondID)}, {Print: again}, {EOF: true}}
}

// A process that waits and does not answer any more costs a moment, not the attempt.
func TestDeafProcess(t *testing.T) {
	t.Parallel()
	b := handOver(t, []step{{EOF: true}}, inPlace())
	b.agent.Warm.patience = time.Millisecond
	if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || r.Cost != 10_000 || r.Session != secondID {
		t.Errorf("second: %+v", r)
	}
}

// An attempt that is stopped before its prompt is out has spent nothing, and ends soon.
func TestStoppedBeforeThePrompt(t *testing.T) {
	t.Parallel()
	b, ask := pooled(t, 1, []step{{Await: readyID}, {Print: retryLine}, {EOF: true}})
	ctx, stop := context.WithCancelCause(t.Context())
	b.agent.Observe = func(Observation) { stop(errors.New("enough")) }
	r := b.agent.Attempt(ctx, ask("T-001"))
	if r.Outcome != Interrupted || r.Cost != 0 || !r.Contained {
		t.Errorf("%+v", r)
	}
}

// A process that dies in the hand-over has not got the prompt: another does the work.
func TestDiesInTheHandOver(t *testing.T) {
	t.Parallel()
	for name, after := range map[string][]step{
		"at once":          {{Await: readyID}, {Die: true}},
		"when it is ready": {{Await: readyID}, {Print: readied}, {Await: clearCommand}, {Exit: code(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := handOver(t, after, inPlace())
			if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || r.Cost != 10_000 || r.Session != secondID {
				t.Errorf("second: %+v", r)
			}
		})
	}
}

// An attempt that is stopped while a deaf process is dismissed begins with no other one, and
// what that one has spent counts once.
func TestStoppedInTheHandOver(t *testing.T) {
	t.Parallel()
	begun := filepath.Join(t.TempDir(), "begun")
	b := handOver(t, []step{{EOF: true}, {Print: retryLine}, {Print: again}}, []step{{Touch: begun}, {EOF: true}})
	b.agent.Warm.patience = time.Millisecond
	ctx, stop := context.WithCancelCause(t.Context())
	b.agent.Observe = func(o Observation) {
		if o.Kind == "api_retry" {
			stop(errors.New("enough"))
		}
	}
	if r := b.agent.Attempt(ctx, b.req); r.Outcome != Interrupted || r.Cost != 3750 {
		t.Errorf("second: %+v", r)
	}
	if _, err := os.Stat(begun); err == nil {
		t.Error("another process was started")
	}
}

// No more wait than may, and none when the pool is closed.
func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	b, ask := pooled(t, 1, twice())
	for i, model := range []string{"a", "b", "c"} {
		req := ask("T-00" + model)
		req.Settings.Model = model
		if r := b.agent.Attempt(t.Context(), req); r.Outcome != Done {
			t.Fatalf("%d: %+v", i, r)
		}
		if n := len(b.agent.Warm.waiting()); n != 1 {
			t.Errorf("%d wait, want 1", n)
		}
	}
	last := b.agent.Warm.waiting()[0]
	b.agent.Warm.Close()
	left, err := proc.Find(b.req.Run)
	if err == nil && len(left) > 0 || len(b.agent.Warm.waiting()) != 0 {
		t.Errorf("after Close: %v", left)
	}
	select {
	case <-last.p.Done():
	default:
		t.Error("a process outlives the pool")
	}
}

// What is expected is there before it is needed, of no attempt until one takes it, and no
// more than may wait.
func TestStartedBeforeNeeded(t *testing.T) {
	t.Parallel()
	b, ask := pooled(t, 3, append(serves(clearing, resultGood), step{EOF: true}))
	w := b.agent.Warm
	w.Expect(5)
	if r := b.agent.Attempt(t.Context(), ask("T-001")); r.Outcome != Done {
		t.Fatalf("%+v", r)
	}
	w.others.Wait()
	fresh := 0
	for _, c := range w.waiting() {
		if c.left.served == 0 {
			fresh++
		}
	}
	if n := len(w.waiting()); n != 3 || fresh < 2 {
		t.Fatalf("%d wait, %d of them new; want 3, and at most one that has served", n, fresh)
	}
	if found, err := proc.Find(b.req.Run); err == nil {
		for _, p := range found {
			if !strings.HasPrefix(p.Attempt, b.req.Run+"/~warm/") && p.Attempt != b.req.Run+"/T-001/1" {
				t.Errorf("a process that waits is of attempt %q", p.Attempt)
			}
		}
	}
	w.Expect(0)
	if r := b.agent.Attempt(t.Context(), ask("T-002")); r.Outcome != Done || r.Cost != 6250 || r.Session != firstID {
		t.Errorf("%+v", r)
	}
	data, err := os.ReadFile(filepath.Join(b.logs, "T-002", streamFile))
	if err != nil || !strings.HasPrefix(string(data), `{"type":"wavex","served":0,`) {
		t.Errorf("its stream begins with %.100s, %v", data, err)
	}
}

func TestAffords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		limit, spent, want budget.USD
		ok                 bool
	}{
		{0, 5, 0, true}, {0, 5, 100, false}, {100, 5, 0, false},
		{100, 0, 100, true}, {100, 50, 100, true}, {100, 51, 100, false}, {101, 0, 100, false}, {101, 1, 100, true}, {100, 100, 1, false},
	} {
		if c := (&cli{limit: tc.limit, left: standing{spent: tc.spent}}); c.affords(tc.want) != tc.ok {
			t.Errorf("a process with %d of %d spent, for a cap of %d: %v", tc.spent, tc.limit, tc.want, !tc.ok)
		}
	}
}
