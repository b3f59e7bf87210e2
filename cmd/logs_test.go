package cmd

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/internal/runlog"
	"wavex/internal/testrepo"
	"wavex/internal/transcript"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// A follower of a file that is cut, as a long output is, goes on near its new end.
func TestTailOfACutFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "output.txt")
	g := &tailReader{files: os.DirFS(dir), names: []string{"output.txt"}}
	var got []string
	read := func(f func(func(*transcript.Reader, []byte, bool)) error) {
		testrepo.Must(t, f(func(_ *transcript.Reader, line []byte, _ bool) { got = append(got, string(line)) }))
	}
	write := func(from, to int, rest string) {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		testrepo.Must(t, os.WriteFile(path, []byte(b.String()+rest), 0o600))
	}
	write(0, 60_000, "part of a li")
	read(g.readNew)
	if len(got) != 60_000 {
		t.Fatalf("%d lines", len(got))
	}
	got = nil
	write(50_000, 90_000, "the error")
	read(g.readRest)
	if n := len(got); n < 3 || got[n-1] != "the error" || got[n-2] != "line 89999" ||
		strings.Contains(strings.Join(got, ""), "part") {
		t.Errorf("%d lines: %.100q", n, got)
	}
}

// A follower that waits for the first attempt shows it, also if it is over when the journal is read again.
func TestFirstAttemptIsOverBetweenTwoReads(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil)
	var out strings.Builder
	l := &attemptLog{task: "T-001", out: bufio.NewWriter(&out),
		f: follower{Follower: &runlog.Follower{History: runlog.History{State: s.S, Events: s.Events}}}}
	testrepo.Must(t, l.showAttempts(t.Context(), 0, logsOptions{follow: true}))
	if text := out.String(); !strings.HasPrefix(text, "== T-001, attempt 1, ") || !strings.Contains(text, "\n== done ") {
		t.Errorf("it shows %q", text)
	}
}

// The end of a log for a live view has no tabs, whose width the view does not know, and no empty lines.
func TestLogTailHasNoTabs(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"cmd/attempt-1/output.txt": {Data: []byte("a\tb\n\n\tc\n")},
		"ai/attempt-1/stream.jsonl": {Data: []byte(`{"type":"assistant","message":{"content":[` +
			`{"type":"text","text":"if x {\n\treturn\n}"}]}}` + "\n")},
	}
	for task, want := range map[string]string{"cmd": "a    b|    c", "ai": "if x {|    return|}"} {
		if got := strings.Join(logTail(files, task, 1, 10), "|"); got != want {
			t.Errorf("the end of the log of %s is %q", task, got)
		}
	}
}

// A view of a run whose .loop was removed does not advise to resume the run.
func TestWatchOfARemovedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","command":"true"}]}`)
	var out strings.Builder
	f := follower{Follower: &runlog.Follower{History: runlog.History{State: scheduler.NewState(p), Loop: loop.In(dir)}}}
	testrepo.Must(t, f.showUntilEnd(t.Context(), Stdio{Out: &out}, ui.Plain(&out, ui.Options{}), nil))
	if out.String() != removedLine+"\n" {
		t.Errorf("it says %q", out.String())
	}
}
