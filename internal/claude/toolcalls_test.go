//go:build unix

package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/plan"
	"wavex/internal/policy"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// judgeFunc is a judge by a function.
type judgeFunc func(policy.Call) policy.Decision

func (f judgeFunc) Before(c policy.Call) policy.Decision { return f(c) }
func (judgeFunc) After(policy.Call, policy.Result)       {}

// callback returns a question of the CLI: at a callback about a call of Bash.
func callback(at, id, command string) step {
	return step{Print: fmt.Sprintf(`{"type":"control_request","request_id":"q-%s","request":{"subtype":"hook_callback",`+
		`"callback_id":%q,"input":{"cwd":"/project","tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q}}}`,
		at, at, command, id)}
}

func toolResult(id string, failed bool) step {
	return step{Print: fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result",`+
		`"tool_use_id":%q,"content":"text","is_error":%t}]}}`, id, failed)}
}

// TestPolicy plays each way in which a question about a tool call can go.
func TestPolicy(t *testing.T) {
	t.Parallel()
	pushes := func(act policy.Act) judgeFunc {
		return func(c policy.Call) policy.Decision {
			if command := jsonobject.Value(c.Input).Get("command").Text(); command == "git push" {
				return policy.Decision{Act: act, Rule: "git push", Target: command, Reason: "commit and leave it"}
			}
			return policy.Decision{Act: policy.Pass}
		}
	}
	const stop = `{"type":"control_request","request_id":"q-stop","request":{"subtype":"hook_callback",` +
		`"callback_id":"stop","input":{"hook_event_name":"Stop","background_tasks":[{"id":"b","status":"running"}]}}}`
	begin := then([]step{{Read: true}}, prints(initLine)...) // registration and prompt
	end := []step{{Print: resultGood}, {EOF: true}}
	interrupted := []step{{Await: `"interrupt"`}, {Print: aborted}, {EOF: true}, {Exit: code(1)}}
	deny, passes := step{Await: `"permissionDecisionReason":"wavex: commit`}, step{Await: `"response":{}`}
	for _, tc := range []struct {
		name    string
		judge   policy.Judge
		steps   [][]step
		want    runner.Outcome
		reason  string
		refused int
	}{
		{name: "passes without a judge", want: runner.Done, steps: [][]step{{callback("before", "t", "git push"), passes,
			callback("after", "t", "git push"), passes, toolResult("t", false)}, end}},
		{name: "fails", want: runner.Done,
			steps: [][]step{{callback("before", "t", "x"), passes, toolResult("t", true)}, end}},
		{name: "denied", judge: pushes(policy.Deny), want: runner.Wrong, reason: "check failed", refused: 1,
			steps: [][]step{{callback("before", "t", "git push"), deny, toolResult("t", true), {Print: with(resultGood,
				`"permission_denials":[]`, `"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{}}]`)},
				{EOF: true}}}},
		{name: "a person is asked, without a reason", judge: judgeFunc(func(policy.Call) policy.Decision {
			return policy.Decision{Act: policy.Ask}
		}), want: runner.Done, refused: 1, steps: [][]step{{callback("before", "t", "x"),
			{Await: `"wavex: a person must allow this, and none is there; do without it"`}, toolResult("t", true)}, end}},
		{name: "no person is there", judge: pushes(policy.Ask), want: runner.Done, refused: 1,
			steps: [][]step{{callback("before", "t", "git push"), deny, toolResult("t", true)}, end}},
		{name: "stopped", judge: pushes(policy.Stop), want: runner.Stalled, refused: 1,
			reason: "stopped at Bash git push: commit and leave it",
			steps:  [][]step{{callback("before", "t", "git push"), deny}, interrupted}},
		{name: "never asked", want: runner.Wrong, reason: "not in force: the CLI carried out a tool without asking",
			steps: [][]step{{toolResult("t", false)}, interrupted}},
		{name: "never asked, but failed", want: runner.Done, steps: [][]step{{toolResult("t", true)}, end}},
		{name: "carried out although denied", judge: pushes(policy.Deny), want: runner.Wrong, refused: 1,
			reason: "Bash ran although it was denied",
			steps:  [][]step{{callback("before", "t", "git push"), deny, toolResult("t", false)}, interrupted}},
		{name: "another input", want: runner.Wrong, reason: "a hook changed the input of Bash",
			steps: [][]step{{callback("before", "t", "echo nice"), passes, callback("after", "t", "echo evil")},
				interrupted}},
		{name: "seen after the result", want: runner.Wrong, reason: "without asking",
			steps: [][]step{{{Print: resultGood}, toolResult("t", false)}, {{EOF: true}}}},
		{name: "not applied", want: runner.Broken, reason: "hooks_applied is false",
			steps: [][]step{{{Print: `{"type":"control_response","response":{"subtype":"success",` +
				`"request_id":"wavex-policy","response":{"hooks_applied":false}}}`}}, interrupted}},
		{name: "not known", want: runner.Broken, reason: "Unsupported",
			steps: [][]step{{{Print: `{"type":"control_response","response":{"subtype":"error",` +
				`"request_id":"wavex-policy","error":"Unsupported"}}`}}, interrupted}},
		{name: "asks after a background task", want: runner.Done, steps: [][]step{{{Print: stop}, passes,
			{Print: resultGood}, {Print: initLine}, callback("before", "t", "git push"), passes,
			toolResult("t", false)}, end}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			steps := begin
			for _, more := range tc.steps {
				steps = then(steps, more...)
			}
			b := setup(t, script{Steps: steps})
			if tc.judge != nil {
				b.agent.Judge = func(runner.TurnRequest) policy.Judge { return tc.judge }
			}
			if strings.HasPrefix(tc.reason, "check failed") {
				b.req.Checks = []plan.Check{{Run: "false"}}
			}
			b.req.Settings.Timeout = time.Minute
			r := b.attempt(t.Context())
			if r.Outcome == runner.Done && r.ExitCode != 0 {
				t.Errorf("it did not exit by itself: %d", r.ExitCode)
			}
			if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) || r.Refused != tc.refused ||
				len(r.Refusals) != tc.refused || len(r.Denials) > 0 {
				t.Errorf("%s: %s; refusals %v, denials %v", r.Outcome, r.Reason, r.Refusals, r.Denials)
			}
		})
	}
}

// A person decides on a call while the attempt waits, and no call is open when wavex stops the agent.
func TestPersonDecides(t *testing.T) {
	t.Parallel()
	begin := then([]step{{Read: true}}, prints(initLine)...)
	cancelled := step{Print: `{"type":"control_cancel_request","request_id":"q-before"}`}
	asks := func(id, command string) step {
		return step{Print: strings.Replace(callback("before", id, command).Print, "q-before", "q-"+id, 1)}
	}
	for _, tc := range []struct {
		name   string
		person func(ctx context.Context, q policy.Question, stop context.CancelCauseFunc) (bool, string)
		steps  []step
		want   runner.Outcome
		denied int
	}{
		{name: "yes", want: runner.Done, steps: []step{callback("before", "t", "git push"),
			{Await: `"permissionDecision":"allow"`}, callback("after", "t", "git push"), {Await: `"response":{}`},
			toolResult("t", false), {Print: resultGood}, {EOF: true}},
			person: func(_ context.Context, q policy.Question, _ context.CancelCauseFunc) (bool, string) {
				return q == policy.Question{Task: "T-001", Attempt: 1, Tool: "Bash", Target: "git push", Pattern: "push"}, ""
			}},
		{name: "no", want: runner.Done, denied: 1, steps: []step{callback("before", "t", "git push"),
			{Await: `"deny","permissionDecisionReason":"wavex: a person said no"`}, toolResult("t", true), {Print: resultGood},
			{EOF: true}},
			person: func(context.Context, policy.Question, context.CancelCauseFunc) (bool, string) {
				return false, "a person said no"
			}},
		{name: "two at once", want: runner.Done, denied: 1, steps: []step{asks("1", "one"), asks("2", "two"),
			{Await: `"request_id":"q-2","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse",` +
				`"permissionDecision":"deny"`},
			{Print: `{"type":"control_cancel_request","request_id":"q-1"}`}, {Print: resultGood}, {EOF: true}},
			person: func(ctx context.Context, q policy.Question, _ context.CancelCauseFunc) (bool, string) {
				if q.Target == "one" {
					<-ctx.Done()
				}
				return false, "no"
			}},
		{name: "the CLI gives up", want: runner.Done, steps: []step{callback("before", "t", "git push"), cancelled,
			toolResult("t", true), {Print: resultGood}, {EOF: true}},
			person: func(ctx context.Context, _ policy.Question, _ context.CancelCauseFunc) (bool, string) {
				<-ctx.Done()
				return true, ""
			}},
		{name: "the CLI ends", want: runner.Truncated, steps: []step{callback("before", "t", "git push"), {Exit: code(1)}},
			person: func(ctx context.Context, _ policy.Question, _ context.CancelCauseFunc) (bool, string) {
				<-ctx.Done()
				return context.Cause(ctx) == errTimeout, ""
			}},
		{name: "wavex gives up", want: runner.Interrupted, steps: []step{callback("before", "t", "git push"),
			{Await: `"deny","permissionDecisionReason":"wavex: the attempt is being stopped"`}, {Await: `"interrupt"`},
			{Print: aborted}, {EOF: true}},
			person: func(ctx context.Context, _ policy.Question, stop context.CancelCauseFunc) (bool, string) {
				stop(errors.New("enough"))
				<-ctx.Done()
				return true, ""
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script{Steps: then(begin, tc.steps...)})
			b.req.Settings.PolicyAsk, b.req.Settings.Timeout = []string{"push"}, time.Minute
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			b.agent.Person = func(ctx context.Context, q policy.Question, limit time.Duration) (bool, string) {
				if limit != plan.DefaultAskTimeout {
					t.Errorf("it may take %s", limit)
				}
				return tc.person(ctx, q, stop)
			}
			b.agent.Judge = func(runner.TurnRequest) policy.Judge {
				return judgeFunc(func(c policy.Call) policy.Decision {
					return policy.Decision{Act: policy.Ask, Rule: "push", Target: policy.Target(c)}
				})
			}
			if r := b.attempt(ctx); r.Outcome != tc.want || r.Refused != tc.denied || r.Duration >= time.Minute {
				t.Errorf("%s: %s; refusals %v, after %s", r.Outcome, r.Reason, r.Refusals, r.Duration)
			}
		})
	}
}

// A person is asked only where the plan leaves calls to a person, and one is there.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	for _, rules := range [][]string{nil, {"push"}, {"push", "rm"}} {
		for _, there := range []bool{false, true} {
			a := &Agent{}
			if there {
				a.Person = func(context.Context, policy.Question, time.Duration) (bool, string) { return false, "" }
			}
			at := &turn{Agent: a}
			at.req.Policy.Ask = rules
			k, err := at.newConversation(false, "")
			if asks := there && rules != nil; err != nil || (k.person != nil) != asks ||
				(k.transcript.calls.askTimeout > 0) != asks {
				t.Errorf("rules %q, a person %v: asked %v, %v", rules, there, k.person != nil, err)
			}
		}
	}
}

// The idle time stands still while a call waits for a person, who has less time than the CLI waits.
func TestIdleStandsStill(t *testing.T) {
	t.Parallel()
	k := &conversation{idle: time.Minute, transcript: &transcript{calls: &toolCalls{}}}
	for _, asks := range []bool{true, false} {
		k.transcript.calls.open = nil
		if asks {
			k.transcript.calls.open = map[string]*openQuestion{"q": {}}
		}
		gaveUp := false
		k.lastRead.Store(time.Now().Add(-time.Hour).UnixNano())
		k.checkStalled(false, func(error) { gaveUp = true })
		if gaveUp == asks {
			t.Errorf("asks %v: gave up: %v", asks, gaveUp)
		}
	}
	for limit, want := range map[time.Duration]string{0: `"timeout":60,`, time.Second: `"timeout":60,`,
		5 * time.Minute: `"timeout":310,`} {
		if line := string(initializeLine(limit)); !strings.Contains(line, `["before"],`+want) {
			t.Errorf("%s: %s", limit, line)
		}
	}
}

// An agent that would be started with --bare is not started.
func TestBareIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, script{})
	b.agent.Argv = append(b.agent.Argv, "--bare")
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || !strings.Contains(r.Reason, "--bare") || r.Cost != 0 {
		t.Errorf("%s: %s", r.Outcome, r.Reason)
	}
}

// A CLI that says by its init line that it is in bare mode ends the turn, and the lines of others do not.
func TestBareInit(t *testing.T) {
	t.Parallel()
	const head = `{"type":"system","subtype":"init","claude_code_version":"2.1.332","tools":["Bash","Edit","Read"`
	for line, bare := range map[string]bool{
		head + `]}`:                    true,
		head + `,"StructuredOutput"]}`: true,
		head + `],"memory_paths":{"auto":"/h/memory/"},"messaging_socket_path":"/tmp/1.sock"}`: false,
		head + `],"messaging_socket_path":"/tmp/1.sock"}`:                                      false,
		head + `,"Write"]}`: false,
		initLine:            false,
	} {
		f := transcript{calls: &toolCalls{}}
		f.onLine([]byte(line), false)
		if e := f.calls.end; (e != nil) != bare || bare && (e.outcome != runner.Broken ||
			!strings.Contains(e.reason, "CLAUDE_CODE_SIMPLE")) {
			t.Errorf("%s: %v", line, e)
		}
	}
}

// resultJudge decides by a function, and keeps the results.
type resultJudge struct {
	before  judgeFunc // nil: every call passes
	results []policy.Result
}

func (j *resultJudge) Before(c policy.Call) policy.Decision {
	if j.before == nil {
		return policy.Decision{Act: policy.Pass}
	}
	return j.before(c)
}
func (j *resultJudge) After(_ policy.Call, r policy.Result) { j.results = append(j.results, r) }

// The judge gets what a tool ran with, what it printed, and how long it took, without the time until the result.
func TestResultsOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &resultJudge{}
		p := &toolCalls{judge: j}
		p.onRequest(jsonobject.Value(callback("before", "t", "make").Print), false)
		time.Sleep(3 * time.Second)
		p.onRequest(jsonobject.Value(callback("after", "t", "make").Print), false)
		time.Sleep(time.Second)
		p.onResult(jsonobject.Value(toolResult("t", true).Print))
		p.onRequest(jsonobject.Value(callback("before", "u", "make").Print), false)
		time.Sleep(2 * time.Second)
		p.onResult(jsonobject.Value(toolResult("u", false).Print)) // without a callback after it
		input := []byte(`{"command":"make"}`)
		want := []policy.Result{{Input: input, Output: []byte("text"), Failed: true, Took: 3 * time.Second},
			{Input: input, Output: []byte("text"), Took: 2 * time.Second}}
		if !reflect.DeepEqual(j.results, want) || p.end != nil {
			t.Errorf("results %+v, want %+v; %v", j.results, want, p.end)
		}
	})
}

// Calls that fail before the CLI asks about them are part of a loop: the judge gets them with their results, and the
// turn ends if it stops at one. Without a judge nothing happens.
func TestFailedUnasked(t *testing.T) {
	t.Parallel()
	var calls []policy.Call
	act := policy.Pass
	j := &resultJudge{before: func(c policy.Call) policy.Decision {
		calls = append(calls, c)
		return policy.Decision{Act: act, Target: "it", Reason: "again"}
	}}
	p := &toolCalls{judge: j}
	for _, act = range []policy.Act{policy.Pass, policy.Ask, policy.Deny, policy.Stop} {
		p.onUse("t", "Nothing", "m", []byte(`{"a":1}`))
		p.onResult(jsonobject.Value(toolResult("t", true).Print))
	}
	(&toolCalls{}).onResult(jsonobject.Value(toolResult("t", true).Print))
	call := policy.Call{Tool: "Nothing", Input: []byte(`{"a":1}`)}
	result := policy.Result{Input: call.Input, Output: []byte("text"), Failed: true}
	if !reflect.DeepEqual(calls, []policy.Call{call, call, call, call}) ||
		!reflect.DeepEqual(j.results, []policy.Result{result, result}) || p.end == nil ||
		p.end.outcome != runner.Stalled || p.end.reason != "stopped at Nothing it: again" || p.refused != 0 {
		t.Errorf("calls %+v, results %+v, refused %d; %v", calls, j.results, p.refused, p.end)
	}
}

// The first of two violations is the reason. The turn hears of it once.
func TestFirstViolationCounts(t *testing.T) {
	t.Parallel()
	var gaveUp []string
	p := &toolCalls{giveUp: func(err error) { gaveUp = append(gaveUp, err.Error()) }}
	p.fail(runner.Wrong, "the %s", "first")
	p.fail(runner.Stalled, "the second")
	if p.end == nil || p.end.outcome != runner.Wrong || p.end.reason != "the first" ||
		!slices.Equal(gaveUp, []string{"the first"}) {
		t.Errorf("%+v; gave up %q", p.end, gaveUp)
	}
}

// A stop denies the calls that wait for a person, and observers see each denied call.
func TestStopDeniesOpenQuestions(t *testing.T) {
	t.Parallel()
	act := policy.Ask
	var answers, seen []string
	cancelled := 0
	p := &toolCalls{judge: judgeFunc(func(policy.Call) policy.Decision {
		return policy.Decision{Act: act, Rule: "push", Target: "it", Reason: "no\npushing"}
	}), answer: func(line []byte) { answers = append(answers, string(line)) },
		observe: func(kind, text string) { seen = append(seen, kind+" "+text) },
		person:  func(policy.Question, func(bool, string)) func() { return func() { cancelled++ } }}
	p.onRequest(jsonobject.Value(callback("before", "a", "git push").Print), false)
	if !p.isAsking() || answers != nil || seen != nil {
		t.Errorf("answers %q, seen %q", answers, seen)
	}
	p.stop()
	if p.isAsking() || cancelled != 1 || len(answers) != 1 || !strings.Contains(answers[0], `"deny"`) ||
		!strings.Contains(answers[0], whyStopped) || p.refused != 0 {
		t.Errorf("cancelled %d; answers %q; refused %d", cancelled, answers, p.refused)
	}
	p.stopping, act = false, policy.Deny
	p.onRequest(jsonobject.Value(callback("before", "b", "git push").Print), false)
	if len(seen) != 1 || !strings.HasPrefix(seen[0], "denied ") || !strings.Contains(seen[0], "no pushing") ||
		len(answers) != 2 || !strings.Contains(answers[1], "wavex: no pushing") {
		t.Errorf("seen %q, answers %q", seen, answers)
	}
}

// The first answer to a question counts.
func TestQuestionIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	var answers []string
	var answer func(bool, string)
	p := &toolCalls{judge: judgeFunc(func(policy.Call) policy.Decision { return policy.Decision{Act: policy.Ask} }),
		answer: func(line []byte) { answers = append(answers, string(line)) },
		person: func(_ policy.Question, a func(bool, string)) func() { answer = a; return func() {} }}
	p.onRequest(jsonobject.Value(callback("before", "a", "git push").Print), false)
	answer(true, "")
	answer(false, "too late")
	if p.isAsking() || len(answers) != 1 || !strings.Contains(answers[0], `"allow"`) {
		t.Errorf("answers %q", answers)
	}
}

// The judge gets the output of a call as it was: a text, or the JSON of its parts.
func TestOutputOfCalls(t *testing.T) {
	t.Parallel()
	const parts = `[{"type":"text","text":"a"}]`
	for content, want := range map[string]string{`"a\nb"`: "a\nb", parts: parts} {
		j := &resultJudge{}
		p := &toolCalls{judge: j}
		p.onRequest(jsonobject.Value(callback("before", "t", "make").Print), false)
		p.onResult(jsonobject.Value(`{"message":{"content":[{"type":"text","text":"x"},` +
			`{"type":"tool_result","tool_use_id":"t","content":` + content + `}]}}`))
		if len(j.results) != 1 || string(j.results[0].Output) != want || j.results[0].Failed || p.end != nil {
			t.Errorf("%s: %+v, %v", content, j.results, p.end)
		}
	}
}

// Every call is denied while an attempt is stopped. A person could not add a rule against such a denial.
func TestCallsOfAStoppedAttempt(t *testing.T) {
	t.Parallel()
	p := &toolCalls{}
	var answer string
	p.answer = func(line []byte) { answer = string(line) }
	p.stop()
	p.onRequest(jsonobject.Value(callback("before", "t", "make").Print), false)
	if !strings.Contains(answer, `"deny"`) || !strings.Contains(answer, "the attempt is being stopped") {
		t.Errorf("the answer is %s", answer)
	}
	if left := p.others([]denial{{id: "t"}, {id: "u"}}); len(left) != 1 || left[0].id != "u" || p.refused != 0 {
		t.Errorf("denials %v, refused %d", left, p.refused)
	}
}

func TestSameInput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*tightMax)
	for _, tc := range []struct {
		asked, ran string
		cut, same  bool
	}{
		{`{"command":"a"}`, `{"command":"a"}`, false, true},
		{`{"command":"a","n":1}`, `{ "n": 1, "command": "a" }`, false, true},
		{`{"command":"a"}`, `{"command":"b"}`, false, false},
		{`{"command":"a"}`, `{"command":"a","force":false,"list":[]}`, false, true},
		{`{"command":"a"}`, `{"command":"a","none":null,"map":{},"text":"","n":0}`, false, true},
		{`{"command":"a"}`, `{"command":"a","map":{"b":1}}`, false, false},
		{`{"command":"a"}`, `{"command":"a","force":true}`, false, false},
		{`{"command":"a","force":true}`, `{"command":"a"}`, false, false},
		{`{"file_path":"a.txt"}`, `{"file_path":"/project/a.txt"}`, false, true},
		{`{"file_path":"a.txt"}`, `{"file_path":"/project/b.txt"}`, false, false},
		{`{"content":"` + long + `"}`, `{"content":"` + long + `y"}`, false, false},
		{`{"content":"` + long + `"}`, `{"content":"` + long + `y"}`, true, true},
		{`{"a":1,"limit":0}`, `{"a":1}`, false, true},
		{`{"command":"rm -r $A/* \"${B}\"/x"}`, `{"command":"rm -r ${A:?}/* \"${B:?}\"/x"}`, false, true},
		{`{"command":"rm -r $AB"}`, `{"command":"rm -r ${A:?}B"}`, false, false},
		{`{"command":"rm -r ${A:?}"}`, `{"command":"rm -r $A"}`, false, false},
		{`{"command":"rm -r $A"}`, `{"command":"rm -r ${B:?}"}`, false, false},
		{`{"command":"rm -r $A"}`, `broken`, false, false},
		{`{"a":1}`, `broken`, false, false},
		{`{}`, `broken`, false, false},
	} {
		if got := sameInput([]byte(tc.asked), []byte(tc.ran), "/project", tc.cut); got != tc.same {
			t.Errorf("%.60s and %.60s: same: %v", tc.asked, tc.ran, got)
		}
	}
}

// The judge gets the input that the tool really had.
func TestJudgeGetsTheInputThatRan(t *testing.T) {
	t.Parallel()
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	p := &toolCalls{judge: drawnJudge{say}}
	call := func(kind, path string) {
		p.onRequest(jsonobject.Value(fmt.Sprintf(`{"request_id":"r","request":{"subtype":"hook_callback","callback_id":%q,`+
			`"input":{"tool_use_id":"t1","tool_name":"Edit","cwd":"/w","tool_input":{"file_path":%q}}}}`, kind, path)), false)
	}
	call("before", "a.go")
	call("after", "/w/a.go")
	p.onResult(jsonobject.Value(`{"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`))
	if want := []string{`after Edit : {"file_path":"/w/a.go"} ok false`}; !slices.Equal(said, want) || p.end != nil {
		t.Errorf("%q, want %q; %v", said, want, p.end)
	}
}

// Near the cap, calls are denied as long as the cap pays for exactly one more response; one in a later message of the
// same agent ends the turn.
func TestNearTheCap(t *testing.T) {
	t.Parallel()
	type call struct {
		message, agent, tool string
		spent, next          budget.USD
		want                 string // "" passes
	}
	first := call{message: "m1", spent: 10, next: 10}
	for name, calls := range map[string][]call{
		"far from it":            {first, {message: "m2", spent: 79, next: 10}},
		"one response":           {first, {message: "m2", spent: 80, next: 10, want: "deny"}},
		"one response, just":     {first, {message: "m2", spent: 89, next: 10, want: "deny"}},
		"none":                   {first, {message: "m2", spent: 90, next: 10}},
		"no price":               {first, {message: "m2", spent: 85}},
		"nothing has run":        {{message: "m1", spent: 85, next: 10}, {message: "m2", spent: 85, next: 10, want: "deny"}},
		"a report by a tool":     {first, {message: "m2", tool: outputTool, spent: 85, next: 10}},
		"two calls of a message": {first, {message: "m2", spent: 85, next: 10, want: "deny"}, {message: "m2", want: "deny"}},
		"a later message":        {first, {message: "m2", spent: 85, next: 10, want: "deny"}, {message: "m3", want: "stop"}},
		"another agent's message": {first, {message: "m2", spent: 85, next: 10, want: "deny"},
			{message: "m3", agent: "a", want: "deny"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := call{}
			p := toolCalls{limit: 100}
			p.forecast = func() (_, _ budget.USD, known bool) { return now.spent, now.next, now.next > 0 }
			for i, c := range calls {
				now = c
				id, tool := fmt.Sprint(i), cmp.Or(c.tool, "Bash")
				p.onUse(id, tool, c.message, []byte(`{}`))
				p.conclude(p.before(jsonobject.Value(fmt.Sprintf(`{"tool_use_id":%q,"tool_name":%q,"agent_id":%q}`, id, tool,
					c.agent)), false))
				got := p.asked[id].refusal.Act
				if got != c.want || (p.end != nil) != (got == "stop") || got == "stop" && p.end.outcome != runner.OverCap {
					t.Errorf("call %d: %q, want %q; %v", i, got, c.want, p.end)
				}
			}
		})
	}
}

// A response whose final usage is outstanding counts like the one before it.
func TestForecast(t *testing.T) {
	t.Parallel()
	f := parse(t, strings.NewReader(lines(initLine, start330)))
	if _, _, known := f.forecast(); known {
		t.Error("known before a response was finished")
	}
	f.onLine([]byte(delta330), false)
	first := f.responses.cost.USD()
	if spent, next, known := f.forecast(); spent != first || next != first || !known {
		t.Errorf("spent %s, next %s, known %v; want %s", spent, next, known, first)
	}
	f.onLine([]byte(strings.Replace(start330, `"id":"`, `"id":"x`, 1)), false)
	if spent, next, known := f.forecast(); spent != 2*first || next != first || !known {
		t.Errorf("spent %s, next %s, known %v; want %s twice", spent, next, known, first)
	}
}

// A command that is too long to be read whole is denied. Requests that are not callbacks get no answer. A callback
// after a call that was not asked about, or has ended, changes nothing.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	p := &toolCalls{judge: &resultJudge{}}
	var answers []string
	p.answer = func(line []byte) { answers = append(answers, string(line)) }
	p.onRequest(jsonobject.Value(`{"request_id":"r","request":{"subtype":"can_use_tool"}}`), false)
	if len(answers) != 0 {
		t.Errorf("answered %q", answers)
	}
	p.onRequest(jsonobject.Value(callback("after", "unknown", "make").Print), false)
	p.onRequest(jsonobject.Value(callback("before", "cut", "make").Print), true)
	if len(answers) != 2 || !strings.Contains(answers[0], `"response":{}`) || !strings.Contains(answers[1], `"deny"`) ||
		!strings.Contains(answers[1], "too long to be checked") || p.refused != 1 || p.refusals[0].Rule != "length" {
		t.Errorf("answered %q; refusals %+v", answers, p.refusals)
	}
	if p.end != nil {
		t.Fatalf("it ended: %v", p.end)
	}
	p.onRequest(jsonobject.Value(callback("after", "cut", "make").Print), false)
	if p.end == nil || !strings.Contains(p.end.reason, "Bash ran although it was denied") {
		t.Errorf("a denied call ran: %v", p.end)
	}
}

// A question of which the CLI awaits no answer keeps the turn from ending no longer.
func TestCancelledQuestion(t *testing.T) {
	t.Parallel()
	cancelled := 0
	p := &toolCalls{open: map[string]*openQuestion{"a": {cancel: func() { cancelled++ }}}}
	f := &transcript{calls: p}
	for range 2 {
		f.onLine([]byte(`{"type":"control_cancel_request","request_id":"a"}`), false)
	}
	if p.isAsking() || cancelled != 1 {
		t.Errorf("still asking: %v; cancelled %d times", p.isAsking(), cancelled)
	}
}

// A turn that ends while background tasks of the agent run is paused, once.
func TestPausedTurn(t *testing.T) {
	t.Parallel()
	f := listPriced()
	f.calls = &toolCalls{background: 1}
	var turns []turnEvent
	f.onTurn = func(e turnEvent) { turns = append(turns, e) }
	testrepo.Must(t, (&stream{onLine: f.onLine}).run(strings.NewReader(lines(initLine, resultGood, textLine, resultGood))))
	if want := []turnEvent{turnPaused, turnResumed, turnOver}; !slices.Equal(turns, want) {
		t.Errorf("the turns are %v, want %v", turns, want)
	}
}
