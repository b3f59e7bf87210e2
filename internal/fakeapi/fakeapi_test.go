package fakeapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wavex/internal/fakeapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client sends requests as the CLI does. Its connections end with the test.
type client struct {
	t    *testing.T
	http *http.Client
	url  string
}

func dial(t *testing.T, srv *fakeapi.Server) client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return client{t, &http.Client{Transport: tr}, srv.URL()}
}

func body(stream bool, users ...string) string {
	var messages []string
	for i, u := range users {
		if i > 0 {
			messages = append(messages, `{"role":"assistant","content":[{"type":"text","text":"ok"}]}`)
		}
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, u))
	}
	return fmt.Sprintf(`{"model":"m-1","stream":%v,"system":"Primary working directory: /repo","messages":[%s]}`,
		stream, strings.Join(messages, ","))
}

// post sends a body and returns the status and the whole answer; err means a broken answer.
func (c client) post(ctx context.Context, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// names returns the event names of a stream, and the joined text of its deltas.
func names(stream string) (events []string, joined string) {
	sc := bufio.NewScanner(strings.NewReader(stream))
	for sc.Scan() {
		if name, ok := strings.CutPrefix(sc.Text(), "event: "); ok {
			events = append(events, name)
		}
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			var d struct {
				Delta struct {
					Text        string `json:"text"`
					PartialJSON string `json:"partial_json"`
				} `json:"delta"`
			}
			_ = json.Unmarshal([]byte(data), &d)
			joined += d.Delta.Text + d.Delta.PartialJSON
		}
	}
	return events, joined
}

func TestStream(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{
		{Text: "now a long enough text", Tools: []fakeapi.Tool{fakeapi.Write("a.txt", "content")}},
	}}}})
	status, got, err := dial(t, srv).post(t.Context(), body(true, "go"))
	if err != nil || status != 200 {
		t.Fatalf("status %d, %v", status, err)
	}
	events, joined := names(got)
	want := "message_start content_block_start content_block_delta content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if strings.Join(events, " ") != want {
		t.Errorf("events %v\nwant   %s", events, want)
	}
	// The relative path is resolved against the directory of the system prompt.
	if joined != `now a long enough text{"content":"content","file_path":"/repo/a.txt"}` {
		t.Errorf("deltas say %q", joined)
	}
	if !strings.Contains(got, `"stop_reason":"tool_use"`) {
		t.Errorf("no stop reason tool_use in %s", got)
	}
}

func TestPlainJSON(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{fakeapi.Text("hello")}}}})
	_, got, err := dial(t, srv).post(t.Context(), body(false, "go"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		StopReason string `json:"stop_reason"`
		Content    []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(got), &m); err != nil || m.StopReason != "end_turn" || m.Content[0].Text != "hello" {
		t.Errorf("%s: %v", got, err)
	}
}

func TestErrorsAndHeaders(t *testing.T) {
	t.Parallel()
	reset := time.Unix(1_900_000_000, 0)
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{
		{Status: 529, Message: "busy", Count: 2, Header: map[string]string{"Retry-After": "3"}},
		fakeapi.UsageLimit("five_hour", reset),
	}}}})
	c := dial(t, srv)
	for range 2 {
		status, got, _ := c.post(t.Context(), body(true, "go"))
		if status != 529 || !strings.Contains(got, "overloaded_error") || !strings.Contains(got, "busy") {
			t.Errorf("status %d, %s", status, got)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+"/v1/messages",
		strings.NewReader(body(true, "go")))
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 429 || res.Header.Get("anthropic-ratelimit-unified-5h-reset") != "1900000000" ||
		res.Header.Get("anthropic-ratelimit-unified-status") != "rejected" {
		t.Errorf("status %d, headers %v", res.StatusCode, res.Header)
	}
}

func TestAgentsAnswerTheirOwn(t *testing.T) {
	t.Parallel()
	last := fakeapi.Text("again")
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{
		{When: fakeapi.Prompt("Task: T-001"), Steps: []fakeapi.Reply{fakeapi.Text("one"), fakeapi.Text("two")}},
		{When: fakeapi.All(func(r *fakeapi.Request) bool { return r.LastUser() == "more" },
			fakeapi.System("/repo")), Steps: []fakeapi.Reply{fakeapi.Text("three")}},
		{Then: &last},
		{When: fakeapi.Prompt("never"), Steps: nil},
	}})
	c := dial(t, srv)
	for _, step := range []struct{ body, want string }{
		{body(false, "Task: T-001 do"), "one"},
		{body(false, "start", "more"), "three"},
		{body(false, "Task: T-001 do", "more"), "two"},
		{body(false, "x"), "again"},
		{body(false, "y"), "again"},
	} {
		if _, got, err := c.post(t.Context(), step.body); err != nil || !strings.Contains(got, `"text":"`+step.want+`"`) {
			t.Errorf("%s\nanswered %s, want %s (%v)", step.body, got, step.want, err)
		}
	}
}

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	srv, err := fakeapi.Start(fakeapi.Script{Agents: []*fakeapi.Agent{
		{Name: "first", When: fakeapi.Prompt("one"), Steps: []fakeapi.Reply{fakeapi.Text("a")}},
		{Name: "lazy", When: fakeapi.Prompt("two"), Steps: []fakeapi.Reply{fakeapi.Text("b"), fakeapi.Text("c").Times(3)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, srv)
	for _, prompt := range []string{"one", "one", "stranger", "two", "two"} {
		_, _, _ = c.post(t.Context(), body(true, prompt))
	}
	_, _, _ = c.post(t.Context(), "not json")
	srv.Charged()
	faults := strings.Join(srv.Close(), "\n")
	for _, want := range []string{
		"request 1: agent first has no step left (after 1)",
		"request 2: no agent answers it",
		"agent lazy: step 2 of 2 was not asked for (1 of its 3 times)",
		"request 5: body is not a Messages request",
		`no price for model "m-1"`,
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("faults lack %q:\n%s", want, faults)
		}
	}
}

func TestScriptErrorsFailTheTest(t *testing.T) {
	t.Parallel()
	tb := &recorder{}
	fakeapi.New(tb, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{fakeapi.Text("unused")}}}})
	tb.cleanup()
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "step 1 of 1 was not asked for") {
		t.Errorf("errors %q", tb.errors)
	}
}

type recorder struct {
	errors  []string
	cleanup func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...) }
func (r *recorder) Cleanup(f func())          { r.cleanup = f }

func TestLatchHoldsTwoRequests(t *testing.T) {
	t.Parallel()
	gate := fakeapi.NewLatch()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{
		fakeapi.Text("held").WaitingFor(gate), fakeapi.Text("held in the stream").WaitingAfter(2, gate),
	}}}})
	c := dial(t, srv)
	var wg sync.WaitGroup
	for _, prompt := range []string{"one", "two"} {
		wg.Go(func() {
			if status, got, err := c.post(t.Context(), body(true, prompt)); err != nil || status != 200 ||
				!strings.Contains(got, "message_stop") {
				t.Errorf("status %d, %v, %s", status, err, got)
			}
		})
	}
	for _, prompt := range []string{"two", "one"} {
		if _, err := srv.Wait(t.Context(), fakeapi.Prompt(prompt)); err != nil {
			t.Error(err)
		}
	}
	if srv.Peak() != 2 {
		t.Errorf("peak %d, want 2", srv.Peak())
	}
	gate.Open()
	gate.Open()
	wg.Wait()
}

func TestCloseReleasesWaitingReplies(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{
		fakeapi.Text("never").WaitingFor(fakeapi.NewLatch()), {Delay: time.Hour},
	}}}})
	c := dial(t, srv)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, got, err := c.post(t.Context(), body(true, "go")); err == nil && strings.Contains(got, "message_stop") {
				t.Errorf("a held reply was answered: %s", got)
			}
		})
	}
	_, err := srv.Wait(t.Context(), func(r *fakeapi.Request) bool { return r.Index == 1 })
	if err != nil {
		t.Error(err)
	}
	srv.Close()
	wg.Wait()
}

func TestCut(t *testing.T) {
	t.Parallel()
	prices := fakeapi.Prices{"m": {Input: 1_000_000, Output: 5_000_000}}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{
		fakeapi.Reply{Cut: true}.WithUsage(fakeapi.Usage{Input: 7, Output: 9}),
		fakeapi.Text("words that get lost").CutAfter(3).WithUsage(fakeapi.Usage{Input: 7, Output: 9}),
	}}}})
	c := dial(t, srv)
	if _, _, err := c.post(t.Context(), body(true, "go")); err == nil {
		t.Error("no error from a connection that was cut")
	}
	_, got, err := c.post(t.Context(), body(true, "go"))
	if events, _ := names(got); err == nil || len(events) != 3 {
		t.Errorf("got %v and %v, want three events and a broken connection", events, err)
	}
	if srv.Charged() != 7+5 {
		t.Errorf("charged %d, want the input and the first token of the second reply", srv.Charged())
	}
}

func TestCompute(t *testing.T) {
	t.Parallel()
	echo := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		return fakeapi.Text(fmt.Sprintf("turn %d of %s: %s", r.Turn(), r.Model(), r.LastUser()))
	})
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Then: &echo}}})
	if _, got, _ := dial(t, srv).post(t.Context(), body(false, "a", "b", "c")); !strings.Contains(got,
		"turn 2 of m-1: c") {
		t.Error(got)
	}
}

func TestToolTurns(t *testing.T) {
	t.Parallel()
	cutOff := `{"type":"tool_result","tool_use_id":"t1","is_error":true,
		"content":"[Tool call interrupted: the session ended"}`
	denied := `{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"not allowed"}`
	for want, results := range []string{cutOff, cutOff + "," + denied} {
		r := &fakeapi.Request{Body: []byte(`{"messages":[{"role":"user","content":[` + results + `]}]}`)}
		if got := r.ToolTurns(); got != want || r.Err() != nil {
			t.Errorf("ToolTurns = %d, %v after %s, want %d", got, r.Err(), results, want)
		}
	}
}

func TestRequestReadsToolResults(t *testing.T) {
	t.Parallel()
	r := &fakeapi.Request{Body: []byte(`{"tools":[{"name":"Bash"},{"name":"Read"}],"system":[{"type":"text","text":"S1"},{"type":"text","text":"S2"}],
		"messages":[{"role":"user","content":"first"},{"role":"assistant","content":[]},{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"t1","content":"plain"},
		{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"bad"}]},
		{"type":"text","text":"and words"}]}]}`)}
	got := fmt.Sprintf("%v|%v|%s|%s|%s|%v", r.ToolResults(), r.Tools(), r.System(), r.LastUser(), r.Users(), r.Err())
	want := "[{t1 plain false} {t2 bad true}]|[Bash Read]|S1\nS2|and words|first\nand words|<nil>"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The cache serves whole marked parts from the start of the request, up to the first difference.
func TestOtherEndpoints(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{})
	c := dial(t, srv)
	for path, want := range map[string]int{"/v1/messages/count_tokens?beta=true": 200, "/api/other": 404} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL()+path,
			strings.NewReader(body(false, "go")))
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	if len(srv.Requests()) != 2 || len(srv.Messages(nil)) != 0 || srv.Peak() != 0 {
		t.Errorf("recorded %d requests, %d messages, peak %d", len(srv.Requests()), len(srv.Messages(nil)), srv.Peak())
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{})
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := srv.Wait(ctx, fakeapi.Prompt("x")); !errors.Is(err, enough) {
		t.Errorf("err %v, want the context's cause", err)
	}
}

// A held request ends with its client, and only then is the server idle.
func TestIdleWaitsForCutConnections(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: []fakeapi.Reply{
		fakeapi.Text("held").WaitingFor(fakeapi.NewLatch()),
	}}}})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	c := dial(t, srv)
	go func() {
		defer close(left)
		_, _, _ = c.post(ctx, body(true, "go"))
	}()
	if _, err := srv.Wait(t.Context(), fakeapi.Prompt("go")); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := srv.Idle(over); !errors.Is(err, enough) {
		t.Errorf("idle with a request in flight: %v", err)
	}
	leave()
	<-left
	if err := srv.Idle(t.Context()); err != nil || srv.Charged() != 0 {
		t.Errorf("%v, charged %d", err, srv.Charged())
	}
}

// Charged returns the sum of the costs of all replies, exact to the micro-dollar.
func TestChargedIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tokens := rapid.Int64Range(0, 100_000)
		usages := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) fakeapi.Usage {
			return fakeapi.Usage{Input: tokens.Draw(rt, "in") + 1, Output: tokens.Draw(rt, "out"),
				CacheRead: tokens.Draw(rt, "read") * 10, CacheWrite: tokens.Draw(rt, "write") * 4}
		}), 1, 4).Draw(rt, "usages")
		price := fakeapi.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}
		var steps []fakeapi.Reply
		var want int64
		for _, u := range usages {
			steps = append(steps, fakeapi.Text("x").WithUsage(u))
			want += 3*u.Input + 15*u.Output + 3*(u.CacheRead/10) + 15*(u.CacheWrite/4)
		}
		srv, err := fakeapi.Start(fakeapi.Script{Agents: []*fakeapi.Agent{{Steps: steps}},
			Prices: fakeapi.Prices{"m": price, "m-1": price, "m-12": {}}})
		if err != nil {
			rt.Fatal(err)
		}
		defer srv.Close()
		c := dial(t, srv)
		for i := range usages {
			if _, _, err := c.post(t.Context(), body(i%2 == 0, "go")); err != nil {
				rt.Fatal(err)
			}
		}
		if got := srv.Charged(); int64(got) != want {
			rt.Fatalf("charged %d, want %d", got, want)
		}
	})
}
