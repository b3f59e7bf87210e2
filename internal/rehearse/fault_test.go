package rehearse

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// quick is the start of every block here: no waiting.
const quick = `{"duration":"0s","cost":0.01,`

// faults has one entry for each outcome that ends without being stopped.
var faults = map[Outcome]struct {
	more string // of the block
	args []string
	code int
	look func(t *testing.T, e agentEnd, r *fixture)
}{
	OK: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		r := e.result(t)
		want(t, "subtype", r.Subtype, "success")
		want(t, "is_error", r.IsError, false)
		want(t, "status", string(r.Status), "null")
		want(t, "cost", r.Cost, 0.01)
		if !strings.Contains(r.Result, "EXIT_SIGNAL: true") {
			t.Errorf("no good report: %q", r.Result)
		}
	}},
	Fail: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		if r := e.result(t); r.IsError || !strings.Contains(r.Result, "EXIT_SIGNAL: false") {
			t.Errorf("no failure reported: %+v", r)
		}
	}},
	Truncated: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		want(t, "result lines", len(e.of("result")), 0)
		if last := e.out[strings.LastIndex(e.out, "\n")+1:]; !strings.HasPrefix(last, `{"type":"result"`) {
			t.Errorf("the last line is not a cut result: %q", last)
		}
	}},
	Garbage: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		if _, bad := e.lines(); bad < 10 {
			t.Errorf("only %d bad lines", bad)
		}
		want(t, "is_error", e.result(t).IsError, false)
	}},
	GarbageOnly: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		_, bad := e.lines()
		want(t, "result lines", len(e.of("result")), 0)
		want(t, "noise", bad >= 10, true)
	}},
	Error400: {code: 1, look: api("400", 0, "unknown")},
	Error401: {code: 1, look: api("401", 1, "authentication_failed")},
	Error403: {code: 1, look: api("403", 0, "authentication_failed")},
	Error429: {code: 1, look: api("429", 2, "rate_limit")},
	Error500: {code: 1, look: api("500", 2, "server_error")},
	Error529: {code: 1, look: api("null", 2, "server_error")},
	Credit: {code: 1, look: func(t *testing.T, e agentEnd, r *fixture) {
		api("400", 0, "billing_error")(t, e, r)
		want(t, "text", e.result(t).Result, "Credit balance is too low")
	}},
	Refusal: {code: 1, look: api("null", 0, "invalid_request")},
	Limited: {code: 1, more: `"reset_in":"90s",`, look: func(t *testing.T, e agentEnd, r *fixture) {
		api("429", 0, "rate_limit")(t, e, r)
		ev := e.of("rate_limit_event")[0]
		want(t, "status", ev.Info.Status, "rejected")
		want(t, "resetsAt", ev.Info.ResetsAt, r.host.now().Add(90*time.Second).Unix())
		want(t, "text", e.result(t).Result, "You've hit your limit · resets 12:01pm (UTC)")
	}},
	Warning: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		want(t, "status", e.of("rate_limit_event")[0].Info.Status, "allowed_warning")
		want(t, "is_error", e.result(t).IsError, false)
	}},
	Denial: {more: `"runs":["touch made"],`, look: func(t *testing.T, e agentEnd, _ *fixture) {
		r := e.result(t)
		want(t, "is_error", r.IsError, false)
		if len(r.Denials) != 1 || r.Denials[0].Tool != "Bash" || !strings.Contains(e.out, "haven't granted it yet") {
			t.Errorf("denials: %+v", r.Denials)
		}
	}},
	OverTurns: {code: 1, more: `"turns":4,`, look: func(t *testing.T, e agentEnd, _ *fixture) {
		r := e.result(t)
		want(t, "subtype", r.Subtype, "error_max_turns")
		want(t, "errors", r.Errors[0], "Reached maximum number of turns (4)")
		want(t, "num_turns", r.Turns, 5)
		want(t, "cost", r.Cost, 0.01)
	}},
	OverCap: {code: 1, more: `"turns":4,`, args: []string{"--max-budget-usd", "0.5"},
		look: func(t *testing.T, e agentEnd, _ *fixture) {
			r := e.result(t)
			want(t, "subtype", r.Subtype, "error_max_budget_usd")
			want(t, "errors", r.Errors[0], "Reached maximum budget ($0.5)")
			want(t, "usage", r.Usage.Input+r.Usage.Output, 0)
			want(t, "modelUsage", r.Models["claude-opus-4-8"].CostUSD, 0.01)
			want(t, "cost", r.Cost, 0.01)
		}},
	Orphan:       {look: orphaned("1h0m0s false")},
	OrphanStdout: {look: orphaned("1h0m0s true")},
	Exit137: {code: 137, look: func(t *testing.T, e agentEnd, r *fixture) {
		want(t, "killed", r.died, true)
		want(t, "result lines", len(e.of("result")), 0)
		want(t, "assistant seen", len(e.of("assistant")) > 0, true)
	}},
	NoResult: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		want(t, "result lines", len(e.of("result")), 0)
		_, bad := e.lines()
		want(t, "unreadable lines", bad, 0)
	}},
	ResultTwice: {look: func(t *testing.T, e agentEnd, _ *fixture) {
		rs := e.of("result")
		want(t, "result lines", len(rs), 2)
		want(t, "cost", rs[1].Cost, rs[0].Cost)
	}},
	DiesBeforePrompt: {code: 1, look: func(t *testing.T, e agentEnd, _ *fixture) {
		want(t, "stdout", e.out, "")
		want(t, "stderr", e.stderr, "rehearsed: dies before it reads the prompt\n")
	}},
	LostSession: {code: 1, args: []string{"--resume", "11111111-1111-4111-8111-111111111111"},
		look: func(t *testing.T, e agentEnd, _ *fixture) {
			want(t, "stderr", e.stderr, "No conversation found with session ID: 11111111-1111-4111-8111-111111111111\n")
		}},
}

func api(status string, retries int, kind string) func(*testing.T, agentEnd, *fixture) {
	return func(t *testing.T, e agentEnd, _ *fixture) {
		t.Helper()
		r := e.result(t)
		want(t, "subtype", r.Subtype, "success")
		want(t, "is_error", r.IsError, true)
		want(t, "status", string(r.Status), status)
		want(t, "retries", len(e.of("api_retry")), retries)
		want(t, "error", e.of("assistant")[0].Error, kind)
		want(t, "cost", r.Cost, 0)
	}
}

func orphaned(how string) func(*testing.T, agentEnd, *fixture) {
	return func(t *testing.T, e agentEnd, r *fixture) {
		t.Helper()
		want(t, "is_error", e.result(t).IsError, false)
		want(t, "orphans", strings.Join(r.orphans, ";"), how)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for o, f := range faults {
		t.Run(string(o), func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, quick+f.more+`"outcome":"`+string(o)+`"}`)
			e := r.batch(prompt, append(f.args, streaming...)...)
			want(t, "exit", e.code, f.code)
			f.look(t, e, r)
		})
	}
}

// hangs are the outcomes that last until the process is stopped.
var hangs = []Outcome{HangAtStart, Stall, HangAfterResult, IgnoreSigterm, InterruptedLooksGood}

// Without a signal they end by themselves after linger, even with the input closed.
func TestHangsEndAfterLinger(t *testing.T) {
	t.Parallel()
	for _, o := range hangs {
		t.Run(string(o), func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, quick+`"linger":"3m","outcome":"`+string(o)+`"}`)
			synctest.Test(t, func(t *testing.T) {
				r.t = t
				r.host.signals = make(chan os.Signal)
				began := time.Now()
				e := r.batch(prompt, streaming...)
				want(t, "exit", e.code, 1)
				want(t, "lasted", time.Since(began), 3*time.Minute)
				want(t, "results", len(e.of("result")), map[bool]int{true: 1}[o == HangAfterResult])
				if o == HangAtStart {
					want(t, "stdout", e.out, "")
				}
			})
		})
	}
}

func TestSignalsEndHangs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome Outcome
		until   string // output to wait for before the signal
		code    int    // after SIGTERM; SIGINT is 0
		results int
	}{
		{Stall, "pwd", 143, 0},
		{HangAfterResult, `"result"`, 143, 0}, // its result was printed already
		{InterruptedLooksGood, "make test", 0, 1},
	} {
		for _, sig := range []os.Signal{term, sigint} {
			t.Run(string(c.outcome)+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				r := newFixture(t, quick+`"outcome":"`+string(c.outcome)+`"}`)
				k := r.converse(streaming...)
				k.send(prompt)
				k.until(c.until)
				r.signals <- sig
				e := k.finish()
				code := c.code
				if sig == sigint {
					code = 0
				}
				want(t, "exit", e.code, code)
				want(t, "results", len(e.of("result")), c.results)
				for _, res := range e.of("result") {
					want(t, "looks good", res.IsError, false)
				}
			})
		}
	}
	t.Run("hang-at-start", func(t *testing.T) {
		t.Parallel()
		r := newFixture(t, quick+`"outcome":"hang-at-start"}`)
		r.signals <- term
		want(t, "exit", r.batch(prompt, streaming...).code, 143)
	})
}

// An interrupt of a stalled turn gives a result with the cost so far.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `{"duration":"0s","cost":0.02,"turns":2,"outcome":"stall"}`)
	k := r.converse(streaming...)
	k.send(prompt)
	k.until("tool_result")
	k.send(interrupt)
	if got := k.until("control_response"); !strings.Contains(got, `"subtype":"success","request_id":"r1"`) {
		t.Errorf("answer: %s", got)
	}
	first := agentEnd{out: k.until(`"type":"result"`)}.result(t)
	want(t, "subtype", first.Subtype, "error_during_execution")
	want(t, "terminal", first.Terminal, "aborted_streaming")
	want(t, "is_error", first.IsError, true)
	want(t, "cost", first.Cost, 0.01)
	_ = k.in.Close()
	want(t, "exit", k.finish().code, 1)
}

func TestInterruptedLooksGoodAnswersInterrupt(t *testing.T) {
	t.Parallel()
	k := newFixture(t, quick+`"outcome":"interrupted-looks-good"}`).converse(streaming...)
	k.send(prompt)
	k.until("make test")
	k.send(interrupt)
	k.until("control_response")
	res := agentEnd{out: k.until(`"type":"result"`)}.result(t)
	want(t, "subtype", res.Subtype, "success")
	want(t, "is_error", res.IsError, false)
	_ = k.in.Close()
	want(t, "exit", k.finish().code, 0)
}
