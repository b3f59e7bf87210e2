//go:build unix

package claude

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	if d.Heard != string(initializeLine(0)) { // it has tools, so the policy holds for it too
		t.Errorf("it heard %q first", d.Heard)
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
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("by\nme"))
	if a := b.agent.Ask(ctx, runner.Question{LogDir: b.logs}); a.Outcome != runner.Interrupted ||
		a.Reason != "stopped before it began: by me" {
		t.Errorf("answer = %+v", a)
	}
}
