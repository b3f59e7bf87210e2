package rehearse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/testrepo"
)

// A turn that uses every feature prints the same lines as the CLI.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, block, input string
		args               []string
		code               int
	}{
		{"edits", `{"duration":"0s","cost":0.05,"deletes":["old.txt"],"writes":[{"path":"a/new.txt","content":"hello\n"},
			{"path":"keep.txt","replace":{"old":"one","new":"two"}},{"path":"keep.txt","append":"three\n"},{"path":"copy.sh","from":"keep.txt","mode":"0755"}],
			"runs":["cat a/new.txt","exit 3"],"report":"All written."}`, prompt,
			[]string{"--model", "sonnet", "--permission-mode", "acceptEdits"}, 0},
		{"two-responses", `{"duration":"0s","cost":0.01,"turns":2}`, prompt,
			[]string{"--session-id", "22222222-2222-4222-8222-222222222222"}, 0},
		{"error-529", `{"duration":"0s","outcome":"error-529"}`, prompt, nil, 1},
		{"limited", `{"duration":"0s","outcome":"limited"}`, prompt, nil, 1},
		{"denial", `{"duration":"0s","cost":0.01,"outcome":"denial","runs":["git push"]}`, prompt, nil, 0},
		{"over-cap", `{"duration":"0s","cost":0.04,"turns":4}`, prompt, []string{"--max-budget-usd", "0.015"}, 1},
		{"schema", `{"duration":"0s","cost":0.01}`, prompt, []string{"--json-schema",
			`{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["pass","fail"]}}}`, "--tools", ""}, 0},
		{"events", `{"duration":"0s","cost":0.02,"runs":["true"]}`, prompt,
			[]string{"--include-partial-messages", "--json-schema", `{"enum":["pass"]}`}, 0},
		{"control", `{"duration":"0s"}`, `{"type":"control_request","request_id":"b","request":{"subtype":"bogus"}}` +
			"\n" + interrupt, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, c.block)
			put(t, r, "old.txt", "old")
			put(t, r, "keep.txt", "one\n")
			e := r.batch(c.input, append(c.args, streaming...)...)
			want(t, "exit", e.code, c.code)
			want(t, "stderr", e.stderr, "")
			got := strings.ReplaceAll(e.out, r.host.dir, "DIR")
			path := filepath.Join("testdata", "golden", c.name+".jsonl")
			if *update {
				testrepo.Must(t, os.WriteFile(path, []byte(got), 0o644))
			}
			golden, err := os.ReadFile(path)
			testrepo.Must(t, err)
			if string(golden) != got {
				t.Errorf("differs from %s; run with -update and look at the difference. Got:\n%s", path, got)
			}
		})
	}
}

func put(t *testing.T, r *fixture, name, text string) {
	t.Helper()
	testrepo.Must(t, os.WriteFile(filepath.Join(r.host.dir, name), []byte(text), 0o644))
}

func TestEditsAreReal(t *testing.T) {
	t.Parallel()
	r := newFixture(t, quick+`"deletes":["old.txt","not-there"],"writes":[
		{"path":"a/b/new.txt","content":"hello\n","mode":"0600"},{"path":"keep.txt","replace":{"old":"one","new":"two"}},
		{"path":"keep.txt","replace":{"old":"absent","new":"x"}},{"path":"twice.txt","replace":{"old":"x","new":"y"}},
		{"path":"keep.txt","append":"three\n"},{"path":"copy.txt","from":"keep.txt"},{"path":"c","from":"nowhere"}],
		"runs":["echo run > made.txt","exit 4"]}`)
	put(t, r, "old.txt", "")
	put(t, r, "keep.txt", "one\n")
	put(t, r, "twice.txt", "xx")
	e := r.batch(prompt, streaming...)
	for name, text := range map[string]string{"a/b/new.txt": "hello\n", "keep.txt": "two\nthree\n",
		"copy.txt": "two\nthree\n", "made.txt": "run\n", "twice.txt": "xx"} {
		got, err := os.ReadFile(filepath.Join(r.host.dir, name))
		if err != nil {
			t.Error(err)
		}
		want(t, name, string(got), text)
	}
	if _, err := os.Stat(filepath.Join(r.host.dir, "old.txt")); !os.IsNotExist(err) {
		t.Errorf("old.txt is still there: %v", err)
	}
	st, err := os.Stat(filepath.Join(r.host.dir, "a/b/new.txt"))
	testrepo.Must(t, err)
	want(t, "mode", st.Mode().Perm(), 0o600)
	res := e.result(t)
	for _, refusal := range []string{"deleted not-there", "not found in file", "Found 2 matches", "wrote c: open ",
		"ran exit 4: Exit code 4", "EXIT_SIGNAL: false"} {
		if !strings.Contains(res.Result, refusal) {
			t.Errorf("the report does not tell %q:\n%s", refusal, res.Result)
		}
	}
	bad := 0
	for _, u := range e.of("user") {
		for _, c := range u.Message.Content {
			if c.IsError {
				bad++
			}
		}
	}
	want(t, "refused tools", bad, 5)
	want(t, "turns", res.Turns, 12) // 11 tools and the report
}

// For every spread of the cost, the parts add up, and one message id is one response.
func TestCostAddsUp(t *testing.T) {
	t.Parallel()
	for turns := 1; turns <= 7; turns++ {
		r := newFixture(t, fmt.Sprintf(`{"duration":"0s","cost":0.010001,"turns":%d,"usage":{"input":1000,"output":77}}`,
			turns))
		e := r.batch(prompt, streaming...)
		res := e.result(t)
		want(t, "cost", res.Cost, 0.010001)
		want(t, "model cost", res.Models["claude-opus-4-8"].CostUSD, 0.010001)
		want(t, "output", res.Usage.Output, 77)
		want(t, "turns", res.Turns, turns)
		input, ids := int64(0), map[string]bool{}
		for _, a := range e.of("assistant") {
			if !ids[a.Message.ID] {
				input += inputOf(t, e, a.Message.ID)
			}
			ids[a.Message.ID] = true
		}
		want(t, "responses", len(ids), turns)
		want(t, "input over the stream", input, 1000)
	}
}

func inputOf(t *testing.T, e agentEnd, id string) int64 {
	t.Helper()
	for l := range strings.Lines(e.out) {
		if _, after, ok := strings.Cut(l, `"input_tokens":`); ok && strings.Contains(l, id) {
			var n int64
			if _, err := fmt.Sscanf(after, "%d", &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no response %s", id)
	return 0
}

// As in the CLI, the cap is checked after each response, so at most one response exceeds it. It
// also applies to the report.
func TestCap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cap   string
		over  bool
		cost  float64
		turns int
	}{
		{"0.041", false, 0.04, 4}, {"0.04", true, 0.04, 4}, {"0.035", true, 0.04, 4}, {"0.03", true, 0.03, 3},
		{"0.001", true, 0.01, 1},
	} {
		r := newFixture(t, `{"duration":"0s","cost":0.04,"turns":4}`)
		e := r.batch(prompt, append([]string{"--max-budget-usd", c.cap}, streaming...)...)
		res := e.result(t)
		want(t, c.cap+" over", res.Subtype == "error_max_budget_usd", c.over)
		want(t, c.cap+" exit", e.code, map[bool]int{true: 1}[c.over])
		want(t, c.cap+" cost", res.Cost, c.cost)
		want(t, c.cap+" turns", res.Turns, c.turns)
		if c.over {
			want(t, c.cap+" error", res.Errors[0], "Reached maximum budget ($"+c.cap+")")
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	r := newFixture(t, quick+`"after":2,"turns":4,"outcome":"error-500","writes":[{"path":"a","content":""},{"path":"b","content":""},{"path":"c","content":""}]}`)
	e := r.batch(prompt, streaming...)
	want(t, "cost", e.result(t).Cost, 0.005)
	made, err := filepath.Glob(filepath.Join(r.host.dir, "*"))
	testrepo.Must(t, err)
	want(t, "files made", len(made), 2)
}

func TestDurationAndSpeed(t *testing.T) {
	t.Parallel()
	for speed, lasts := range map[string]time.Duration{"": 12 * time.Second, "10": 1200 * time.Millisecond,
		"0.5": 24 * time.Second} {
		r := newFixture(t, `{"duration":"12s","turns":4}`)
		r.env = append(r.env, SpeedVar+"="+speed)
		synctest.Test(t, func(t *testing.T) {
			r.t = t
			r.host.signals = make(chan os.Signal)
			r.host.now = time.Now
			began := time.Now()
			e := r.batch(prompt, streaming...)
			want(t, "took", time.Since(began), lasts)
			want(t, "cost", e.result(t).Cost, 0.001)
			if !strings.Contains(e.out, fmt.Sprintf(`"duration_ms":%d,`, lasts.Milliseconds())) {
				t.Errorf("speed %q: duration_ms is not %v", speed, lasts)
			}
		})
	}
}

// The CLI prints nothing, not even the init line, before the first user message.
func TestSilentBeforePrompt(t *testing.T) {
	t.Parallel()
	e := newFixture(t, "null").batch("", streaming...)
	want(t, "stdout", e.out, "")
	want(t, "exit", e.code, 0)
	e = newFixture(t, "null").batch(prompt, streaming...)
	if !strings.HasPrefix(e.out, `{"type":"system","subtype":"init"`) ||
		!strings.Contains(e.out, `"wavex_rehearsal":true`) {
		t.Errorf("no init line first:\n%s", e.out)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"nonsense\n": "Error parsing streaming input line: nonsense",
		`{"type":"user","message":{"role":"assistant","content":"x"}}` +
			"\n": "Error: Expected message role 'user', got 'assistant'",
	} {
		e := newFixture(t, "null").batch(in, streaming...)
		want(t, "exit", e.code, 1)
		want(t, "stdout", e.out, "")
		if !strings.HasPrefix(e.stderr, says) {
			t.Errorf("stderr %q", e.stderr)
		}
	}
	e := newFixture(t, "null").batch(`{"type":"keep_alive"}`+"\n"+prompt, streaming...)
	want(t, "unknown types are skipped", e.result(t).Subtype, "success")
}

func TestLongPrompt(t *testing.T) {
	t.Parallel()
	long := strings.Replace(prompt, "do it", strings.Repeat("x", 5<<20), 1)
	want(t, "exit", newFixture(t, `{"duration":"0s"}`).batch(long, streaming...).code, 0)
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	block := `{"duration":"0s","cost":0.02,"attempts":[{"outcome":"fail"},{"outcome":"error-400"},{"cost":0.5}]}`
	for attempt, check := range map[int]func(seenLine) bool{
		1: func(s seenLine) bool { return strings.Contains(s.Result, "EXIT_SIGNAL: false") && s.Cost == 0.02 },
		2: func(s seenLine) bool { return s.IsError && s.Cost == 0 },
		3: func(s seenLine) bool { return strings.Contains(s.Result, "EXIT_SIGNAL: true") && s.Cost == 0.5 },
		9: func(s seenLine) bool { return !s.IsError && s.Cost == 0.5 },
	} {
		r := newFixture(t, "null")
		r.env = append(r.env, FileVar+"="+assign(t, "T-001", attempt, block))
		if res := r.batch(prompt, streaming...).result(t); !check(res) {
			t.Errorf("attempt %d: %+v", attempt, res)
		}
	}
}
