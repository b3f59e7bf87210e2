package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// This file reads drawn streams of the CLI and compares the result of each turn, and the lines for the CLI, with
// testdata/streams.txt. WAVEX_UPDATE=1 writes that file; review its difference.

// dice draws the lines of a stream.
type dice struct{ *rand.Rand }

// pick returns one of some texts.
func (d dice) pick(texts ...string) string { return texts[d.IntN(len(texts))] }

// often returns a text, or another one once in n times.
func (d dice) often(n int, text, other string) string {
	if d.IntN(n) == 0 {
		return other
	}
	return text
}

func (d dice) tokens() string {
	return d.pick("0", "1", "10", "700", "9000", "-1", "1.5", `"7"`, "1099511627776")
}

func (d dice) usage() string {
	return fmt.Sprintf(`{"input_tokens":%s,"output_tokens":%s,"cache_read_input_tokens":%s,`+
		`"cache_creation_input_tokens":%s,"cache_creation":{"ephemeral_1h_input_tokens":%s},"speed":%q}`,
		d.tokens(), d.tokens(), d.tokens(), d.tokens(), d.tokens(), d.pick("fast", "standard"))
}

func (d dice) modelUsage() string {
	return fmt.Sprintf(`{"m":{"inputTokens":%s,"outputTokens":%s,"cacheReadInputTokens":%s,"costUSD":%s}}`,
		d.tokens(), d.tokens(), d.tokens(), d.pick("0", "0.01", "0.02", "1.5", `"x"`))
}

func (d dice) model() string { return d.often(6, d.often(4, "m", "unpriced"), "<synthetic>") }

func (d dice) parent() string { return d.often(4, "null", `"toolu_p"`) }

func (d dice) toolID() string { return d.pick("t1", "t2", "t3") }

// tool returns the name and the input of a call.
func (d dice) tool() (name, input string) {
	switch name = d.pick("Edit", "NotebookEdit", "Bash", "Bash", "Read", "Grep", outputTool); name {
	case "Edit":
		input = fmt.Sprintf(`{"file_path":%q,"new_string":"x"}`, d.pick("a.go", "/w/a.go", "/w/b.go"))
	case "NotebookEdit":
		input = `{"notebook_path":"n.ipynb"}`
	case "Bash":
		input = fmt.Sprintf(`{"command":%q}`, d.pick("make", "make", "deny me", "stop me", "ask me"))
	case "Read":
		input = `{"file_path":"a.go","limit":0}`
	case "Grep":
		input = `{"pattern":"x","path":""}`
	default:
		input = fmt.Sprintf(`{"n":%d}`, d.IntN(3))
	}
	return name, input
}

// callback returns a question of the CLI about a tool call, or that about its stop.
func (d dice) callback() string {
	name, input := d.tool()
	in := fmt.Sprintf(`{"tool_use_id":%q,"tool_name":%q,"agent_id":%q,"cwd":"/w","tool_input":%s}`, d.toolID(), name,
		d.often(4, "", "sub"), input)
	kind := d.pick("before", "before", "after", "stop")
	if kind == "stop" {
		in = fmt.Sprintf(`{"background_tasks":[{"status":%q}]}`, d.pick("running", "completed"))
	}
	return fmt.Sprintf(`{"type":"control_request","request_id":"r%d",`+
		`"request":{"subtype":%q,"callback_id":%q,"input":%s}}`, d.IntN(4),
		d.often(9, "hook_callback", "can_use_tool"), kind, in)
}

// message returns an assistant line.
func (d dice) message() string {
	content := fmt.Sprintf(`{"type":"text","text":%q}`, d.pick("hello", "good\nbye", " "))
	if d.IntN(2) == 0 {
		name, input := d.tool()
		content += fmt.Sprintf(`,{"type":"tool_use","id":%q,"name":%q,"input":%s}`, d.toolID(), name, input)
	}
	if d.IntN(12) == 0 {
		content = fmt.Sprintf(`{"type":"text","text":"%s"}`, strings.Repeat("long \\\\ ", chunkSize/4+d.IntN(chunkSize)))
	}
	return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"model":%q,"content":[%s],"usage":%s},`+
		`"parent_tool_use_id":%s,"error":%q}`, d.pick("m1", "m2", "m3", ""), d.model(), content, d.usage(), d.parent(),
		d.often(8, "", d.pick("rate_limit", "overloaded", "billing_error", "model_not_found")))
}

// event returns a part of a response.
func (d dice) event() string {
	return d.pick(
		fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_start","message":{"id":%q,"model":%q,"usage":%s}},`+
			`"parent_tool_use_id":%s}`, d.pick("m1", "m2", "m3"), d.model(), d.usage(), d.parent()),
		fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_delta","usage":%s},"parent_tool_use_id":%s}`, d.usage(),
			d.parent()),
		`{"type":"stream_event","event":{"type":"content_block_delta"}}`,
		`{"event":{"type":"content_block_stop"},"type":"stream_event"}`)
}

// response returns an answer to a request of wavex.
func (d dice) response() string {
	return d.pick(
		fmt.Sprintf(`{"type":"control_response","response":{"request_id":"wavex-policy","subtype":%q,"error":%q,`+
			`"response":{"hooks_applied":%s}}}`, d.often(6, "success", "error"), d.often(2, "", "no hooks"),
			d.often(6, "true", "false")),
		fmt.Sprintf(`{"type":"control_response","response":{"request_id":%q,"response":{"session":{"total_cost_usd":%s},`+
			`"behaviors":%s}}}`, d.pick("wavex-before", "wavex-spent", "wavex-stop"),
			d.pick("0", "0.005", "0.25", "2", "-1", `"x"`), d.often(5, "null", "[1]")),
		fmt.Sprintf(`{"type":"control_cancel_request","request_id":"r%d"}`, d.IntN(4)))
}

// result returns a result line.
func (d dice) result() string {
	line := fmt.Sprintf(`{"subtype":%q,"is_error":%s,"api_error_status":%s,"num_turns":%d,"result":%q,"session_id":%q,`+
		`"total_cost_usd":%s,"modelUsage":%s,"permission_denials":[{"tool_use_id":%q,"tool_name":"Bash",`+
		`"tool_input":{"command":"ls x"}}],"terminal_reason":%q,"uuid":%q,"type":"result"`,
		d.often(4, "success", d.pick("error_max_budget_usd", "error_max_turns", "error_during_execution",
			"error_max_structured_output_retries")), d.often(4, "false", "true"),
		d.often(3, "null", d.pick("401", "402", "403", "404", "400", "408", "429", "499", "500")), d.IntN(3),
		d.pick("all done", "", "credit balance"), d.pick("s1", "s2", ""), d.pick("0", "0.005", "0.3", "-1", `"x"`),
		d.modelUsage(), d.toolID(), d.pick("completed", "aborted_tools"), d.pick("u1", "u2", ""))
	if d.IntN(2) == 0 {
		line += `,"model_usage_since_last_result":` + d.modelUsage()
	}
	if d.IntN(3) == 0 {
		line += `,"structured_output":` + d.pick(`{"n":1}`, "null")
	}
	if d.IntN(5) == 0 {
		line += `,"errors":["one","two"]`
	}
	return line + d.often(12, "}", "")
}

// line returns a line of a stream.
func (d dice) line() string {
	switch d.IntN(12) {
	case 0, 1:
		return d.message()
	case 2, 3:
		return d.event()
	case 4, 5, 6:
		return d.callback()
	case 7:
		return fmt.Sprintf(`{"type":"user","message":{"content":[`+
			`{"type":%q,"tool_use_id":%q,"is_error":%s,"content":%s}]}}`,
			d.often(6, "tool_result", "text"), d.toolID(), d.pick("true", "false"), d.pick(`"text"`, `[{"type":"text"}]`))
	case 8:
		return d.response()
	case 9:
		return d.pick(
			`{"type":"system","subtype":"api_retry","retry_delay_ms":531.8,"error_status":529,"error":"overloaded"}`,
			`{"type":"system","subtype":"api_retry","error_status":null,"error":"unknown"}`,
			`{"type":"system","subtype":"task_progress"}`,
			fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":%q,"resetsAt":%s,"rateLimitType":%q,`+
				`"utilization":%s}}`, d.pick("allowed", "rejected"), d.pick("0", "1795235367"), d.pick("five_hour", ""),
				d.pick("0", "0.5")))
	case 10:
		return d.pick("a stray line", "{no JSON", "", `{"type":"brand_new"}`, `{"no":"type"}`, "[1]")
	}
	return d.result()
}

// work returns the lines of response n, with calls that mostly go their usual way.
func (d dice) work(n int) (lines []string) {
	parent, agent := "null", ""
	if d.IntN(5) == 0 {
		parent, agent = `"toolu_p"`, "sub"
	}
	add := func(format string, args ...any) {
		if d.IntN(15) > 0 {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	type call struct{ id, name, input string }
	var calls []call
	var content []string
	for i := range d.IntN(3) {
		c := call{id: fmt.Sprintf("w%d-%d", n, i)}
		switch c.name, c.input = d.tool(); d.IntN(30) {
		case 0:
			c.name, c.input = "Bash", fmt.Sprintf(`{"command":%q}`, strings.Repeat(`long \\ `, chunkSize/6))
		case 1, 2, 3:
			c.name, c.input = "Bash", `{"command":"ask me"}`
		}
		calls = append(calls, c)
		content = append(content, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, c.id, c.name, c.input))
	}
	const begun = `{"input_tokens":10,"output_tokens":1}`
	add(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"w%d","model":"m","usage":%s}},`+
		`"parent_tool_use_id":%s}`, n, begun, parent)
	add(`{"type":"assistant","message":{"id":"w%d","model":"m","content":[%s],"usage":%s},"parent_tool_use_id":%s}`, n,
		strings.Join(content, ","), begun, parent)
	ask := func(kind string, c call) {
		add(`{"type":"control_request","request_id":"%s-%s","request":{"subtype":"hook_callback","callback_id":%q,`+
			`"input":{"tool_use_id":%q,"tool_name":%q,"agent_id":%q,"cwd":"/w","tool_input":%s}}}`, kind, c.id, kind, c.id,
			c.name, agent, c.input)
	}
	for _, c := range calls {
		if ask("before", c); d.IntN(6) == 0 {
			add(`{"type":"control_cancel_request","request_id":"before-%s"}`, c.id)
		}
	}
	add(`{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":%s}},"parent_tool_use_id":%s}`,
		d.pick("1", "700", "6000", "9000"), parent)
	for _, c := range calls {
		failed := d.often(4, "false", "true")
		if strings.Contains(c.input, " me") { // the policy may deny it
			failed = d.often(6, "true", "false")
		}
		if d.IntN(9) == 0 {
			_, c.input = d.tool()
		}
		if failed == "false" {
			ask("after", c)
		}
		add(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,"is_error":%s,"content":"text"}]},`+
			`"parent_tool_use_id":%s}`, c.id, failed, parent)
	}
	return lines
}

// failure returns the lines of a turn that the API ends.
func (d dice) failure() []string {
	return []string{
		fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":%q,"resetsAt":%s,"rateLimitType":"five_hour"}}`,
			d.often(4, "rejected", "allowed"), d.often(4, "1795235367", "0")),
		fmt.Sprintf(`{"type":"assistant","message":{"model":"<synthetic>","content":[]},"error":%q}`,
			d.pick("", "rate_limit", "overloaded", "server_error", "authentication_failed", "billing_error", "unknown")),
		fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"api_error_status":%s,"num_turns":1,`+
			`"result":"it failed","session_id":"s3","total_cost_usd":0.1}`, d.pick("null", "null", "429", "529", "400")),
	}
}

// drawnJudge decides by the words of a command.
type drawnJudge struct{ say func(string, ...any) }

func (j drawnJudge) Before(c policy.Call) policy.Decision {
	d := policy.Decision{Act: policy.Pass, Rule: "drawn", Target: policy.Target(c)}
	for word, act := range map[string]policy.Act{"deny": policy.Deny, "stop": policy.Stop, "ask": policy.Ask} {
		if bytes.Contains(c.Input, []byte(word+" me")) {
			d.Act, d.Reason = act, "it says "+word
		}
	}
	return d
}

func (j drawnJudge) After(c policy.Call, r policy.Result) {
	j.say("after %s %s: %s %s %t", c.Tool, c.Agent, r.Input, r.Output, r.Failed)
}

// somePrices guesses the price of one model.
type somePrices struct{ flatPrices }

func (p somePrices) Price(model string, t budget.Tokens) (budget.Pico, bool) {
	cost, _ := p.flatPrices.Price(model, t)
	return cost, model != "unpriced"
}

// drawnStream returns the text of a stream: of single lines, or of whole calls.
func drawnStream(d dice, calls bool) string {
	var text strings.Builder
	if d.IntN(12) == 0 {
		text.WriteString(`{"type":"from a newer CLI"}` + "\n")
	}
	if d.IntN(10) > 0 {
		text.WriteString(initLine + "\n")
	}
	count := d.IntN(14)
	if calls {
		count = min(count, 8)
	}
	for n := range count {
		next := []string{""}
		switch {
		case !calls:
			next[0] = d.line()
		case d.IntN(9) == 0:
			next = d.failure()
		case d.IntN(9) == 0:
			next[0] = d.result()
		default:
			next = d.work(n)
		}
		text.WriteString(lines(next...))
	}
	if d.IntN(3) > 0 {
		text.WriteString(d.result() + "\n")
	}
	if d.IntN(8) == 0 {
		return strings.TrimSuffix(text.String(), "\n")
	}
	return text.String()
}

// drawnTurn reads a stream, as the reader of a conversation does, and reports everything about it with say.
func drawnTurn(t *testing.T, d dice, calls bool, say func(string, ...any)) {
	t.Helper()
	whole := drawnStream(d, calls)
	limit := budget.USD(d.IntN(3)) * 20_000
	f := &transcript{responses: responses{prices: somePrices{}}, calls: &toolCalls{limit: limit, judge: drawnJudge{say}}}
	f.calls.forecast = f.forecast
	f.observe = func(kind, text string) { say("observe %s %q", kind, text) }
	f.calls.observe = f.observe
	f.calls.answer = func(line []byte) { say("answer %s", bytes.TrimSpace(line)) }
	f.calls.giveUp = func(err error) { say("give up %s", err) }
	f.onTurn = func(e turnEvent) { say("turn %d", e) }
	f.requestUsage = func() { say("request usage") }
	var open []func()
	patience := 2
	if calls {
		patience = 6
	}
	if d.IntN(2) == 0 {
		f.calls.person = func(q policy.Question, answer func(bool, string)) func() {
			allowed := d.IntN(2) == 0
			open = append(open, func() { answer(allowed, "a person says no") })
			return func() { say("cancel %s", q.Target) }
		}
	}
	kept := fnv.New32a()
	_ = d.IntN(9) // the streams that are drawn depend on it
	s := &stream{raw: kept, onLine: func(line []byte, cut bool) {
		f.onLine(line, cut)
		for _, answer := range open {
			if d.IntN(patience) == 0 {
				answer()
			}
		}
	}}
	if err := s.run(strings.NewReader(whole)); err != nil {
		t.Error(err)
	}
	if d.IntN(5) == 0 {
		f.calls.stop()
	}
	c := &conversation{agent: &Agent{}, transcript: f}
	c.exit = proc.Exit{Code: []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 128, -1}[d.IntN(12)], Contained: true}
	if c.exit.Code == -1 {
		c.exit.Signal = "SIGKILL"
	}
	if c.end.timeout, c.end.idle = time.Hour, time.Minute; d.IntN(9) == 0 {
		c.end.stop = []error{errTimeout, errIdle, errNoise, os.ErrClosed}[d.IntN(4)]
	}
	c.end.endedAfterTurn = d.IntN(9) == 0
	c.conclude("")
	turn := &turn{Agent: c.agent}
	turn.req.Cap = limit
	if d.IntN(3) == 0 {
		turn.req.Output = json.RawMessage(`{}`)
	}
	res := classifyTurn(c.end)
	turn.fillResult(&res, c)
	data, err := json.Marshal(res)
	if err != nil {
		t.Error(err)
	}
	say("kept %x", kept.Sum32())
	say("result %s", data)
	data, err = json.Marshal(questionAnswer(runner.Question{Schema: turn.req.Output}, c.end, f, limit))
	if err != nil {
		t.Error(err)
	}
	say("as an answer %s", data)
}

// TestStreams compares the results of drawn streams with those on file.
func TestStreams(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	long := regexp.MustCompile(`(?:long (?:\\\\)+ ?){20,}`)
	for n := range 420 {
		fmt.Fprintf(&all, "-- stream %d --\n", n)
		drawnTurn(t, dice{rand.New(rand.NewPCG(uint64(n), 2))}, n >= 300, func(format string, args ...any) {
			text := fmt.Sprintf(format, args...)
			length := func(s string) string { return fmt.Sprintf("<%d bytes>", len(s)) }
			fmt.Fprintln(&all, long.ReplaceAllStringFunc(text, length))
		})
	}
	path := filepath.Join("testdata", "streams.txt")
	if os.Getenv("WAVEX_UPDATE") != "" {
		testrepo.Must(t, os.WriteFile(path, []byte(all.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	testrepo.Must(t, err)
	stream, old := "", strings.Split(string(want), "\n")
	for i, now := range strings.Split(all.String(), "\n") {
		if strings.HasPrefix(now, "-- ") {
			stream = now
		}
		if i >= len(old) || now != old[i] {
			t.Fatalf("%s, line %d of %s differs: now\n%s", stream, i+1, path, now)
		}
	}
}
