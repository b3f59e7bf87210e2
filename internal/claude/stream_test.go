package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// These lines are shortened from the output of claude 2.1.197.
const (
	initLine   = `{"type":"system","subtype":"init","cwd":"/w","session_id":"11111111-1111-4111-8111-111111111111","tools":["Bash"],"model":"claude-opus-4-8","claude_code_version":"2.1.197"}`
	textLine   = `{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":1000,"output_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"cache_creation":{"ephemeral_1h_input_tokens":20}}},"parent_tool_use_id":null}`
	editLine   = `{"type":"assistant","message":{"id":"msg_1","model":"claude-opus-4-8","content":[{"type":"tool_use","id":"toolu_1","name":"Edit","input":{"file_path":"/w/a.go","old_string":"x","new_string":"y"}}],"usage":{"input_tokens":1000,"output_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300}}}`
	userLine   = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"{\"type\":\"result\",\"subtype\":\"success\"}"}]}}`
	retryLine  = `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":531.8,"error_status":529,"error":"overloaded"}`
	limitLine  = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795235367,"rateLimitType":"five_hour","isUsingOverage":false}}`
	resultGood = `{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":62,"num_turns":2,"result":"all done","session_id":"11111111-1111-4111-8111-111111111111","total_cost_usd":0.00625,"usage":{"input_tokens":0},"modelUsage":{"claude-opus-4-8":{"inputTokens":1000,"outputTokens":50,"cacheReadInputTokens":300,"cacheCreationInputTokens":20,"costUSD":0.00625}},"permission_denials":[],"terminal_reason":"completed"}`
	resultBad  = `{"type":"result","subtype":"error_max_budget_usd","is_error":true,"num_turns":1,"total_cost_usd":0.13,"usage":{"input_tokens":0},"modelUsage":{"m":{"inputTokens":1000,"outputTokens":5000}},"permission_denials":[],"errors":["Reached maximum budget ($0.01)"]}`
)

// listPriced returns facts with the prices of flat.
func listPriced() *transcript { return &transcript{responses: responses{prices: flatPrices{}}} }

func parse(t *testing.T, r io.Reader) *transcript {
	t.Helper()
	f := listPriced()
	testrepo.Must(t, (&stream{onLine: f.onLine}).run(r))
	return f
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	readLine := strings.NewReplacer("toolu_1", "toolu_2", `"Edit"`, `"Read"`, "/w/a.go", "/w/b.go").Replace(editLine)
	f := parse(t, strings.NewReader(strings.Join([]string{
		strings.Repeat("a ", 1<<10), "a word of its own",
		initLine, "", textLine, editLine, editLine, readLine, userLine, retryLine, limitLine,
		`{"type":"brand_new","x":[1,2]}`, `[1,2]`, `{"no":"type"}`, `{"type":"stream_event","event":{}}`, resultGood, "",
	}, "\n")))
	if len(f.strayLine) != 300 || !strings.HasPrefix(f.strayLine, "a a a ") {
		t.Errorf("the first stray line is %q", f.strayLine)
	}
	if f := parse(t, strings.NewReader("{no JSON\n"+initLine)); f.strayLine != "{no JSON" {
		t.Errorf("the stray line is %q", f.strayLine)
	}
	if f := parse(t, strings.NewReader(initLine)); f.session != "11111111-1111-4111-8111-111111111111" {
		t.Errorf("the session is %q", f.session)
	}
	if !f.init.seen || f.init.version != "2.1.197" || f.session == "" {
		t.Errorf("facts = %+v", f)
	}
	if want := (runner.Usage{Input: 1000, Output: 1, CacheRead: 300, CacheWrite: 20}); f.responses.usage != want {
		t.Errorf("usage = %+v, want %+v: one message id counts once", f.responses.usage, want)
	}
	if c := f.responses.cost.USD(); c != 1341 { // the hour's cache entries count as input twice
		t.Errorf("cost = %d, want 1341", c)
	}
	if f.edits["/w/a.go"] != 1 || len(f.edits) != 1 {
		t.Errorf("edits = %v: one tool use id counts once, and reading is no edit", f.edits)
	}
	if f.retries.count != 1 || f.retries.status != 529 || f.retries.delay.Milliseconds() != 531 {
		t.Errorf("retries = %+v", f.retries)
	}
	if f.limit.status != "rejected" || f.limit.resetsAt.Unix() != 1795235367 || !f.notional {
		t.Errorf("limit = %+v", f.limit)
	}
	r := f.result
	if r == nil || f.results != 1 || r.text != "all done" || r.total != 0.00625 || r.turns != 2 || r.isError {
		t.Fatalf("result = %+v", r)
	}
	if b := f.bill(99); b.Cost != 6250 || b.Priced != "result" || b.Usage.Output != 50 {
		t.Errorf("bill = %+v", b)
	}
}

func TestRecoverCost(t *testing.T) {
	t.Parallel()
	join := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	for _, tc := range []struct {
		name, stream string
		prices       Pricer
		cost         budget.USD
		priced       string
	}{
		{"nothing was said", "", flatPrices{}, 0, ""},
		{"plain words only", "error: unknown option\n", flatPrices{}, 0, ""},
		{"the result counts", join(initLine, textLine, resultGood), flatPrices{}, 6250, "result"},
		{"also where usage is zero", join(initLine, textLine, resultBad), flatPrices{}, 130_000, "result"},
		{"no result: the stream", join(initLine, textLine), flatPrices{}, 1341, "stream"},
		{"unknown model: a guess", join(initLine, textLine), noPrices{}, 1341, "guess"},
		{"a request under way, none answered: nothing known to be spent", join(initLine), flatPrices{}, 0, "stream"},
		{"strange words and nothing known", join("?!", initLine), flatPrices{}, 0, "stream"},
		{"strange words between the lines", join("?!", initLine, "{", textLine, "?!"), flatPrices{}, 1341, "stream"},
		{"half a result line", join(initLine, textLine) + resultGood[:300], flatPrices{}, 1341, "stream"},
		{"a process shared with other attempts, by earlier versions: never below the cost",
			join(sharedLine, cleared, initLine, textLine), flatPrices{}, 1341, "stream"},
		{"the same, killed at once", join(sharedLine), flatPrices{}, 0, ""},
		{"the same with a result", join(sharedLine, cleared, initLine, textLine, resultGood), flatPrices{}, 6250, "result"},
		{"the same with a result of no turn", join(sharedLine, cleared, initLine, textLine, resultGood,
			with0turns(resultGood)), flatPrices{}, 12500, "result"},
		{"cumulative: the last result", join(initLine, textLine, resultGood, strings.Replace(resultGood, "0.00625,\"usage\"",
			"0.0125,\"usage\"", 1)), flatPrices{}, 12500, "result"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := recoverCost(strings.NewReader(tc.stream), tc.prices, 99)
			if err != nil || s.Cost != tc.cost || s.Priced != tc.priced {
				t.Errorf("recall = %+v, %v; want %d %q", s, err, tc.cost, tc.priced)
			}
		})
	}
}

// sharedLine is the first line of a stream of earlier versions, whose process had served another
// attempt and began a new session with /clear.
const sharedLine = `{"type":"wavex","served":1,"session":"1","total_cost_usd":0.005,"usage":{"input":1},"clear":true}`

var cleared = strings.NewReplacer(`"num_turns":2`, `"num_turns":0`, `0.00625,"usage"`, `0,"usage"`).Replace(resultGood)

func with0turns(line string) string {
	return strings.NewReplacer(`"num_turns":2`, `"num_turns":0`, `0.00625,"usage"`, `0.0125,"usage"`).Replace(line)
}

// The answer to /clear does not count as a result. An error in its place does, and so does the result of a turn.
func TestAnswerToClear(t *testing.T) {
	t.Parallel()
	failed := strings.Replace(cleared, `"is_error":false`, `"is_error":true`, 1)
	for line, is := range map[string]bool{cleared: false, failed: true, resultGood: true} {
		if f := parse(t, strings.NewReader(sharedLine+"\n"+line)); (f.result != nil) != is {
			t.Errorf("%.90s is a result: %v", line, !is)
		}
	}
}

// A long text is cut in its middle.
func TestLongText(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, reportMax, 2 * reportMax} {
		text := strings.Repeat("x", n) + "end"
		f := parse(t, strings.NewReader(strings.Replace(textLine, "hello", text, 1)))
		if got := f.last.text; !strings.HasSuffix(got, "end") || len(got) > reportMax+100 {
			t.Errorf("of %d bytes %d remain", len(text), len(got))
		}
	}
}

// A result line has at most 20 errors.
func TestErrorsOfAResult(t *testing.T) {
	t.Parallel()
	line := strings.Replace(resultBad, `"errors":[`, `"errors":[`+strings.Repeat(`"x",`, 30), 1)
	if f := parse(t, strings.NewReader(line)); len(f.result.errors) != 20 {
		t.Errorf("%d errors", len(f.result.errors))
	}
}

// The last response is one of the agent itself, not of a subagent.
func TestLastResponse(t *testing.T) {
	t.Parallel()
	for _, inner := range []bool{false, true} {
		c := responses{prices: flatPrices{}}
		c.addWhole("claude-opus-4-8", jsonobject.Value(`{"input_tokens":1000,"output_tokens":1000}`), inner)
		if c.finished == 0 || (c.last == c.finished) == inner || (c.own == 1) == inner {
			t.Errorf("of a subagent %v: the last costs %d, all %d", inner, c.last, c.finished)
		}
	}
}

// Much output that is not of the protocol ends the attempt, unless the agent has spoken the protocol before.
func TestNoise(t *testing.T) {
	t.Parallel()
	much := strings.Repeat("noise\n", noiseMax/6+1)
	for name, c := range map[string]struct {
		output string
		want   error
	}{"a line": {"noise\n", nil}, "much": {much, errNoise}, "much, later": {initLine + "\n" + much, nil}} {
		var got error
		a := &conversation{p: &proc.Process{Stdout: strings.NewReader(c.output)}, transcript: listPriced()}
		a.read(io.Discard, func(err error) { got = err })
		if !errors.Is(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A line that stays too long without its long strings is given up, and so is an empty one.
func TestTruncatorGivesUp(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{0: false, 1: true, truncateMax: true, truncateMax + 1: false} {
		var s truncator
		s.feed(bytes.Repeat([]byte("1"), size))
		if _, ok := s.result(); ok != want {
			t.Errorf("a line of %d bytes is kept: %v", size, ok)
		}
	}
}

// noPrices guesses every price.
type noPrices struct{ flatPrices }

func (p noPrices) Price(model string, t budget.Tokens) (budget.Pico, bool) {
	cost, _ := p.flatPrices.Price(model, t)
	return cost, false
}

// The result does not depend on how the input is split, and every byte is kept.
func TestSplitAnywhere(t *testing.T) {
	t.Parallel()
	all := strings.Join([]string{initLine, textLine,
		`{"type":"assistant","message":{"id":"é世","content":[{"type":"text","text":"é世界"}]}}`, userLine, editLine,
		resultGood}, "\n")
	want := parse(t, strings.NewReader(all))
	for name, r := range map[string]io.Reader{
		"byte by byte": iotest.OneByteReader(strings.NewReader(all)),
		"halves":       iotest.HalfReader(strings.NewReader(all)),
		"EOF at once":  iotest.DataErrReader(strings.NewReader(all)),
	} {
		var raw bytes.Buffer
		f := listPriced()
		testrepo.Must(t, (&stream{raw: &raw, onLine: f.onLine}).run(r))
		if raw.String() != all {
			t.Errorf("%s: the raw stream is not what came in", name)
		}
		if f.responses.usage != want.responses.usage || f.last.text != "é世界" || f.result == nil || f.lines != want.lines {
			t.Errorf("%s: %+v, want %+v", name, f, want)
		}
	}
}

func TestUnterminatedLines(t *testing.T) {
	t.Parallel()
	// A whole result without a line end counts; half of one does not.
	if f := parse(t, strings.NewReader(initLine+"\n"+resultGood)); f.result == nil || f.badResult {
		t.Errorf("result without a line end: %+v", f)
	}
	for i := range resultGood {
		f := parse(t, strings.NewReader(initLine+"\n"+resultGood[:i]))
		if f.result != nil || f.badResult != (i > len(`{"type":"result`)) || f.strayLine != "" {
			t.Fatalf("cut at %d: result %+v, bad %v, stray %q", i, f.result, f.badResult, f.strayLine)
		}
	}
}

// long makes one line with a text of n bytes of awkward content.
func long(head string, n int, tail string) string {
	piece := `plain \"quoted\" caf\u00e9 世 back\\slash `
	return head + strings.Repeat(piece, n/len(piece)+1) + tail
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const n = 3 * chunkSize
	text := long(`{"type":"assistant","message":{"id":"l1","model":"m","content":[{"type":"tool_use","id":"t9","name":"Write","input":{"content":"`, n, `","file_path":"/w/big"}}],"usage":{"input_tokens":7,"output_tokens":5}}}`)
	result := long(`{"type":"result","subtype":"success","is_error":false,"result":"`, n,
		`","structured_output":{"a":"b"},"total_cost_usd":1.5}`)
	late := long(`{"message":{"id":"l2","model":"m","content":[{"type":"text","text":"`, n,
		`"}],"usage":{"input_tokens":70}},"type":"assistant"}`)
	user := long(`{"type":"user","message":"`, n, `"}`)
	hopeless := `{"type":"assistant","message":[` + strings.Repeat("1,", truncateMax) + "1]}"
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"as it comes": func(r io.Reader) io.Reader { return r },
		"halves":      iotest.HalfReader,
		"small":       func(r io.Reader) io.Reader { return smallReader{r} },
	} {
		f := parse(t, wrap(strings.NewReader(strings.Join([]string{initLine, text, user, late, hopeless, result},
			"\n")+"\n")))
		if f.edits["/w/big"] != 1 || f.responses.usage.Input != 77 {
			t.Errorf("%s: edits %v, usage %+v", name, f.edits, f.responses.usage)
		}
		if f.result == nil || !f.result.cut || budget.FromFloat(f.result.total) != 1_500_000 ||
			string(f.result.structured) != `{"a":"b"}` {
			t.Errorf("%s: result = %.200v", name, f.result)
		}
	}
}

// smallReader reads a few bytes at a time.
type smallReader struct{ r io.Reader }

func (s smallReader) Read(b []byte) (int, error) { return s.r.Read(b[:min(len(b), 977)]) }

// A slimmed line stays JSON, and its short strings are unchanged.
func TestTruncatorKeepsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.StringN(0, 50, -1).Draw(t, "short")
		lengthy := strings.Repeat(rapid.StringN(1, 20, -1).Draw(t, "piece"), rapid.IntRange(1, 40_000).Draw(t, "times"))
		line, err := json.Marshal(map[string]any{"a": lengthy, "b": short, "c": []any{lengthy, short, 1.5, nil}})
		if err != nil {
			t.Fatal(err)
		}
		step := rapid.IntRange(1, 50_000).Draw(t, "step")
		var s truncator
		for rest := line; len(rest) > 0; {
			n := min(step, len(rest))
			s.feed(rest[:n])
			rest = rest[n:]
		}
		out, ok := s.result()
		if !ok || !json.Valid(out) {
			t.Fatalf("not JSON any more: %v %.100s", ok, out)
		}
		if got := jsonobject.Value(out).Get("b"); !bytes.Equal(got, jsonobject.Value(line).Get("b")) {
			t.Fatalf("a short string changed: %s", got)
		}
		if c := jsonobject.Value(out).Get("c"); c.Len() != 4 {
			t.Fatalf("the structure changed: %s", c)
		}
	})
}

// A string is cut at its limit, whatever escapes stand at its end or in the strings before it.
func TestTruncatorCutsLongStrings(t *testing.T) {
	t.Parallel()
	for _, short := range []string{`plain`, `\u0041`, `\"`, `\\`, `\\\u005c`, ``} {
		for step := range 3 {
			line := `{"b":"` + short + `","a":"` + strings.Repeat("x", 2*stringMax) + `","c":"` + short + `"}`
			want := `{"b":"` + short + `","a":"` + strings.Repeat("x", stringMax) + `","c":"` + short + `"}`
			var s truncator
			for rest := line; len(rest) > 0; {
				n := min(len(rest), 1+step*77_777)
				s.feed([]byte(rest[:n]))
				rest = rest[n:]
			}
			if out, ok := s.result(); !ok || string(out) != want || !s.cut {
				t.Errorf("with %s in steps of %d: %d bytes, want %d; cut: %v", short, 1+step*77_777, len(out), len(want), s.cut)
			}
		}
	}
}

// The error of the input is returned after the lines before it. Only lines that may be JSON are signs of life.
func TestReadsOfAStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for input, signs := range map[string]bool{
		initLine + "\n": true, "words\n": false, "words\n{": true,
		strings.Repeat("x{", 2*chunkSize): false, "{" + strings.Repeat("x", 3*chunkSize): true,
	} {
		seen, parsed := false, 0
		s := &stream{onLine: func([]byte, bool) { parsed++ }, onRead: func(_ int, object bool) { seen = seen || object }}
		err := s.run(io.MultiReader(smallReader{strings.NewReader(input)}, iotest.ErrReader(broken)))
		if err != broken || seen != signs || parsed != min(1, strings.Count(input, "\n")) && len(input) < chunkSize {
			t.Errorf("%.20q: %v, signs of life: %v, %d lines", input, err, seen, parsed)
		}
	}
}

// The structured result of a turn counts after a later turn that gave none.
func TestStructuredResultOfAnEarlierTurn(t *testing.T) {
	t.Parallel()
	first := strings.Replace(resultGood, `"permission_denials"`, `"structured_output":{"a":1},"permission_denials"`, 1)
	if f := parse(t, strings.NewReader(lines(initLine, first, resultGood))); string(f.result.structured) != `{"a":1}` {
		t.Errorf("the result is %q", f.result.structured)
	}
}

func TestFullDiskDoesNotStopTheReader(t *testing.T) {
	t.Parallel()
	f := &transcript{}
	s := &stream{raw: failing{}, onLine: f.onLine}
	testrepo.Must(t, s.run(strings.NewReader(initLine+"\n"+resultGood+"\n")))
	if s.rawErr == nil || f.result == nil {
		t.Errorf("rawErr = %v, result = %v", s.rawErr, f.result)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// A whole process reads a stream of 200 MB with lines of 50 MB in less than 64 MB of memory, for
// every type of line.
func TestMemory(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	testrepo.Must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = []string{"STANDIN_READER=1"}
	in, err := cmd.StdinPipe()
	testrepo.Must(t, err)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	testrepo.Must(t, cmd.Start())
	_, _ = fmt.Fprintln(in, initLine)
	for _, kind := range []string{"user", "assistant", "system", "brand_new"} {
		big(in, kind, 50<<20)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, out.String())
	}
	var cost, rss int64
	if _, err := fmt.Sscanf(out.String(), "%d stream, peak %d\n", &cost, &rss); err != nil || cost != 12 {
		t.Errorf("read %q", out.String())
	}
	if rss > 64<<20 {
		t.Errorf("peak memory %d MB, want less than 64", rss>>20)
	} else {
		t.Logf("peak memory %d MB", rss>>20)
	}
}

func FuzzStream(f *testing.F) {
	for _, s := range []string{initLine, textLine, editLine, userLine, retryLine, limitLine, resultGood, resultBad,
		start330 + "\n" + delta330 + "\n" + result330, usageAnswer, subagentLine + "\n" + result258,
		initLine + "\n" + resultGood[:200], "{\"type\":\"result\"\n}", "\xff{\"type\":",
		`{"type":"assistant","message":{"content":"x"}}`} {
		f.Add([]byte(s), uint16(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, step uint16) {
		var raw bytes.Buffer
		whole, pieces := listPriced(), listPriced()
		testrepo.Must(t, (&stream{raw: &raw, onLine: whole.onLine}).run(bytes.NewReader(data)))
		again := listPriced()
		if err := (&stream{onLine: again.onLine}).run(&raw); err != nil || again.bill(9) != whole.bill(9) {
			t.Fatalf("what is kept makes %+v, the stream %+v, %v", again.bill(9), whole.bill(9), err)
		}
		testrepo.Must(t, (&stream{onLine: pieces.onLine}).run(cutReader{bytes.NewReader(data), int(step%97) + 1}))
		if whole.bill(9) != pieces.bill(9) || whole.lines != pieces.lines || whole.badResult != pieces.badResult ||
			(whole.result == nil) != (pieces.result == nil) {
			t.Fatalf("read differently in pieces: %+v, %+v", whole, pieces)
		}
		if r := whole.result; r != nil && !whole.badResult {
			classifyTurn(turnEnd{result: r, lines: whole.lines, retries: whole.retries, limit: whole.limit})
			denials(r.denials, nil, []denyRule{{text: "Bash(x*)"}, {text: "Edit(a/**)"}}, "/p")
		}
		var s truncator
		s.feed(data)
		if out, ok := s.result(); ok && json.Valid(data) && !json.Valid(out) {
			t.Fatalf("slimming broke %q into %q", data, out)
		}
	})
}

type cutReader struct {
	r io.Reader
	n int
}

func (c cutReader) Read(b []byte) (int, error) { return c.r.Read(b[:min(len(b), c.n)]) }

// session returns a stream like that of a working session: mostly tool results.
func session() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, initLine)
	tool := long(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"`, 12<<10, `"}]}}`)
	for i := range 400 {
		fmt.Fprintln(&b, strings.ReplaceAll(textLine, "msg_1", fmt.Sprint("msg_", i)))
		fmt.Fprintln(&b, strings.ReplaceAll(editLine, "toolu_1", fmt.Sprint("toolu_", i)))
		fmt.Fprintln(&b, tool)
	}
	fmt.Fprintln(&b, resultGood)
	return b.Bytes()
}

func BenchmarkStream(b *testing.B) {
	data := session()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		f := listPriced()
		if err := (&stream{onLine: f.onLine}).run(bytes.NewReader(data)); err != nil || f.result == nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScannerAndDecode is the baseline of BenchmarkStream.
func BenchmarkScannerAndDecode(b *testing.B) {
	data := session()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		s := bufio.NewScanner(bytes.NewReader(data))
		s.Buffer(nil, 1<<26)
		n := 0
		for s.Scan() {
			var m map[string]any
			testrepo.Must(b, json.Unmarshal(s.Bytes(), &m))
			n++
		}
		if n == 0 {
			b.Fatal("nothing read")
		}
	}
}

// Once a line has reached half of its bound, its strings are cut much shorter, so that its end is still read.
func TestTruncatorOfManyStrings(t *testing.T) {
	t.Parallel()
	line := `{"a":["` + strings.Repeat(strings.Repeat("x", stringMax)+`","`, truncateMax/2/stringMax) + `"],"b":"` +
		strings.Repeat("y", 2*tightMax) + `","c":1}`
	var s truncator
	s.feed([]byte(line))
	out, ok := s.result()
	if b := jsonobject.Value(out).Get("b").Text(); !ok || b != strings.Repeat("y", tightMax) ||
		jsonobject.Value(out).Get("c").Int() != 1 {
		t.Errorf("%v, b has %d bytes, c is %s", ok, len(b), jsonobject.Value(out).Get("c"))
	}
}

// tokenPrices prices nothing and keeps the last tokens.
type tokenPrices struct{ last budget.Tokens }

func (p *tokenPrices) Price(_ string, t budget.Tokens) (budget.Pico, bool) {
	p.last = t
	return 0, true
}

// Everything that has a price is read from the usage of a response.
func TestUsageOfAResponse(t *testing.T) {
	t.Parallel()
	p := &tokenPrices{}
	f := &transcript{responses: responses{prices: p}}
	f.onLine([]byte(`{"type":"assistant","message":{"id":"m","model":"x","content":[],"usage":{"input_tokens":1,`+
		`"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4,`+
		`"cache_creation":{"ephemeral_1h_input_tokens":5},"server_tool_use":{"web_search_requests":6},"speed":"fast",`+
		`"inference_geo":"us","odd":{"input_tokens":9}}}}`), false)
	want := budget.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheHour: 5, Searches: 6, Fast: true,
		Geo: "us"}
	if p.last != want {
		t.Errorf("tokens %+v, want %+v", p.last, want)
	}
}

// The last error, and the last value that the agent gave as its result, are those of its last messages. A tool call is
// reported with its target.
func TestLastMessage(t *testing.T) {
	t.Parallel()
	var seen []string
	f := &transcript{observe: func(kind, text string) { seen = append(seen, kind+": "+text) }}
	use := func(id, name, input string) string {
		return `{"type":"assistant","error":"rate_limit","message":{"content":[{"type":"tool_use","id":"` + id +
			`","name":"` + name + `","input":` + input + `}]}}`
	}
	for _, l := range []string{use("1", outputTool, `{"a":1}`), use("2", "Bash", `{"command":"make","description":"d"}`),
		use("3", "Grep", `{"pattern":"x"}`), use("4", "Odd", `{}`)} {
		f.onLine([]byte(l), false)
	}
	if want := []string{"tool: " + outputTool, "tool: Bash make", "tool: Grep x", "tool: Odd"}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
	if string(f.last.offered) != `{"a":1}` || f.last.err != "rate_limit" {
		t.Errorf("offered %s, error %q", f.last.offered, f.last.err)
	}
	f.onLine([]byte(use("5", outputTool, `{"a":"`+strings.Repeat("x", runner.MaxOutput)+`"}`)), false)
	if f.last.offered != nil {
		t.Errorf("a value of %d bytes is kept", len(f.last.offered))
	}
}

// A result that was cut is not the result.
func TestCutResults(t *testing.T) {
	t.Parallel()
	r := &resultLine{subtype: "success", structured: []byte(`{"a":"x"}`), cut: true}
	f := &transcript{calls: &toolCalls{}, result: r}
	turn := &turn{Agent: &Agent{}, req: runner.TurnRequest{Output: []byte(`{}`)}}
	res := runner.TurnResult{Outcome: runner.Done}
	turn.fillResult(&res, &conversation{transcript: f})
	if res.Outcome != runner.Wrong || res.Reason != "the output is too long to be read whole" {
		t.Errorf("turn: %s: %s", res.Outcome, res.Reason)
	}
	a := questionAnswer(runner.Question{Schema: []byte(`{}`)}, turnEnd{lines: 1, initSeen: true, result: r}, f, 0)
	if a.Outcome != runner.Wrong || a.Structured != nil || a.Reason != "the answer is too long to be read whole" {
		t.Errorf("answer: %+v", a)
	}
}

// RecoverCost reads the stream file of an attempt. Without one the attempt cost nothing.
func TestRecoverCostOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if c, err := RecoverCost(dir, flatPrices{}, 99); err != nil || c != (RecoveredCost{}) {
		t.Errorf("without a stream: %+v, %v", c, err)
	}
	at := filepath.Join(dir, loop.StreamFile)
	testrepo.Must(t, os.WriteFile(at, []byte(initLine+"\n"+textLine+"\n"+resultGood+"\n"), 0o600))
	c, err := RecoverCost(dir, flatPrices{}, 99)
	if err != nil || c.Cost != 6250 || c.Session != "11111111-1111-4111-8111-111111111111" {
		t.Errorf("%+v, %v", c, err)
	}
	testrepo.Must(t, errors.Join(os.Remove(at), os.Mkdir(at, 0o700)))
	if c, err := RecoverCost(dir, flatPrices{}, 99); err == nil {
		t.Errorf("the stream is a folder: %+v", c)
	}
}

// Reading the files of an attempt leaves none of them open.
func TestFilesAreClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, loop.StreamFile)
	must(os.WriteFile(at, []byte(initLine+"\n"), 0o600))
	_, cost := RecoverCost(dir, flatPrices{}, 99)
	_, _, calls := CutCalls(dir)
	if err := errors.Join(cost, calls); err != nil || plainText(at, "") != initLine {
		t.Fatal(err)
	}
	if open := openBelow(dir); open != nil {
		t.Errorf("files are open: %q", open)
	}
}

// openBelow returns the files below a directory that this process has open; on Linux, elsewhere none.
func openBelow(dir string) (open []string) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dir+"/") {
			open = append(open, to)
		}
	}
	return open
}

// A stream that cannot be kept or read is a reason, unless the agent gave one.
func TestStreamThatCannotBeKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   io.Reader
		raw  io.Writer
		want string
	}{
		"kept":       {strings.NewReader(initLine + "\n"), io.Discard, ""},
		"not kept":   {strings.NewReader(initLine + "\n"), failing{}, "its stream could not be kept: file already closed"},
		"not read":   {iotest.ErrReader(errors.New("broken")), io.Discard, "its stream could not be kept: broken"},
		"with words": {strings.NewReader("words\n"), failing{}, "words"},
	} {
		a := &conversation{p: &proc.Process{Stdout: c.in}, transcript: listPriced()}
		a.read(c.raw, nil)
		if got := a.transcript.strayLine; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
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
