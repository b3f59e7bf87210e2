//go:build unix

package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"wavex/internal/loop"
	"wavex/runner"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object"}`)
	structured := with(resultGood, `"permission_denials"`, `"structured_output":{"verdict": "a"},"permission_denials"`)
	for _, tc := range []struct {
		name   string
		steps  []step
		schema json.RawMessage
		want   runner.Outcome
		text   string
		data   string
	}{
		{"free text", then(prints(initLine, textLine, resultGood), step{EOF: true}), nil, runner.Done, "all done", ""},
		{"structured", then(prints(initLine, structured), step{EOF: true}), schema, runner.Done, "all done",
			`{"verdict": "a"}`},
		{"the schema is not honoured, exit 0", then(prints(initLine, resultGood), step{EOF: true}), schema, runner.Wrong,
			"all done", ""},
		{"limit", then(prints(initLine, limitLine, with(apiError, `"api_error_status":null`, `"api_error_status":429`)),
			step{Exit: code(1)}), schema, runner.Limited, "all done", ""},
		{"bad schema", []step{{Stderr: "Error: --json-schema is not valid JSON"}, {Exit: code(1)}}, schema, runner.Broken, "",
			""},
		{"time is up", then(prints(initLine, textLine), step{Await: "interrupt"}, step{Print: aborted}, step{EOF: true}), nil,
			runner.TimedOut, "all done", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script{Steps: tc.steps})
			q := runner.Question{Name: "counsel/debugger", Dir: b.dir, LogDir: b.logs, System: "be an expert", Prompt: "why?",
				Schema: tc.schema, Cap: 50_000}
			if tc.want == runner.TimedOut {
				q.Timeout = 300 * time.Millisecond
			}
			a := b.agent.Ask(t.Context(), q)
			if a.Outcome != tc.want || a.Text != tc.text || string(a.Structured) != tc.data {
				t.Errorf("answer = %+v, want %s %q %q", a, tc.want, tc.text, tc.data)
			}
			if (a.Reason == "") != (a.Outcome == runner.Done) {
				t.Errorf("reason %q of %s", a.Reason, a.Outcome)
			}
			if tc.want == runner.Done && (a.Cost != 6250 || a.Priced != "result" || a.Usage.Output != 50) {
				t.Errorf("cost of %+v", a)
			}
			if _, err := os.Stat(filepath.Join(b.logs, loop.ResultFile)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAskArguments(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dump")
	b := setup(t, script{Steps: then(prints(initLine), step{Dump: file}, step{Print: resultGood}, step{EOF: true})})
	q := runner.Question{Name: "review/security", Dir: b.dir, LogDir: filepath.Join(b.logs, "new"), System: "sys",
		Prompt: "why?",
		Tools:  []string{"Read", "Grep"}, Model: "haiku", Cap: 50_000, Rehearse: json.RawMessage(`{}`)}
	if a := b.agent.Ask(t.Context(), q); a.Outcome != runner.Done {
		t.Fatalf("answer = %+v", a)
	}
	d := readDump(t, file)
	want := append(slices.Clone(protocolFlags), "--tools", "Read,Grep", "--no-session-persistence", "--strict-mcp-config",
		"--model", "haiku", "--max-budget-usd", "0.05", "--system-prompt", "sys")
	if !slices.Equal(d.Args, want) {
		t.Errorf("arguments %q, want %q", d.Args, want)
	}
	if !slices.Contains(d.Env, "WAVEX_RUN="+b.agent.Run) || !strings.Contains(strings.Join(d.Env, "\n"), "WAVEX_ATTEMPT="+
		b.agent.Run+"/review/security/") ||
		!slices.Contains(d.Env, "WAVEX_REHEARSE="+filepath.Join(q.LogDir, loop.RehearseFile)) {
		t.Errorf("environment %q", d.Env)
	}
}

// A question asks for the form of its answer, if it has one, and has no tools, model or cap that it does not name.
func TestPlainAskArguments(t *testing.T) {
	t.Parallel()
	for schema, flags := range map[string][]string{"": nil, `{"type":"object"}`: {"--json-schema", `{"type":"object"}`}} {
		got, err := askArgs(runner.Question{Schema: json.RawMessage(schema)})
		want := append(append(slices.Clone(protocolFlags), "--tools", "", "--no-session-persistence", "--strict-mcp-config"),
			flags...)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("arguments %q, want %q; %v", got, want, err)
		}
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

// Only a tool that reads or edits files has a rule for a path.
func TestRuleOfATool(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{{"Read", `{"file_path":"a.go"}`, "Read(a.go)"}, {"Read", `{}`, "Read"},
		{"LSP", `{"file_path":"a.go"}`, "LSP"}, {"Edit", `{"file_path":"/w/a.go"}`, "Edit(//w/a.go)"},
		{"WebFetch", `{"url":"https://x.org:1/y"}`, "WebFetch(domain:x.org)"}, {"WebFetch", `{"url":"x"}`, "WebFetch"}} {
		if got := allowRule(denial{tool: tt[0], input: gjson.Parse(tt[1])}); got != tt[2] {
			t.Errorf("%s %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

// A call that is printed twice is cut off once, and each call that has no result is.
func TestCutCallsOfAMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	use := func(id, command string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":%q,"name":"Bash",`+
			`"input":{"command":%q}}]}}`, id, command)
	}
	must(os.WriteFile(filepath.Join(dir, loop.StreamFile), []byte(lines(use("t1", "make"), use("t1", "make"),
		use("t2", "ls"), use("t3", "pwd"),
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t3"}]}}`)), 0o600))
	calls, _, err := CutCalls(dir)
	if err != nil || !slices.Equal(calls, []string{"Bash make", "Bash ls"}) {
		t.Errorf("%q, %v", calls, err)
	}
}

// The judge gets the input that the tool really had.
func TestJudgeGetsTheInputThatRan(t *testing.T) {
	t.Parallel()
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	p := &toolCalls{judge: drawnJudge{say}}
	call := func(kind, path string) {
		p.onRequest(gjson.Parse(fmt.Sprintf(`{"request_id":"r","request":{"subtype":"hook_callback","callback_id":%q,`+
			`"input":{"tool_use_id":"t1","tool_name":"Edit","cwd":"/w","tool_input":{"file_path":%q}}}}`, kind, path)), false)
	}
	call("before", "a.go")
	call("after", "/w/a.go")
	p.onResult(gjson.Parse(`{"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`))
	if want := []string{`after Edit : {"file_path":"/w/a.go"} ok false`}; !slices.Equal(said, want) || p.end != nil {
		t.Errorf("%q, want %q; %v", said, want, p.end)
	}
}

// During a turn the CLI is asked for the cost of its subagents.
func TestCostOfSubagentsIsAsked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dump")
	b := setup(t, script{Steps: then(prints(initLine, `{"type":"system","subtype":"task_progress"}`),
		step{Await: usageID}, step{Dump: file}, step{Print: usageAnswer}, step{Exit: new(1)})})
	b.req.Settings.Timeout = 5 * time.Second
	r := b.attempt(t.Context())
	if r.Cost != 12_500 || r.Priced != "stream" || !strings.Contains(readDump(t, file).Heard, usageLine) {
		t.Errorf("cost %s by %q", r.Cost, r.Priced)
	}
}

// A question whose files have no place is not asked.
func TestAskWithoutAPlace(t *testing.T) {
	t.Parallel()
	b := setup(t, script{})
	must(os.MkdirAll(filepath.Join(b.logs, loop.SystemFile, "full"), 0o700))
	for _, q := range []runner.Question{{LogDir: filepath.Join(os.DevNull, "x")},
		{LogDir: b.logs, System: strings.Repeat("x", argumentMax+1)}} {
		if a := b.agent.Ask(t.Context(), q); a.Outcome != runner.Broken || a.Reason == "" || a.Cost != 0 {
			t.Errorf("answer = %+v", a)
		}
	}
}

func TestAskStopped(t *testing.T) {
	t.Parallel()
	b := setup(t, script{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := b.agent.Ask(ctx, runner.Question{LogDir: b.logs}); a.Outcome != runner.Interrupted ||
		!strings.Contains(a.Reason, "canceled") {
		t.Errorf("answer = %+v", a)
	}
}
