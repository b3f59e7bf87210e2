package transcript_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/internal/transcript"
)

// stream is the output of claude 2.1.197 for a Write, an Edit and a command that fails, shortened
// to the parts that are read here.
const stream = `{"type":"system","subtype":"init","cwd":"/p","model":"claude-sonnet-4-5","claude_code_version":"2.1.197"}
{"type":"assistant","message":{"content":[{"id":"t1","input":{"file_path":"/p/a.txt","content":"one\ntwo\nthree\n"},"name":"Write","type":"tool_use"}],"id":"m1"},"parent_tool_use_id":null}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"File created successfully"}]},"timestamp":"2026-11-21T06:21:51.520Z","tool_use_result":{"type":"create","filePath":"/p/a.txt","content":"one\ntwo\nthree\n","structuredPatch":[],"originalFile":null}}
{"type":"assistant","message":{"content":[{"type":"text","text":"Now in German."},{"id":"t2","input":{"file_path":"/p/a.txt","old_string":"two","new_string":"zwei"},"name":"Edit","type":"tool_use"}],"id":"m2"},"parent_tool_use_id":null}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":"updated"}]},"tool_use_result":{"filePath":"/p/a.txt","structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,"lines":[" one","-two","+zwei"," three"]}]}}
{"type":"assistant","message":{"content":[{"id":"t3","input":{"command":"ls; false"},"name":"Bash","type":"tool_use"}],"id":"m3"},"parent_tool_use_id":"t0"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"Exit code 1\na.txt","is_error":true,"tool_use_id":"t3"}]},"tool_use_result":"Error: Exit code 1\na.txt"}
{"type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"retry_delay_ms":1500,"error_status":529,"error":"overloaded"}
{"type":"stream_event","event":{}}
a line of the CLI's own
{"type":"result","subtype":"success","is_error":false,"num_turns":4,"result":"done","total_cost_usd":0.0024}`

func entries(t *testing.T, text string) []transcript.Entry {
	t.Helper()
	return slices.Collect(transcript.Entries([]byte(text + "\n")))
}

// edits returns the edits of a stream, each with its path.
func edits(t *testing.T, text string) (out string) {
	t.Helper()
	for _, e := range entries(t, text) {
		for _, c := range e.Patch {
			out += fmt.Sprintln(c.Path, c.Created) + strings.Join(c.Lines, "\n") + "\n"
		}
	}
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	want := []struct {
		kind   transcript.Kind
		tool   string
		target string
		text   string
		failed bool
		inner  bool
	}{
		{transcript.Init, "", "/p", "claude 2.1.197 claude-sonnet-4-5", false, false},
		{transcript.Tool, "Write", "/p/a.txt", "", false, false},
		{transcript.ToolAnswer, "Write", "/p/a.txt", "File created successfully", false, false},
		{transcript.Text, "", "", "Now in German.", false, false},
		{transcript.Tool, "Edit", "/p/a.txt", "", false, false},
		{transcript.ToolAnswer, "Edit", "/p/a.txt", "updated", false, false},
		{transcript.Tool, "Bash", "ls; false", "", false, true},
		{transcript.ToolAnswer, "Bash", "ls; false", "Exit code 1\na.txt", true, false},
		{transcript.Retry, "", "", "529 overloaded, try 1 of 3 in 1.5s", true, false},
		{transcript.NonJSON, "", "", "a line of the CLI's own", false, false},
		{transcript.End, "", "", "success after 4 turns, $0.0024", false, false},
	}
	got := entries(t, stream)
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		g := got[i]
		if g.Kind != w.kind || g.Tool != w.tool || g.Target != w.target || g.Text != w.text || g.Failed != w.failed ||
			g.Subagent != w.inner {
			t.Errorf("entry %d is %+v, want %+v", i, g, w)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	got := edits(t, stream)
	want := "/p/a.txt true\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n" +
		"/p/a.txt false\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Without details in the answer, an edit is taken from the call; a refused call is not an edit.
func TestEditsOfInputs(t *testing.T) {
	t.Parallel()
	const text = `{"type":"assistant","message":{"content":[{"id":"a","name":"Write","type":"tool_use","input":{"file_path":"/q/new","content":"x"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"a","type":"tool_result","content":"ok"}]}}
{"type":"assistant","message":{"content":[{"id":"b","name":"Edit","type":"tool_use","input":{"file_path":"/q/no","old_string":"1","new_string":"2"}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"b","type":"tool_result","content":"denied","is_error":true}]}}
{"type":"assistant","message":{"content":[{"id":"c","name":"MultiEdit","type":"tool_use","input":{"file_path":"/else/m","edits":[{"old_string":"a\nb","new_string":""},{"old_string":"c","new_string":"d"}]}}]}}
{"type":"user","message":{"content":[{"tool_use_id":"c","type":"tool_result","content":[{"type":"text","text":"ok"},{"type":"image"}]}]}}`
	got := edits(t, text)
	want := "/q/new false\n@@ -0,0 +1,1 @@\n+x\n/else/m false\n@@\n-a\n-b\n@@\n-c\n+d\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if e := entries(t, text); e[len(e)-1].Text != "ok\n(image)" {
		t.Errorf("an answer in blocks reads %q", e[len(e)-1].Text)
	}
}

func FuzzRead(f *testing.F) {
	for line := range strings.Lines(stream) {
		f.Add(line)
	}
	f.Add(stream)
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range entries(t, text) {
			if e.Kind == "" {
				t.Errorf("an entry without a kind: %+v", e)
			}
		}
	})
}
