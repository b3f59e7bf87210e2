//go:build unix

package claude

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// with returns a result line with replacements: pairs of a field's text and its new text.
func with(line string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(line) }

var (
	apiError = with(resultGood, `"is_error":false`, `"is_error":true`, `"total_cost_usd":0.00625`, `"total_cost_usd":0`)
	aborted  = with(resultGood, `"subtype":"success"`, `"subtype":"error_during_execution"`, `"is_error":false`,
		`"is_error":true`, "completed", "aborted_tools")
)

func prints(lines ...string) []step {
	steps := []step{{Read: true}}
	for _, l := range lines {
		steps = append(steps, step{Print: l})
	}
	return steps
}

func then(steps []step, more ...step) []step { return append(slices.Clone(steps), more...) }

// TestAgentFailures plays every trap of docs/claude-cli.md with a process.
func TestAgentFailures(t *testing.T) {
	t.Parallel()
	quick := func(b *fixture) {
		b.agent.Grace = 100 * time.Millisecond
		b.agent.StopWait = StopWait{Interrupt: 200 * time.Millisecond, Close: 100 * time.Millisecond,
			Terminate: 200 * time.Millisecond}
	}
	// The timeout comes after the agent's first words, and not before.
	upAtText := func(b *fixture) {
		quick(b)
		b.agent.Observe = func(o runner.Observation) {
			if o.Kind == "text" {
				b.cancel(errTimeout)
			}
		}
	}
	passing := []plan.Check{{File: "made.txt", Contains: "made"}}
	promise := []plan.File{{Path: "made.txt", Action: "create"}}
	for _, tc := range []struct {
		name   string
		steps  []step
		adjust func(*fixture)
		want   runner.Outcome
		reason string // part of it
		priced string
		check  func(*testing.T, runner.Result)
	}{
		{name: "success", steps: then(prints(initLine, textLine), step{Write: map[string]string{"made.txt": "made"}},
			step{Print: resultGood}, step{EOF: true}),
			adjust: func(b *fixture) { b.req.Checks, b.req.Files = passing, promise }, want: runner.Done, priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if r.Cost != 6250 || r.Turns != 2 || r.Report != "all done" || r.ClaudeVersion != "2.1.197" || r.Model == "" ||
					r.Vacuous ||
					!slices.Equal(r.Changed, []string{"made.txt"}) {
					t.Errorf("result = %+v", r)
				}
			}},
		{name: "result twice", steps: then(prints(initLine, resultGood, with(resultGood, "0.00625,\"usage\"",
			"0.0125,\"usage\"")), step{EOF: true}), want: runner.Done, priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if r.Cost != 12500 {
					t.Errorf("cost = %d, want the last, cumulative one", r.Cost)
				}
			}},
		{name: "works on after its result", steps: then(prints(initLine, resultGood, textLine),
			step{Write: map[string]string{"made.txt": "made"}}, step{Print: resultGood}, step{EOF: true}),
			adjust: func(b *fixture) { b.req.Checks = passing }, want: runner.Done, priced: "result"},
		{name: "error 401", steps: then(prints(initLine, with(apiError, `"api_error_status":null`, `"api_error_status":401`)),
			step{Exit: code(1)}), want: runner.Unauthorised, reason: "all done", priced: "result"},
		{name: "error 429", steps: then(prints(initLine, with(apiError, `"api_error_status":null`, `"api_error_status":429`)),
			step{Exit: code(1)}), want: runner.Throttled, priced: "result"},
		{name: "error 500", steps: then(prints(initLine, with(apiError, `"api_error_status":null`, `"api_error_status":500`)),
			step{Exit: code(1)}), want: runner.Throttled, priced: "result"},
		{name: "null after 529s", steps: then(prints(initLine, retryLine, retryLine, apiError), step{Exit: code(1)}),
			want: runner.Throttled, priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if r.RetryAfter.Round(time.Millisecond) != 532*time.Millisecond {
					t.Errorf("retry after %s", r.RetryAfter)
				}
			}},
		{name: "usage limit", steps: then(prints(initLine, limitLine, with(apiError, `"api_error_status":null`,
			`"api_error_status":429`)), step{Exit: code(1)}), want: runner.Limited, reason: "five_hour", priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if r.ResetsAt.Unix() != 1795235367 || !r.Notional || r.Window != nil {
					t.Errorf("resets at %v, notional %v, window %v", r.ResetsAt, r.Notional, r.Window)
				}
			}},
		{name: "share of a usage limit", steps: then(prints(initLine, with(limitLine, `"status":"rejected"`,
			`"status":"allowed_warning","utilization":0.75`), resultGood), step{EOF: true}), want: runner.Done,
			priced: "result", check: func(t *testing.T, r runner.Result) {
				if r.Window == nil || *r.Window != (runner.Window{Name: "five_hour", Used: 0.75}) {
					t.Errorf("window %+v", r.Window)
				}
			}},
		{name: "max turns", steps: then(prints(initLine, with(resultBad, "error_max_budget_usd", "error_max_turns")),
			step{Exit: code(1)}), want: runner.OverTurns, priced: "result"},
		{name: "max budget", steps: then(prints(initLine, resultBad), step{Exit: code(1)}), want: runner.OverCap,
			reason: "$0.01",
			priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if r.Cost != 130_000 || r.Usage.Output != 5000 {
					t.Errorf("cost %d, usage %+v", r.Cost, r.Usage)
				}
			}},
		{name: "denied, checks fail", steps: then(prints(initLine, with(resultGood, `"permission_denials":[]`,
			`"permission_denials":[{"tool_name":"Bash","tool_use_id":"x","tool_input":{"command":"npm test"}}]`)),
			step{EOF: true}),
			adjust: func(b *fixture) { b.req.Checks = passing }, want: runner.Denied, reason: "Bash(npm test)",
			priced: "result"},
		{name: "denied, checks pass", steps: then(prints(initLine), step{Write: map[string]string{"made.txt": "made"}},
			step{Print: with(resultGood, `"permission_denials":[]`,
				`"permission_denials":[{"tool_name":"Bash","tool_use_id":"x","tool_input":{"command":"npm test"}}]`)},
			step{EOF: true}),
			adjust: func(b *fixture) { b.req.Checks = passing }, want: runner.Done, priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if len(r.Denials) != 1 || r.Denials[0].Rule != "Bash(npm test)" {
					t.Errorf("denials = %v", r.Denials)
				}
			}},
		{name: "promised, nothing changed", steps: then(prints(initLine, resultGood), step{EOF: true}),
			adjust: func(b *fixture) { b.req.Files = promise }, want: runner.Wrong,
			reason: "the declared files are unchanged: made.txt", priced: "result"},
		{name: "says failure", steps: then(prints(initLine,
			with(resultGood, "all done", `no\n---LOOP_STATUS---\nEXIT_SIGNAL: false\nCRITERIA: {\"x\": false}\n---END_STATUS---`)), step{EOF: true}), want: runner.Wrong, reason: "unmet: x", priced: "result"},

		{name: "no prompt, no JSON", steps: []step{{Stderr: "error: unknown option '--nonsense'"}, {Exit: code(1)}},
			want: runner.Broken, reason: "unknown option '--nonsense'"},
		{name: "words on stdout only", steps: []step{{Print: "cannot be used with root privileges"}, {Exit: code(1)}},
			want: runner.Broken, reason: "root privileges"},
		{name: "dies before reading a long prompt", steps: []step{{Exit: code(1)}},
			adjust: func(b *fixture) { b.req.Prompt = strings.Repeat("long ", 100_000) }, want: runner.Broken,
			reason: "said nothing"},
		{name: "no such program", want: runner.Broken, reason: "is claude installed",
			adjust: func(b *fixture) { b.agent.Argv, b.agent.Name = []string{"no-such-claude"}, "claude" }},
		{name: "no such folder", adjust: func(b *fixture) { b.req.Dir += "/gone" }, want: runner.Broken},

		{name: "SIGTERM while waiting for the API", steps: then(prints(initLine, textLine), step{Exit: code(143)}),
			want: runner.Truncated, reason: "exit code 143", priced: "stream"},
		{name: "SIGINT: exit 0, no result", steps: prints(initLine), want: runner.Truncated,
			reason: "no result line, exit code 0",
			priced: "stream",
			check: func(t *testing.T, r runner.Result) {
				if r.Cost != 0 {
					t.Errorf("cost = %d, none was answered", r.Cost)
				}
			}},
		{name: "SIGKILL", steps: then(prints(initLine, textLine), step{Die: true}), want: runner.Truncated, reason: "SIGKILL",
			priced: "stream"},
		{name: "half a result", steps: then(prints(initLine, textLine), step{Raw: []byte(resultGood[:200])}),
			want:   runner.Truncated,
			reason: "unreadable", priced: "stream"},
		{name: "garbage", steps: then(prints(initLine, "}{", "\x00\xff", `{"type":`, `{"type":"result"`), step{EOF: true}),
			want: runner.TimedOut,
			adjust: func(b *fixture) {
				b.req.Settings.IdleTimeout = time.Hour
				b.req.Settings.Timeout = 300 * time.Millisecond
				b.agent.StopWait.Interrupt = 200 * time.Millisecond // it exits only when stdin is closed
			}, reason: "not finished", priced: "stream"},
		{name: "split runes, long lines", steps: then(prints(initLine), step{Raw: []byte(textLine[:200])},
			step{Raw: []byte(textLine[200:] + "\n" + `{"type":"assistant","message":{"content":[{"type":"text","text":"` +
				"\xe4\xb8")}, step{Raw: []byte("\x96" + `"}]}}` + "\n")}, step{Big: "user"}, step{Big: "assistant"},
			step{Print: resultGood}, step{EOF: true}), want: runner.Done, priced: "result"},
		{name: "success, but exit 3", steps: then(prints(initLine, resultGood), step{EOF: true}, step{Exit: code(3)}),
			want: runner.Truncated, reason: "exit code is 3", priced: "result"},

		{name: "hangs after its result", steps: then(prints(initLine, resultGood), step{Term: code(-1)}, step{Hang: true}),
			adjust: quick, want: runner.Done, priced: "result"},
		{name: "hangs at start, deaf to all", steps: []step{{Term: code(-1)}, {Hang: true}},
			adjust: func(b *fixture) { quick(b); b.req.Settings.IdleTimeout = 300 * time.Millisecond }, want: runner.Broken,
			reason: "not a line of the CLI's protocol in 300ms"},
		{name: "noise without end", steps: []step{{Read: true}, {Noise: true}},
			adjust: func(b *fixture) { quick(b); b.req.Settings.IdleTimeout = time.Hour },
			want:   runner.Broken, reason: "it does not speak like the claude CLI; it said: garbage"},
		{name: "noise after its first line", steps: then(prints(initLine), step{Noise: true}),
			adjust: func(b *fixture) { quick(b); b.req.Settings.IdleTimeout = 5 * time.Second }, // its first line comes earlier
			want:   runner.Stalled, priced: "stream"},
		{name: "stalls in mid-turn, answers the interrupt", steps: then(prints(initLine, textLine), step{Await: "interrupt"},
			step{Print: aborted}, step{EOF: true}, step{Exit: code(1)}),
			adjust: func(b *fixture) { b.req.Settings.IdleTimeout = 300 * time.Millisecond }, want: runner.Stalled,
			priced: "result", check: func(t *testing.T, r runner.Result) {
				if r.ExitCode != 1 {
					t.Errorf("the exit code is %d: it was not left to exit by itself", r.ExitCode)
				}
			}},
		{name: "wall clock, and it ends like a success", steps: then(prints(initLine, textLine), step{Await: "interrupt"},
			step{Print: resultGood}, step{EOF: true}),
			adjust: func(b *fixture) { b.req.Settings.Timeout = 300 * time.Millisecond }, want: runner.TimedOut,
			reason: "not finished after 300ms", priced: "result"},
		{name: "wall clock, ignores everything", steps: then([]step{{Term: code(-1)}}, then(prints(initLine, textLine),
			step{Hang: true})...),
			adjust: upAtText, want: runner.TimedOut, priced: "stream"},
		{name: "wall clock, SIGTERM answered with exit 0", steps: then([]step{{Term: code(0)}},
			then(prints(initLine, textLine), step{Hang: true})...),
			adjust: upAtText, want: runner.TimedOut, priced: "stream"},
		{name: "wall clock, but something useful was done", steps: then(prints(initLine, textLine),
			step{Write: map[string]string{"made.txt": "x"}}, step{Await: "interrupt"}, step{Print: aborted}, step{EOF: true}),
			adjust: func(b *fixture) { b.req.Settings.Timeout = 300 * time.Millisecond; b.req.Files = promise },
			want:   runner.TimedOut,
			priced: "result",
			check: func(t *testing.T, r runner.Result) {
				if !slices.Equal(r.Changed, []string{"made.txt"}) {
					t.Errorf("changed = %v", r.Changed)
				}
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script{Steps: tc.steps})
			b.req.Cap = 777
			if tc.adjust != nil {
				tc.adjust(b)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			b.cancel = cancel
			r := b.attempt(ctx)
			if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) || r.Priced != tc.priced {
				t.Fatalf("%s %q priced %q, want %s %q priced %q\n%+v", r.Outcome, r.Reason, r.Priced, tc.want, tc.reason,
					tc.priced, r)
			}
			if (r.Signature == "") != (r.Outcome == runner.Done) {
				t.Errorf("signature %q of %s", r.Signature, r.Outcome)
			}
			if !r.Contained {
				t.Error("not contained")
			}
			if tc.check != nil {
				tc.check(t, r)
			}
			checkLogFiles(t, b, r)
		})
	}
}

// A process that hangs at its start is retried if an earlier process of the program has worked.
func TestHangsAfterOthersWorked(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, resultGood), step{EOF: true}),
		With: map[string][]step{"second": {{Hang: true}}}})
	if r := b.attempt(t.Context()); r.Outcome != runner.Done {
		t.Fatalf("first: %s %q", r.Outcome, r.Reason)
	}
	b.req.Settings.Model, b.req.Settings.IdleTimeout = "second", 300*time.Millisecond
	b.agent.StopWait = StopWait{Interrupt: 200 * time.Millisecond, Close: 100 * time.Millisecond,
		Terminate: 200 * time.Millisecond}
	if r := b.attempt(t.Context()); r.Outcome != runner.Stalled {
		t.Errorf("second: %s %q", r.Outcome, r.Reason)
	}
}

// checkLogFiles checks the files of an attempt: complete, private, and with the returned result.
func checkLogFiles(t *testing.T, b *fixture, r runner.Result) {
	t.Helper()
	err := filepath.WalkDir(b.logs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", d.Name(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(b.logs, loop.ResultFile))
	testrepo.Must(t, err)
	var back runner.Result
	testrepo.Must(t, json.Unmarshal(data, &back))
	if !reflect.DeepEqual(back, r) {
		t.Errorf("result.json\n%+v\nis not what was returned\n%+v", back, r)
	}
	if open := openBelow(b.logs); open != nil {
		t.Errorf("files are open: %q", open)
	}
	if prompt, err := os.ReadFile(filepath.Join(b.logs, loop.PromptFile)); err != nil || string(prompt) != b.req.Prompt {
		t.Errorf("prompt.md: %v", err)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, textLine), step{Touch: "working"}, step{Await: "interrupt"},
		callback("before", "t", "make"), step{Await: whyStopped}, step{Print: aborted}, step{EOF: true})})
	ctx, cancel := context.WithCancelCause(t.Context())
	b.agent.Observe = func(o runner.Observation) {
		if o.Kind == "text" {
			cancel(errors.New("the user pressed Ctrl-C"))
		}
	}
	b.agent.StopWait.Interrupt = time.Minute // the answer ends the wait
	r := b.attempt(ctx)
	if r.Outcome != runner.Interrupted || !strings.Contains(r.Reason, "Ctrl-C") || r.Priced != "result" || r.Cost != 6250 {
		t.Errorf("result = %+v", r)
	}
	if r.Duration >= b.agent.StopWait.Interrupt {
		t.Errorf("it took %s", r.Duration)
	}
	if r := b.attempt(ctx); r.Outcome != runner.Interrupted || r.Priced != "" {
		t.Errorf("with a context that has ended already: %+v", r)
	}
}

// An agent that does not exit after its turn gets SIGTERM, so that it can end by itself. Its result counts, also if the
// run is stopped meanwhile, but not that of a turn before the one in which it is stopped.
func TestTerminatedAfterItsTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grace time.Duration
		last  string // the run is stopped when it is seen
		want  runner.Outcome
	}{
		"by itself": {time.Millisecond, "", runner.Done}, "stopped": {time.Hour, limitLine, runner.Done},
		"stopped in a later turn": {time.Hour, textLine, runner.Interrupted},
	} {
		b := setup(t, script{Steps: then(prints(initLine), step{Term: new(3)}, step{Print: resultGood},
			step{Print: c.last}, step{Hang: true})})
		b.agent.Grace, b.agent.StopWait = c.grace, StopWait{Interrupt: time.Minute, Close: 1, Terminate: time.Minute}
		ctx, stop := context.WithCancelCause(t.Context())
		b.agent.Observe = func(o runner.Observation) {
			if o.Kind == "rate_limit" || o.Kind == "text" {
				stop(errors.New("enough"))
			}
		}
		req, err := b.local().PrepareTurn(b.req)
		must(err)
		began := time.Now()
		r := b.agent.Turn(ctx, req)
		stop(nil)
		if r.ExitCode != 3 || time.Since(began) >= time.Minute || r.Outcome != c.want {
			t.Errorf("%s: exit code %d after %s: %+v", name, r.ExitCode, time.Since(began), r)
		}
	}
}

// A process that ended by itself was not stopped, and a line for one that does not read is dropped.
func TestStopOfAnEndedProcess(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: []step{{EOF: true}, {Exit: code(0)}}})
	req, err := b.local().PrepareTurn(b.req)
	must(err)
	c, err := (&turn{Agent: b.agent, req: req}).newConversation(false, "")
	must(err)
	must(c.start())
	c.close()
	<-c.p.Done()
	c.stop(errors.New("enough"), false)
	if c.end.stop != nil || c.transcript.calls.stopping {
		t.Errorf("it was stopped: %+v", c.end)
	}
	c.say = make(chan []byte)
	c.send([]byte("not read"))
	c.p.Wait()
}

// An agent that answers an interrupt late, and then hangs, is ended as well.
func TestLateAnswerToAnInterrupt(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, textLine), step{EOF: true}, step{Print: aborted},
		step{Hang: true})})
	b.agent.StopWait = StopWait{Interrupt: time.Millisecond, Close: 300 * time.Millisecond, Terminate: 10 * time.Second}
	ctx, cancel := context.WithCancelCause(t.Context())
	b.agent.Observe = func(o runner.Observation) {
		if o.Kind == "text" {
			cancel(errors.New("enough"))
		}
	}
	if r := b.attempt(ctx); r.Outcome != runner.Interrupted || r.Reason != "stopped: enough" {
		t.Errorf("result = %+v", r)
	}
}

// A wavex that is asked to stop is gone within seven seconds, whatever the agent does. A turn that is over or failed by
// itself has more time. The settings of the agent win.
func TestStopWait(t *testing.T) {
	t.Parallel()
	long := StopWait{Interrupt: 10 * time.Second, Close: 3 * time.Second, Terminate: 5 * time.Second}
	c := &conversation{agent: &Agent{}}
	for _, cause := range []error{nil, errTimeout, errIdle, errNoise} {
		if got := c.stopWait(cause); got != long {
			t.Errorf("%v: %+v, want %+v", cause, got, long)
		}
	}
	w := c.stopWait(context.Canceled)
	if w != (StopWait{2500 * time.Millisecond, time.Second, time.Second}) ||
		w.Interrupt+w.Close+w.Terminate > 7*time.Second {
		t.Errorf("stopped: %+v", w)
	}
	c.agent.StopWait = StopWait{Interrupt: 1, Terminate: 3}
	if got := c.stopWait(nil); got != (StopWait{1, long.Close, 3}) {
		t.Errorf("with settings: %+v", got)
	}
}

// panicking is a Pricer with a bug.
type panicking struct{}

func (panicking) Price(string, budget.Tokens) (budget.Pico, bool) { panic("a bug") }

// A bug in the reader of a stream ends neither wavex nor the agent, which can write on.
func TestPanicOfTheReader(t *testing.T) {
	t.Parallel()
	more := []byte(strings.Repeat(userLine+"\n", 2000)) // larger than a pipe
	b := setup(t, script{Steps: then(prints(initLine, textLine), step{Raw: more}, step{Print: resultGood},
		step{Exit: code(0)})})
	f := &transcript{responses: responses{prices: panicking{}}}
	c := &conversation{agent: b.agent, argv: b.agent.Argv, dir: b.dir, env: b.agent.Environ(nil), mark: b.req.Run,
		logDir: b.logs, prompt: "do it", wall: time.Minute, transcript: f}
	c.run(t.Context())
	if !c.end.badResult || !strings.Contains(c.end.plainText, "reading its stream: ") ||
		!strings.Contains(c.end.plainText, "a bug") || c.end.stop != nil {
		t.Errorf("%+v", c.end)
	}
}

// A grandchild in its own session does not outlive the attempt.
func TestOrphanIsSwept(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	b := setup(t, script{Steps: then(prints(initLine), step{Orphan: pidFile}, step{Print: resultGood}, step{EOF: true})})
	r := b.attempt(t.Context())
	if r.Outcome != runner.Done || !r.Contained {
		t.Fatalf("result = %+v", r)
	}
	checkSwept(t, pidFile)
}

// checkSwept reports the process of a file as an error if it is alive.
func checkSwept(t *testing.T, pidFile string) {
	t.Helper()
	data, err := os.ReadFile(pidFile)
	testrepo.Must(t, err)
	pid, err := strconv.Atoi(string(data))
	testrepo.Must(t, err)
	status, _ := os.ReadFile("/proc/" + string(data) + "/status") // a dead one may wait to be reaped
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) && !strings.Contains(string(status), "State:\tZ") {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("process %d is alive: %v", pid, err)
	}
}

// The child gets the flags, the prompt as one line and wavex's marks, and neither secrets of the
// parent nor nesting marks.
func TestChildEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dump")
	b := setup(t, script{Steps: then([]step{{Read: true}}, then(prints(initLine), step{Dump: file},
		step{Print: resultGood}, step{EOF: true})...)})
	parent := append(os.Environ(), "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=x",
		"CLAUDE_CODE_SSE_PORT=1",
		"WAVEX_RUN=outer", "WAVEX_ATTEMPT=outer/T/1", "GITHUB_TOKEN=secret", "DATABASE_URL=secret", "MY_PASSWORD=secret",
		"ANTHROPIC_API_KEY=needed", "MINE=passed", "LANG=C.UTF-8")
	b.agent.Env = proc.Inherit(parent, []string{"MINE", "CLAUDECODE"})
	b.agent.Rehearsal = true
	b.req.Prompt = "first line\nsecond \"line\" <b>\x00é世 \u2028"
	b.req.Cap = 1_250_000
	b.req.Rehearse = json.RawMessage(`{"x":1}`)
	b.req.Checks = []plan.Check{{Run: "true && (true)"}}
	b.req.Settings = plan.Settings{
		Model: "opus", FallbackModel: "sonnet,haiku", AllowedTools: []string{"Read,Grep", `Bash(test "$(x)" = y)`},
		DisallowedTools: []string{"WebFetch", "WebSearch"},
		MaxTurns:        7, Agent: "general-purpose", AppendSystemPrompt: "be brief", SettingSources: "user,project",
	}
	if r := b.attempt(t.Context()); r.Outcome != runner.Done {
		t.Fatalf("result = %+v", r)
	}
	d := readDump(t, file)
	want := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages",
		excludeSectionsFlag, "--permission-mode", "acceptEdits", "--allowedTools", "Read,Grep", "--disallowedTools",
		"WebFetch", "WebSearch",
		"ListAgents", "SendMessage", "--strict-mcp-config",
		"--max-turns", "7", "--model", "opus", "--fallback-model", "sonnet,haiku",
		"--agent", "general-purpose", "--setting-sources", "user,project", "--append-system-prompt", "be brief",
		"--session-id", b.req.Session, "--settings",
		`{"permissions":{"allow":["Bash(true \u0026\u0026 \\(true\\))","Bash(test \"$(x)\" = y)"]}}`,
		"--max-budget-usd", "1.25"}
	if !slices.Equal(d.Args, want) {
		t.Errorf("arguments\n%q, want\n%q", d.Args, want)
	}
	registers, prompt, _ := strings.Cut(d.Heard, "\n")
	if strings.Count(prompt, "\n") != 1 || jsonobject.Value(prompt).Get("message.content").Text() != b.req.Prompt ||
		jsonobject.Value(prompt).Get("type").Text() != "user" || registers+"\n" != string(initializeLine(0)) {
		t.Errorf("heard %q", d.Heard)
	}
	env := map[string]string{}
	for _, kv := range d.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	for k, v := range map[string]string{"WAVEX_RUN": b.req.Run, "WAVEX_ATTEMPT": b.req.Run + "/T-001/1",
		"WAVEX_TASK": "T-001", "WAVEX_SLOT": "2",
		"WAVEX_REHEARSE": filepath.Join(b.logs, loop.RehearseFile), "ANTHROPIC_API_KEY": "needed", "MINE": "passed",
		"LANG": "C.UTF-8"} {
		if env[k] != v {
			t.Errorf("%s = %q, want %q", k, env[k], v)
		}
	}
	for k, v := range env {
		if strings.Contains(v, "secret") || strings.HasPrefix(k, "CLAUDE") || strings.Contains(v, "outer") {
			t.Errorf("%s=%s reached the child", k, v)
		}
	}
	data, err := os.ReadFile(filepath.Join(b.logs, loop.RehearseFile))
	told := jsonobject.Value(data)
	if err != nil || told.Get("task").Text() != "T-001" || told.Get("attempt").Int() != 1 ||
		told.Get("block.x").Int() != 1 {
		t.Errorf("rehearse.json = %s, %v", data, err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const without = "--disallowedTools ListAgents SendMessage"
	args := func(s plan.Settings, resume bool) string {
		at := &turn{Agent: &Agent{}, req: runner.TurnRequest{Session: "S", Settings: s, LogDir: dir}}
		got, err := at.attemptArgs(resume)
		testrepo.Must(t, err)
		return strings.Join(got[len(protocolFlags)+1:], " ")
	}
	for _, tc := range []struct {
		settings plan.Settings
		resume   bool
		want     string
	}{
		{plan.Settings{}, false, "--permission-mode acceptEdits " + without + " --strict-mcp-config --session-id S"},
		{plan.Settings{}, true, "--permission-mode acceptEdits " + without +
			" --strict-mcp-config --resume S --system-prompt-snapshot off"},
		{plan.Settings{AllowedTools: []string{"Read,SendMessage"}, DisallowedTools: []string{"WebFetch"}}, false,
			"--permission-mode acceptEdits --allowedTools Read,SendMessage --disallowedTools WebFetch ListAgents " +
				"--strict-mcp-config --session-id S"},
		{plan.Settings{AllowedTools: []string{"ListAgents", "SendMessage(T-001)"}}, false,
			"--permission-mode acceptEdits --allowedTools ListAgents --strict-mcp-config --session-id S --settings " +
				`{"permissions":{"allow":["SendMessage(T-001)"]}}`},
		{plan.Settings{MCPConfig: "inherit", PermissionMode: "plan", MaxTurns: 1}, false, "--permission-mode plan " +
			without + " --max-turns 1 --session-id S"},
		{plan.Settings{MCPConfig: "mcp.json"}, false, "--permission-mode acceptEdits " + without +
			" --mcp-config mcp.json --strict-mcp-config --session-id S"},
		{plan.Settings{AppendSystemPrompt: strings.Repeat("x", argumentMax+1)}, false,
			"--permission-mode acceptEdits " + without + " --strict-mcp-config --append-system-prompt-file " +
				filepath.Join(dir, loop.SystemFile) + " --session-id S"},
	} {
		if got := args(tc.settings, tc.resume); got != tc.want {
			t.Errorf("arguments = %s\nwant %s", got, tc.want)
		}
	}
	at := &turn{Agent: &Agent{}, req: runner.TurnRequest{Settings: plan.Settings{AllowedTools: []string{"Read,Grep"}}}}
	if got, _, err := at.flags(); err != nil || strings.Join(got[len(protocolFlags):], " ") !=
		"--exclude-dynamic-system-prompt-sections --permission-mode acceptEdits --allowedTools Read,Grep "+without+
			" --strict-mcp-config" {
		t.Errorf("arguments = %s, %v", got, err)
	}
	at = &turn{Agent: &Agent{}, req: runner.TurnRequest{Output: []byte(`{"type":"object"}`)}}
	if got, _, err := at.flags(); err != nil ||
		!slices.Equal(got[len(got)-2:], []string{"--json-schema", `{"type":"object"}`}) {
		t.Errorf("arguments = %s, %v", got, err)
	}
	at = &turn{Agent: &Agent{}, req: runner.TurnRequest{Session: "S"}}
	for resume, want := range map[bool]string{false: "--session-id S", true: "--resume S --system-prompt-snapshot off"} {
		if got, err := at.attemptArgs(resume); err != nil || !strings.HasSuffix(strings.Join(got, " "), want) {
			t.Errorf("arguments = %s, %v; want %s", got, err, want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, loop.SystemFile)); err != nil || len(data) != argumentMax+1 {
		t.Errorf("system prompt by file: %d bytes, %v", len(data), err)
	}
}

// A text up to the limit is an argument, and a longer one a file.
func TestLongestArgument(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{argumentMax: "--x", argumentMax + 1: "--x-file"} {
		args, err := appendText(nil, "--x", strings.Repeat("x", n), t.TempDir())
		if err != nil || len(args) != 2 || args[0] != want {
			t.Errorf("%d bytes: %.40q, %v", n, args, err)
		}
	}
}

// The CLI refuses a cap of 0, so there is no such argument. Any other cap is exact.
func TestCapArgument(t *testing.T) {
	t.Parallel()
	for limit, want := range map[budget.USD][]string{-1: nil, 0: nil, 1: {"--max-budget-usd", "0.000001"},
		123_456_789: {"--max-budget-usd", "123.456789"}} {
		if got := appendCap(nil, limit); !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", limit, got, want)
		}
	}
}

func TestResumeOpensANewSessionOnce(t *testing.T) {
	t.Parallel()
	lost := []step{{Read: true}, {Print: with(aborted, `"num_turns":2`, `"num_turns":0`, `"errors"`, `"errors"`,
		`"terminal_reason":"aborted_tools"`, `"errors":["No conversation found with session ID: x"]`, "0.00625", "0")},
		{Stderr: "No conversation found"}, {Exit: code(1)}}
	b := setup(t, script{})
	b.rewrite(script{Steps: then(prints(initLine, resultGood), step{EOF: true}),
		With: map[string][]step{b.req.Session: lost}})
	b.req.Resume = true
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || !r.SessionReplaced || r.Cost != 6250 {
		t.Errorf("result = %+v", r)
	}
	// A process that hangs was not refused.
	b = setup(t, script{Steps: then(prints(initLine, resultGood), step{EOF: true}),
		With: map[string][]step{"--resume": {{EOF: true}}}})
	b.req.Resume, b.req.Settings.IdleTimeout = true, 200*time.Millisecond
	b.agent.StopWait = StopWait{Interrupt: time.Millisecond, Close: 10 * time.Second}
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || r.SessionReplaced {
		t.Errorf("result = %+v", r)
	}
	// If a new session does not start either, the first reason counts.
	b = setup(t, script{Steps: []step{{Stderr: "already in use"}, {Exit: code(1)}},
		With: map[string][]step{"--resume": {{Stderr: "error: bad flag"}, {Exit: code(1)}}}})
	b.req.Resume = true
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || r.SessionReplaced ||
		!strings.Contains(r.Reason, "bad flag") {
		t.Errorf("result = %+v", r)
	}
}

// The attempt replaces a session id that the CLI already has, once.
func TestSessionInUse(t *testing.T) {
	t.Parallel()
	const other = "22222222-2222-4222-8222-222222222222"
	steps := func(b *fixture) map[string][]step {
		refused := []step{{Stderr: "Error: Session ID " + b.req.Session + " is already in use."}, {Exit: code(1)}}
		return map[string][]step{b.req.Session: refused}
	}
	b := setup(t, script{})
	renamed := strings.NewReplacer(b.req.Session, other)
	b.rewrite(script{Steps: then(prints(renamed.Replace(initLine), renamed.Replace(resultGood)), step{EOF: true}),
		With: steps(b)})
	b.agent.NewSession = func() string { return other }
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || r.Session != other || r.SessionReplaced ||
		r.Cost != 6250 {
		t.Errorf("result = %+v", r)
	}
	// A session that was cut off at its beginning can be neither resumed nor opened.
	b.req.Resume = true
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || r.Session != other || !r.SessionReplaced {
		t.Errorf("result = %+v", r)
	}
	// The id is not replaced a second time.
	b = setup(t, script{})
	b.rewrite(script{With: steps(b)})
	tries := 0
	b.agent.NewSession = func() string { tries++; return b.req.Session }
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || tries != 1 || r.Cost != 0 ||
		!strings.Contains(r.Reason, "already in use") {
		t.Errorf("%d new ids, result = %+v", tries, r)
	}
	// Other refusals are not retried.
	b = setup(t, script{Steps: []step{{Stderr: "error: unknown option"}, {Exit: code(1)}}})
	b.agent.NewSession = func() string { t.Error("a new id"); return other }
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken {
		t.Errorf("result = %+v", r)
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	b := setup(t, script{})
	edit := func(id, path string) string { return with(editLine, "toolu_1", id, "/w/a.go", path) }
	in, once := filepath.Join(b.dir, "in.go"), filepath.Join(b.dir, "once.go")
	steps := then(prints(initLine, edit("1", in), edit("2", in), edit("3", once), edit("4", "/else/x"),
		edit("5", "/else/x"), resultGood), step{EOF: true})
	data, err := json.Marshal(script{Steps: steps})
	must(err)
	must(os.WriteFile(b.script, data, 0o600))
	b.agent.Grace = 0 // by default it has the time to exit
	r := b.attempt(t.Context())
	if want := map[string]int{"in.go": 2, "/else/x": 2}; !reflect.DeepEqual(r.Edits, want) || r.ExitCode != 0 {
		t.Errorf("edits = %v, want %v; exit code %d", r.Edits, want, r.ExitCode)
	}
}

// During a turn the CLI is asked for the cost of its subagents.
func TestCostOfSubagentsIsAsked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dump")
	b := setup(t, script{Steps: then(prints(initLine, `{"type":"system","subtype":"task_progress"}`),
		step{Await: usageID}, step{Dump: file}, step{Print: usageAnswer}, step{Exit: new(1)})})
	b.req.Settings.Timeout = time.Minute
	r := b.attempt(t.Context())
	if r.Cost != 12_500 || r.Priced != "stream" || !strings.Contains(readDump(t, file).Heard, usageLine) {
		t.Errorf("cost %s by %q", r.Cost, r.Priced)
	}
}

func TestUnusableLogFolder(t *testing.T) {
	t.Parallel()
	b := setup(t, script{})
	b.req.LogDir = filepath.Join(b.script, "below-a-file")
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || r.Reason == "" {
		t.Errorf("result = %+v", r)
	}
	b = setup(t, script{})
	b.req.Settings.AppendSystemPrompt = strings.Repeat("x", argumentMax+1)
	must(os.MkdirAll(filepath.Join(b.logs, loop.SystemFile, "full"), 0o700))
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || r.Reason == "" || !r.Contained {
		t.Errorf("result = %+v", r)
	}
	for _, name := range []string{loop.StreamFile, loop.StderrFile} {
		ran := filepath.Join(t.TempDir(), "ran")
		b := setup(t, script{Steps: []step{{Dump: ran}, {Exit: code(1)}}})
		must(os.MkdirAll(filepath.Join(b.logs, name, "full"), 0o700))
		r := b.attempt(t.Context())
		if _, err := os.Stat(ran); err == nil || r.Outcome != runner.Broken || r.Reason == "" || !r.Contained ||
			r.ExitCode != -1 {
			t.Errorf("%s is a folder: %+v; %v", name, r, err)
		}
	}
}

// An attempt is given up when nothing was read for its idle limit, but not after its last turn.
func TestCheckStalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &conversation{idle: 16 * time.Second}
		c.lastRead.Store(time.Now().UnixNano())
		for _, step := range []struct {
			after, next time.Duration
			done, gone  bool
		}{
			{15 * time.Second, time.Second, false, false},
			{time.Second, time.Second, true, false},
			{0, time.Second, false, true},
		} {
			time.Sleep(step.after)
			var gone error
			next := c.checkStalled(step.done, func(err error) { gone = err })
			if next != step.next || (gone == errIdle) != step.gone {
				t.Errorf("%+v: the next check is after %s, %v", step, next, gone)
			}
		}
	})
}

func TestObservations(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, retryLine, textLine, editLine, limitLine),
		callback("before", "t", "make"), step{Await: `"deny"`}, step{Print: resultGood}, step{EOF: true})})
	b.agent.Judge = func(runner.TurnRequest) policy.Judge {
		return judgeFunc(func(policy.Call) policy.Decision {
			return policy.Decision{Act: policy.Deny, Target: "make", Reason: "no"}
		})
	}
	var got []string
	b.agent.Observe = func(o runner.Observation) {
		if o.Task != "T-001" || o.Attempt != 1 || strings.Contains(o.Text, "\n") {
			t.Errorf("observation %+v", o)
		}
		got = append(got, o.Kind+": "+o.Text)
		if o.Kind == "tool" && o.Cost == 0 {
			t.Errorf("no cost so far in %+v", o)
		}
	}
	b.req.Checks = []plan.Check{{Run: "true"}}
	b.attempt(t.Context())
	want := []string{"init: claude 2.1.197, claude-opus-4-8", "api_retry: 529 overloaded", "text: hello",
		"tool: Edit /w/a.go", "rate_limit: rejected five_hour", "denied: Bash make: no", "checking: 1 checks"}
	if !slices.Equal(got, want) {
		t.Errorf("observed %q, want %q", got, want)
	}
}

// An attempt whose cost would not be known does not begin.
func TestNoPrices(t *testing.T) {
	t.Parallel()
	c := &conversation{agent: &Agent{}, transcript: &transcript{}}
	c.run(t.Context())
	if v := classifyTurn(c.end); v.Outcome != runner.Broken || v.Reason != errNoPrices.Error() {
		t.Errorf("%s: %s", v.Outcome, v.Reason)
	}
}
