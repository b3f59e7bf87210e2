package claude

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// These lines are shortened from the output of claude 2.1.330 and 2.1.258.
const (
	start330     = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_0000","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":600}}}},"session_id":"s","parent_tool_use_id":null,"uuid":"2cf1","api_message_id":"msg_0000"}`
	deltaText    = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}},"session_id":"s","parent_tool_use_id":null,"uuid":"8de7"}`
	assistant330 = `{"type":"assistant","message":{"id":"msg_0000","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"done"}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":600}}},"parent_tool_use_id":null,"session_id":"s","uuid":"aa"}`
	delta330     = `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"output_tokens":8000,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000}},"session_id":"s","parent_tool_use_id":null,"uuid":"ab","api_message_id":"msg_0000"}`
	delta258     = `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":8000}},"session_id":"s","parent_tool_use_id":null,"uuid":"ab"}`
	stop330      = `{"type":"stream_event","event":{"type":"message_stop"},"session_id":"s","parent_tool_use_id":null,"uuid":"ac","api_message_id":"msg_0000"}`
	result330    = `{"duration_api_ms":371,"stop_reason":"end_turn","session_id":"s","total_cost_usd":0.50971,"usage":{"input_tokens":10},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":20,"outputTokens":16000,"cacheReadInputTokens":200,"cacheCreationInputTokens":2000,"costUSD":0.50971}},"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":2,"subtype":"success","api_error_status":null,"result":"done","type":"result","duration_ms":1058,"uuid":"bed75704","result_index":0,"model_usage_since_last_result":{"claude-sonnet-4-5":{"inputTokens":10,"outputTokens":8000,"cacheReadInputTokens":100,"cacheCreationInputTokens":1000,"costUSD":0.00971}}}`
	result258    = `{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"done","session_id":"s","total_cost_usd":0.00971,"usage":{"input_tokens":10},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":10,"outputTokens":8000,"cacheReadInputTokens":100,"cacheCreationInputTokens":1000,"costUSD":0.00971}},"permission_denials":[],"terminal_reason":"completed","uuid":"6638ee7b"}`
	subagentLine = `{"type":"assistant","message":{"id":"msg_0001","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":200,"output_tokens":1}},"parent_tool_use_id":"toolu_0000_0","session_id":"s","uuid":"ba"}`
	usageAnswer  = `{"type":"control_response","response":{"subtype":"success","request_id":"wavex-spent","response":{"session":{"total_cost_usd":0.0125,"total_api_duration_ms":419,"model_usage":{"claude-sonnet-4-5":{"inputTokens":933,"costUSD":0.0125}}},"subscription_type":null,"rate_limits_available":false,"rate_limits":null,"behaviors":null}}}`
	usageRefused = `{"type":"control_response","response":{"subtype":"error","request_id":"wavex-spent","error":"Unsupported control request subtype: get_usage"}}`
	beforeAnswer = `{"type":"control_response","response":{"subtype":"success","request_id":"wavex-before","response":{"session":{"total_cost_usd":0.5,"model_usage":{}},"subscription_type":null,"behaviors":null}}}`
)

// begun and full are the costs of the response of start330 with flat prices, before and after its
// message_delta: 10 + 100 + 1000 + 600 again for the hour, and 1 or 8000 of output.
const (
	begun = 1711
	full  = 9710
)

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestBill(t *testing.T) {
	t.Parallel()
	session := strings.NewReplacer(`"model_usage_since_last_result"`, `"something_else"`)
	zero := strings.NewReplacer(`"total_cost_usd":0.00971`, `"total_cost_usd":0`, `"total_cost_usd":0.50971`,
		`"total_cost_usd":0`, `"costUSD":0.00971`, `"costUSD":0`)
	second := strings.NewReplacer("msg_0000", "msg_0002", "bed75704", "bed7", "6638ee7b", "6638", "0.50971", "0.51942",
		`_usd":0.00971`, `_usd":0.01942`)
	unfinished, another := lines(initLine, start330, assistant330), second.Replace(assistant330)
	uncounted := strings.NewReplacer(`"output_tokens":8000,`, ``)
	whole := lines(initLine, start330, assistant330, delta330)
	for _, tc := range []struct {
		name, stream string
		cost         budget.USD
		priced       string
		output       int64
	}{
		{"2.1.330: this turn, not the session", whole + lines(result330), full, "result", 8000},
		{"2.1.258: the process", lines(initLine, start330, assistant330, delta258, result258), full, "result", 8000},
		{"a session's total without the turn's: what it brought is taken off", lines(beforeAnswer) + whole +
			lines(session.Replace(result330)), full, "result", 8000},
		{"the same, and nothing is known of what it brought: the larger", whole + lines(session.Replace(result330)), 509_710,
			"result", 16_000},
		{"a total that began anew", lines(beforeAnswer) + whole + lines(result258), full, "result", 8000},
		{"a result printed twice", whole + lines(result330, result330), full, "result", 8000},
		{"two turns, 2.1.330", whole + lines(result330) + second.Replace(whole+lines(result330)), 2 * full, "result", 16_000},
		{"two turns, 2.1.258", whole + lines(result258) + second.Replace(whole+lines(result258)), 2 * full, "result", 8000},
		{"killed: the final usage", whole, full, "stream", 8000},
		{"killed, 2.1.258: the input from its begin", lines(initLine, start330, assistant330, delta258), full,
			"stream", 8000},
		{"killed during a response: what it began with", lines(initLine, start330, deltaText, assistant330), begun,
			"stream", 1},
		{"killed during the second", whole + second.Replace(lines(start330)), full + begun, "stream", 8001},
		{"killed in the middle of a line", whole + start330[:300], full, "stream", 8000},
		{"a line of text that was cut off is no stranger's", lines(initLine) + `{"duration_api`, 0, "stream", 0},
		{"killed in a turn after the result", whole + lines(result330) + second.Replace(whole), 2 * full, "stream", 16_000},
		{"interrupted, 2.1.258: the response that was broken off is not in the figure",
			whole + second.Replace(lines(start330)) + lines(result258), full + begun, "result", 8000},
		{"without partial messages", lines(initLine, assistant330, result258), full, "result", 8000},
		{"killed without partial messages", lines(initLine, assistant330), begun, "stream", 1},
		{"killed, and a response ended without its final usage: the cap",
			unfinished + second.Replace(lines(start330)), 20_000, "cap", 2},
		{"killed, and a part of the stream is left out", whole + "... 9 bytes left out ...\n" + second.Replace(whole),
			20_000, "cap", 16_000},
		{"the same with a result, which may be of the last turn only", whole + "\n... 9 bytes left out ...\n" +
			lines(result330), 20_000, "cap", 8000},
		{"the same in lines without events", lines(initLine, assistant330, another), 20_000, "cap", 2},
		{"final usages without counts", uncounted.Replace(whole + second.Replace(whole)), 20_000, "cap", 2},
		{"no final usage, and a result", unfinished + second.Replace(lines(start330, result258)), 2 * full, "result", 8000},
		{"nothing but the answer to /clear", lines(sharedLine, cleared), 0, "", 0},
		{"a model that cost nothing is in the figure", whole + lines(strings.Replace(result258, `"modelUsage":{`,
			`"modelUsage":{"n":{"costUSD":0},`, 1)), full, "result", 8000},
		{"zero with tokens: the table", whole + lines(zero.Replace(result258)), full, "table", 8000},
		{"zero with tokens, 2.1.330", whole + lines(zero.Replace(result330)), full, "table", 8000},
		{"a micro-dollar too little, as both are rounded", whole + lines(strings.Replace(result258, `usd":0.00971`,
			`usd":0.009709`, 1)), full - 1, "result", 8000},
		{"two micro-dollars too little: the table", whole + lines(strings.Replace(result258, `usd":0.00971`,
			`usd":0.009708`, 1)), full, "table", 8000},
		{"a figure with a response too little", whole + second.Replace(whole) + lines(result258), 2 * full, "table", 16_000},
		{"a subagent's is in the figure", whole + lines(subagentLine, strings.Replace(result330, `"costUSD":0.00971`,
			`"costUSD":0.0125`, 2)), 12_500, "result", 8000},
		{"killed with a subagent: what the CLI told", whole + lines(subagentLine, usageAnswer), 12_500, "stream", 8001},
		{"what the CLI told, and a response since", whole + lines(subagentLine, usageAnswer) + second.Replace(whole),
			12_500 + full, "stream", 16_001},
		{"the response under way is not in what the CLI told", lines(initLine, start330, usageAnswer, delta330),
			12_500 + full, "stream", 8000},
		{"an answer after the result says nothing new", whole + lines(result330, usageAnswer), full, "result", 8000},
		{"a CLI that cannot tell", whole + lines(subagentLine, usageRefused), full + 201, "stream", 8001},
		{"a total that a session brought, told too late", whole + lines(beforeAnswer, session.Replace(result330)), 509_710,
			"result", 16_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := recoverCost(strings.NewReader(tc.stream), flatPrices{}, 20_000)
			if err != nil || s.Cost != tc.cost || s.Priced != tc.priced || s.Usage.Output != tc.output {
				t.Errorf("%+v, %v; want %d %q, output %d", s, err, tc.cost, tc.priced, tc.output)
			}
		})
	}
}

// The CLI's figure is recorded even if another one counts.
func TestDisputed(t *testing.T) {
	t.Parallel()
	f := parse(t, strings.NewReader(lines(initLine, start330, delta330, start330[:len(start330)-4]+`x"}`,
		strings.Replace(result258, `usd":0.00971`, `usd":0.0001`, 1))))
	if b := f.bill(99); b.Cost != full || b.Priced != "table" || b.Disputed != 100 {
		t.Errorf("%+v", b)
	}
}

// For a model that the table does not list, the figure of the CLI counts, and the price of later responses is a guess.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]runner.Bill{
		lines(initLine, start330, delta330):              {Cost: full, Priced: "guess"},
		lines(initLine, start330, delta330, usageAnswer): {Cost: 12_500, Priced: "stream"},
		lines(initLine, start330, delta330, result258):   {Cost: full, Priced: "result"},
		lines(usageAnswer, start330):                     {Cost: 12_500 + begun, Priced: "guess"},
		lines(initLine, start330, usageAnswer, delta330): {Cost: 12_500 + full, Priced: "guess"},
		lines(initLine, start330, delta330, strings.Replace(result258, `usd":0.00971`, `usd":0.0001`, 1)): {Cost: 100,
			Priced: "result"},
		lines(initLine, start330, delta330, strings.Replace(result258, `usd":0.00971`, `usd":0`, 1)): {Cost: full,
			Priced: "guess"},
	} {
		s, err := recoverCost(strings.NewReader(stream), noPrices{}, 99)
		if err != nil || s.Cost != want.Cost || s.Priced != want.Priced {
			t.Errorf("%s\n%+v, %v; want %+v", stream, s, err, want)
		}
	}
}

// Parts of messages are neither kept nor parsed, for any split of the input and any order of their
// keys; everything else is kept.
func TestPartialMessagesAreDropped(t *testing.T) {
	t.Parallel()
	turned := `{"session_id":"s","event":{"index":0,"type":"content_block_delta","delta":{"text":"y"}},"type":"stream_event"}`
	huge := long(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"`, 3*chunkSize, `"}}}`)
	turnedDelta := `{"session_id":"s","event":{"type":"message_delta","usage":{"output_tokens":8000}},` +
		`"type":"stream_event"}`
	kept := []string{initLine, start330, assistant330, delta330, userLine, "some words",
		long(`{"session_id":"s","message":"`, 2*chunkSize, `","type":"user"}`), turnedDelta, result330}
	come := []string{initLine, start330, deltaText, turned, assistant330, stop330, delta330, huge, userLine, deltaText,
		kept[5], kept[6], stop330, turnedDelta, result330, deltaText}
	for step := range 3 {
		var raw bytes.Buffer
		looked := 0
		f := listPriced()
		s := &stream{raw: &raw, onLine: func(l []byte, cut bool) { looked++; f.onLine(l, cut) }}
		testrepo.Must(t, s.run(cutReader{strings.NewReader(lines(come...)), 1 + step*(chunkSize/2+7)}))
		if raw.String() != lines(kept...) {
			t.Errorf("step %d: kept %.300q", step, raw.String())
		}
		if b := f.bill(0); b.Cost != full || b.Priced != "result" || looked != 9 {
			t.Errorf("step %d: %+v, looked at %d lines", step, b, looked)
		}
	}
}

// Only one question is open at a time; another follows if something happened meanwhile.
func TestUsageRequests(t *testing.T) {
	t.Parallel()
	asked := 0
	f := listPriced()
	f.requestUsage = func() { asked++ }
	tell := func(l ...string) {
		for _, l := range l {
			f.onLine([]byte(l), false)
		}
	}
	tell(initLine, start330, assistant330, delta330)
	if asked != 0 {
		t.Errorf("asked %d times for what the stream tells", asked)
	}
	progress := `{"type":"system","subtype":"task_progress","task_id":"t","usage":{"total_tokens":50222}}`
	tell(subagentLine, progress, progress)
	if asked != 1 {
		t.Errorf("asked %d times before an answer", asked)
	}
	tell(usageAnswer)
	if asked != 2 {
		t.Errorf("asked %d times, with news since the first", asked)
	}
	tell(usageAnswer)
	tell(strings.Replace(usageAnswer, `"behaviors":null`, `"behaviors":{"day":{}}`, 1), progress)
	if asked != 2 {
		t.Errorf("asked %d times on a subscription, whose answers are dear", asked)
	}
	f = listPriced()
	f.requestUsage = func() { asked++ }
	tell(progress, usageRefused, progress)
	if asked != 3 {
		t.Errorf("asked %d times of a CLI that cannot tell", asked)
	}
}

// The answer to an interrupt tells nothing of the cost, and neither does a result without a figure.
func TestNoFigure(t *testing.T) {
	t.Parallel()
	f := listPriced()
	asked := 0
	f.requestUsage = func() { asked++ }
	for _, l := range []string{initLine, textLine,
		`{"type":"control_response","response":{"subtype":"success","request_id":"wavex-stop","response":{}}}`,
		strings.Replace(resultGood, `"total_cost_usd":0.00625,`, "", 1)} {
		f.onLine([]byte(l), false)
	}
	if b := f.bill(99); b.Priced != "stream" || b.Cost != 1341 || f.requestUsage == nil {
		t.Errorf("the bill is %+v; it may ask: %v", b, f.requestUsage != nil)
	}
}

// The bill is at least the API's charges except for one response in progress, and equal to them if
// the stream is complete, for every mix of responses, subagents and results, on a CLI that counts
// by process, by session, or by turn.
func TestBillIsWhatWasCharged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		byTurn, bySession := rapid.Bool().Draw(t, "turn"), rapid.Bool().Draw(t, "session")
		before := 0
		var b strings.Builder
		if bySession && rapid.Bool().Draw(t, "resumed") {
			before = rapid.IntRange(1, 1_000_000).Draw(t, "before")
			b.WriteString(strings.Replace(beforeAnswer, "0.5,", fmt.Sprintf("%.6f,", float64(before)/1e6), 1) + "\n")
		}
		b.WriteString(initLine + "\n")
		charged, since, seen := 0, 0, 0 // micro-dollars: all, since the last result, as reported by the stream or the CLI
		open := false                   // a response was cancelled: CLIs differ in whether they count it
		tell := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
		for i := range rapid.IntRange(0, 12).Draw(t, "steps") {
			in, out := rapid.IntRange(1, 500).Draw(t, "in"), rapid.IntRange(2, 8000).Draw(t, "out")
			switch rapid.SampledFrom([]string{"whole", "whole", "sub", "side", "result", "cut"}).Draw(t, "kind") {
			case "whole":
				charged, since, seen = charged+in+out, since+in+out, seen+in+out
				tell(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m%d","model":"x","usage":{"input_tokens":%d,"output_tokens":1}}},"parent_tool_use_id":null}`, i, in)
				tell(`{"type":"assistant","message":{"id":"m%d","model":"x","usage":{"input_tokens":%d,"output_tokens":1}},"parent_tool_use_id":null}`, i, in)
				tell(`{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":%d}},"parent_tool_use_id":null}`, out)
			case "sub":
				charged, since = charged+in+out, since+in+out
				tell(`{"type":"assistant","message":{"id":"m%d","model":"x","usage":{"input_tokens":%d,"output_tokens":1}},"parent_tool_use_id":"t"}`, i, in)
				tell(strings.Replace(usageAnswer, "0.0125,", fmt.Sprintf("%.6f,", float64(charged+before)/1e6), 1))
				seen = charged
			case "side":
				charged, since = charged+in+out, since+in+out
			case "result":
				turn := ""
				if byTurn {
					turn = fmt.Sprintf(`,"model_usage_since_last_result":{"x":{"costUSD":%.6f}}`, float64(since)/1e6)
				}
				tell(`{"type":"result","subtype":"success","total_cost_usd":%.6f,"uuid":"r%d"%s}`, float64(charged+before)/1e6, i,
					turn)
				since, seen = 0, charged
			case "cut":
				tell(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m%d","model":"x","usage":{"input_tokens":%d,"output_tokens":1}}},"parent_tool_use_id":null}`, i, in)
				charged, since, seen, open = charged+in+1, since+in+1, seen+in+1, true
			}
		}
		s, err := recoverCost(strings.NewReader(b.String()), flatPrices{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if int(s.Cost) < seen || seen == charged && !open && int(s.Cost) != charged {
			t.Fatalf("%d by %s, charged %d, told of %d\n%s", s.Cost, s.Priced, charged, seen, b.String())
		}
	})
}
