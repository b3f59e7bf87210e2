package counsel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/runner"
)

const testKey = "sk-ant-very-secret"

// apiServer answers each request with the next of its replies. It fails the test for a request
// without a reply and for a reply that was not requested.
type apiServer struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func serve(t *testing.T, replies ...http.HandlerFunc) *apiServer {
	t.Helper()
	s := &apiServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading a request: %v", err)
		}
		s.mu.Lock()
		n := len(s.bodies)
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != testKey ||
			r.Header.Get("Anthropic-Version") == "" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if n >= len(replies) {
			t.Errorf("request %d, scripted %d", n+1, len(replies))
			return
		}
		replies[n](w, r)
	}))
	t.Cleanup(func() {
		s.Close()
		if len(s.bodies) != len(replies) {
			t.Errorf("%d requests, scripted %d", len(s.bodies), len(replies))
		}
	})
	return s
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func apiError(code int, kind string) http.HandlerFunc {
	return status(code, fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"no, %s"}}`, kind, testKey))
}

const (
	testModel = "claude-sonnet-4-5-20250929"
	usage     = `"usage":{"input_tokens":1000,"output_tokens":200,"cache_read_input_tokens":50,"cache_creation_input_tokens":10}`
	message   = `{"model":"` + testModel + `","stop_reason":"tool_use","content":[{"type":"text","text":"Well."},` +
		`{"type":"tool_use","id":"t1","name":"answer","input":{"action":"retry"}}],` + usage + `}`
)

func prices(t *testing.T) budget.Prices {
	t.Helper()
	p, err := budget.LoadPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func api(t *testing.T, url string) *API {
	t.Helper()
	return &API{BaseURL: url, Key: testKey, Model: testModel, Prices: prices(t), Wait: time.Nanosecond}
}

func question() runner.Question {
	return runner.Question{Name: "counsel/tester", System: "You test.", Prompt: "stuck on x",
		Schema: json.RawMessage(OpinionSchema)}
}

func TestAPIAsks(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, message))
	q := question()
	q.LogDir = filepath.Join(t.TempDir(), "a", "b")
	a := api(t, s.URL)
	a.Key += "\n" // as read from a file
	ans := a.Ask(t.Context(), q)
	same(t, "outcome", ans.Outcome, runner.Done)
	same(t, "structured", string(ans.Structured), `{"action":"retry"}`)
	same(t, "text", ans.Text, "Well.")
	same(t, "usage", ans.Usage, runner.Usage{Input: 1000, Output: 200, CacheRead: 50, CacheWrite: 10})
	want, ok := a.Prices.Cost(testModel, 1000, 200, 50, 10)
	if !ok || want == 0 {
		t.Fatal("the model has no price")
	}
	same(t, "cost", ans.Cost, want)
	same(t, "priced", ans.Priced, "stream")

	var r apiRequest
	if err := json.Unmarshal(s.bodies[0], &r); err != nil {
		t.Fatal(err)
	}
	same(t, "model", r.Model, testModel)
	same(t, "system and prompt", r.System+r.Messages[0].Role+r.Messages[0].Content, "You test.userstuck on x")
	same(t, "max tokens", r.MaxTokens, int64(maxOutput))
	same(t, "tool", r.Tools[0].Name+" "+string(r.Tools[0].InputSchema), "answer "+OpinionSchema)
	same(t, "forced", *r.ToolChoice, apiChoice{"tool", "answer"})
	for name, want := range map[string]string{"prompt.md": "stuck on x", "request.json": string(s.bodies[0]),
		"result.json": message} {
		data, err := os.ReadFile(filepath.Join(q.LogDir, name))
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, string(data), want)
	}
}

func TestAPIFreeText(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, `{"model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],`+usage+`}`))
	q := question()
	q.Schema = nil
	ans := api(t, s.URL).Ask(t.Context(), q)
	same(t, "answer", string(ans.Outcome)+" "+ans.Text, "done ab")
	if strings.Contains(string(s.bodies[0]), "tool") {
		t.Error("free text needs no tool")
	}
	// The API names a model without a price; the requested model has one.
	same(t, "priced", ans.Priced, "stream")
}

func TestAPIFailures(t *testing.T) {
	t.Parallel()
	twice := func(h http.HandlerFunc) []http.HandlerFunc { return []http.HandlerFunc{h, h, h} }
	hangUp := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	for _, tt := range []struct {
		name    string
		replies []http.HandlerFunc
		outcome runner.Outcome
		reason  string
		priced  string
	}{
		{"429, then an answer", []http.HandlerFunc{apiError(429, "rate_limit_error"), status(200, message)}, runner.Done,
			"", "stream"},
		{"429 that asks for an hour", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}}, runner.Throttled, "HTTP 429", ""},
		{"500, 529, then an answer", []http.HandlerFunc{status(500, "oops"), apiError(529, "overloaded_error"),
			status(200, message)}, runner.Done, "", "stream"},
		{"529 forever", twice(apiError(529, "overloaded_error")), runner.Throttled, "HTTP 529 overloaded_error: no, [key]",
			""},
		{"500 forever", twice(status(500, "<html>")), runner.Throttled, "HTTP 500", ""},
		{"503 without a word", twice(status(503, "<html>")), runner.Throttled, "HTTP 503", ""},
		{"401", []http.HandlerFunc{apiError(401, "authentication_error")}, runner.Unauthorised,
			"HTTP 401 authentication_error: no, [key]", ""},
		{"out of credit", []http.HandlerFunc{apiError(402, "billing_error")}, runner.Unauthorised,
			"HTTP 402 billing_error: no, [key]", ""},
		{"no such model", []http.HandlerFunc{apiError(404, "not_found_error")}, runner.Broken,
			"HTTP 404 not_found_error: no, [key]", ""},
		{"hangs up after the request", []http.HandlerFunc{hangUp}, runner.Throttled, "the API cannot be reached: EOF", "cap"},
		{"no JSON", []http.HandlerFunc{status(200, "hello")}, runner.Truncated, "the API's answer is not a message", "cap"},
		{"cut in the middle", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, message[:50])
		}}, runner.Throttled, "the API cannot be reached: unexpected EOF", "cap"},
		{"a refusal, cut in the middle", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			status(400, `{"type":"error"`)(w, nil)
		}}, runner.Throttled, "the API cannot be reached: unexpected EOF", ""},
		{"endless", []http.HandlerFunc{status(200, strings.Repeat(" ", maxReply+1))}, runner.Throttled,
			"the API cannot be reached: the answer is longer than 1 MB", "cap"},
		{"no tool used", []http.HandlerFunc{status(200, `{"stop_reason":"end_turn","content":[{"type":"text","text":"no"}],`+
			usage+`}`)},
			runner.Wrong, "the model did not answer in the form asked for", "stream"},
		{"another tool", []http.HandlerFunc{status(200, strings.Replace(message, toolName, "other", 1))}, runner.Wrong,
			"the model did not answer in the form asked for", "stream"},
		{"cut by length", []http.HandlerFunc{status(200, strings.Replace(message, `"tool_use"`, `"max_tokens"`, 1))},
			runner.Wrong, "the answer was cut after 4096 tokens", "stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.replies...)
			a := api(t, s.URL)
			a.Retries = 2
			ans := a.Ask(t.Context(), question())
			same(t, "outcome", ans.Outcome, tt.outcome)
			same(t, "reason", ans.Reason, tt.reason)
			same(t, "priced", ans.Priced, tt.priced)
			same(t, "paid", ans.Cost > 0, tt.priced != "")
			same(t, "structured", len(ans.Structured) > 0, tt.outcome == runner.Done)
		})
	}
}

// transport answers without a network, so that the test can simulate time.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAPITimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, q := api(t, "http://api.invalid"), question()
		a.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		q.Timeout, q.Cap = time.Minute, budget.Dollar
		ans := a.Ask(t.Context(), q)
		same(t, "outcome", ans.Outcome, runner.TimedOut)
		same(t, "reason", ans.Reason, "no answer from the API in time")
		same(t, "duration", ans.Duration, time.Minute)
		// The API may have gone on working. The cost is the highest possible one for these
		// tokens, within the cap.
		if ans.Priced != "cap" || ans.Cost <= 0 || ans.Cost > q.Cap {
			t.Errorf("cost %d by %q", ans.Cost, ans.Priced)
		}
	})
}

func TestAPITimeoutBetweenRetriesCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, q := api(t, "http://api.invalid"), question()
		var at []time.Duration
		start := time.Now()
		a.Client = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
		})}
		a.Wait, q.Timeout = 0, 6*time.Second
		ans := a.Ask(t.Context(), q)
		same(t, "outcome", ans.Outcome, runner.TimedOut)
		same(t, "cost", ans.Cost, budget.USD(0))
		same(t, "requests", at, []time.Duration{0, time.Second, 3 * time.Second})
	})
}

func TestAPIInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { cancel(); <-release })
	ans := api(t, s.URL).Ask(ctx, question())
	close(release)
	same(t, "outcome", ans.Outcome, runner.Interrupted)
	same(t, "priced", ans.Priced, "cap")
}

func TestAPICapBoundsTheAnswer(t *testing.T) {
	t.Parallel()
	p := prices(t)
	cut := strings.Replace(message, `"tool_use"`, `"max_tokens"`, 1)
	s := serve(t, status(200, cut))
	q := question()
	q.Cap = 10_000
	ans := api(t, s.URL).Ask(t.Context(), q)
	same(t, "outcome", ans.Outcome, runner.OverCap)
	var r apiRequest
	if err := json.Unmarshal(s.bodies[0], &r); err != nil {
		t.Fatal(err)
	}
	input := int64(len(q.System)+len(q.Prompt)+len(q.Schema))/bytesPerToken + tokensAround
	within, _ := p.Cost(testModel, input, r.MaxTokens, 0, 0)
	beyond, _ := p.Cost(testModel, input, r.MaxTokens+1, 0, 0)
	if within > q.Cap || beyond <= q.Cap || r.MaxTokens >= maxOutput {
		t.Errorf("%d tokens: %d, one more: %d, cap %d", r.MaxTokens, within, beyond, q.Cap)
	}
}

// A cap that pays for exactly some tokens buys them all.
func TestAPICapIsUsedUp(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, message))
	q := question()
	input := int64(len(q.System)+len(q.Prompt)+len(q.Schema))/bytesPerToken + tokensAround
	q.Cap, _ = prices(t).Cost(testModel, input, 1000, 0, 0)
	api(t, s.URL).Ask(t.Context(), q)
	var r apiRequest
	if err := json.Unmarshal(s.bodies[0], &r); err != nil {
		t.Fatal(err)
	}
	same(t, "tokens", r.MaxTokens, int64(1000))
}

// closing is the body of a response that reports its Close.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error { *c.closed = true; return nil }

// Statuses below 500 are no failure of the server: nothing is sent again. Each response is closed.
func TestAPIStatuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status   int
		reply    string
		outcome  runner.Outcome
		reason   string
		requests int
	}{
		{499, `{"error":{"type":"gone","message":"closed"}}`, runner.Broken, "HTTP 499 gone: closed", 1},
		{500, `{}`, runner.Throttled, "HTTP 500", 2},
		{529, "busy", runner.Throttled, "HTTP 529", 2},
	} {
		a := api(t, "http://api.invalid")
		closed, requests := false, 0
		a.Retries = 1
		a.Client = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			closed = false
			return &http.Response{StatusCode: tt.status, Body: closing{strings.NewReader(tt.reply), &closed}}, nil
		})}
		ans := a.Ask(t.Context(), question())
		same(t, "outcome", ans.Outcome, tt.outcome)
		same(t, "reason", ans.Reason, tt.reason)
		same(t, "requests", requests, tt.requests)
		same(t, "closed", closed, true)
	}
}

// A response may be as long as the limit.
func TestLongestReply(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{maxReply: true, maxReply + 1: false} {
		data, err := readAll(strings.NewReader(strings.Repeat("x", n)))
		same(t, fmt.Sprint(n), err == nil && len(data) == n, want)
	}
}

// A log that cannot be written is found before anything is paid.
func TestAPIWithoutALog(t *testing.T) {
	t.Parallel()
	a, q := api(t, serve(t).URL), question()
	q.LogDir = t.TempDir()
	if err := os.Mkdir(filepath.Join(q.LogDir, loop.RequestFile), 0o700); err != nil {
		t.Fatal(err)
	}
	ans := a.Ask(t.Context(), q)
	same(t, "outcome", ans.Outcome, runner.Broken)
	same(t, "reason", strings.HasPrefix(ans.Reason, "writing the log: "), true)
}

// The API refuses each of these without a request.
func TestAPIRefusesByItself(t *testing.T) {
	t.Parallel()
	file := filepath.Join(profileDir(t, map[string]string{"f": ""}), "f")
	for _, tt := range []struct {
		name    string
		change  func(*API, *runner.Question)
		outcome runner.Outcome
		reason  string
	}{
		{"no model", func(a *API, _ *runner.Question) { a.Model = "" }, runner.Broken, "no model is named"},
		{"no key", func(a *API, _ *runner.Question) { a.Key = " " }, runner.Unauthorised, "no API key"},
		{"tools", func(_ *API, q *runner.Question) { q.Tools = []string{"Read"} }, runner.Broken, "no tools"},
		{"bad URL", func(a *API, _ *runner.Question) { a.BaseURL = "ftp://user:hunter2@host" }, runner.Broken, "base URL"},
		{"unreadable URL", func(a *API, _ *runner.Question) { a.BaseURL = "http://user:hunter2@[" }, runner.Broken,
			"base URL"},
		{"cap too small", func(_ *API, q *runner.Question) { q.Cap = 100 }, runner.OverCap,
			"too small for one answer: $0.0001"},
		{"bad schema", func(_ *API, q *runner.Question) { q.Schema = []byte("{") }, runner.Broken, "building the request"},
		{"no room for logs", func(_ *API, q *runner.Question) { q.LogDir = filepath.Join(file, "x") }, runner.Broken,
			"writing the log"},
		{"a key with a blank", func(a *API, _ *runner.Question) { a.Key = testKey + " x" }, runner.Unauthorised,
			"characters that no key has"},
		{"a key that is no header", func(a *API, _ *runner.Question) { a.Key = testKey + "\nx" }, runner.Unauthorised,
			"characters that no key has"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			a, q := api(t, s.URL), question()
			tt.change(a, &q)
			ans := a.Ask(t.Context(), q)
			same(t, "outcome", ans.Outcome, tt.outcome)
			if !strings.Contains(ans.Reason, tt.reason) || strings.Contains(ans.Reason, testKey) ||
				strings.Contains(ans.Reason, "hunter2") {
				t.Errorf("reason %q", ans.Reason)
			}
			same(t, "cost", ans.Cost, budget.USD(0))
		})
	}
}

func TestAPIOfAnUnpricedModel(t *testing.T) {
	t.Parallel()
	s := serve(t, status(200, strings.ReplaceAll(message, testModel, "other")))
	a, q := api(t, s.URL), question()
	a.Model, q.Cap = "other", 5000
	ans := a.Ask(t.Context(), q)
	same(t, "outcome", ans.Outcome, runner.Done)
	same(t, "counted at its cap", ans.Cost, budget.USD(5000))
	same(t, "priced", ans.Priced, "cap")
}

func TestAPIUnreachable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	url := strings.Replace(s.URL, "http://", "http://user:hunter2@", 1)
	s.Close()
	a := api(t, url)
	a.Retries = 1
	ans := a.Ask(t.Context(), question())
	same(t, "outcome", ans.Outcome, runner.Throttled)
	same(t, "cost", ans.Cost, budget.USD(0))
	if strings.Contains(ans.Reason, "hunter2") || !strings.Contains(ans.Reason, "cannot be reached") {
		t.Errorf("reason %q", ans.Reason)
	}
}

// A redirect would carry the key to another host.
func TestAPIFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(other.Close)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/messages", http.StatusTemporaryRedirect)
	})
	a := api(t, s.URL)
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a.Client = own
	ans := a.Ask(t.Context(), question())
	same(t, "outcome", ans.Outcome, runner.Broken)
	same(t, "reason", ans.Reason, "HTTP 307")
	same(t, "the client given is left alone", own.CheckRedirect == nil, true)
}

func TestAPIHidesItsKey(t *testing.T) {
	t.Parallel()
	a := &API{Key: testKey, BaseURL: "https://user:hunter2@gateway.example"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, a); got != "the Messages API at gateway.example" {
			t.Errorf("%s: %s", format, got)
		}
	}
}

func TestAPIWithoutABaseURL(t *testing.T) {
	t.Parallel()
	same(t, "address", (&API{}).String(), "the Messages API at api.anthropic.com")
	for _, raw := range []string{"http://user:hunter2@[", "gateway"} {
		same(t, raw, (&API{BaseURL: raw}).String(), "the Messages API at an unreadable URL")
	}
}

func TestPanelOverTheAPI(t *testing.T) {
	t.Parallel()
	body := opinion(Retry, "replace the operator", 0.7, 0).Structured
	reply := status(200, strings.Replace(message, `{"action":"retry"}`, string(body), 1))
	s := serve(t, reply, reply)
	c := stuck()
	c.LogDir, c.Cap = t.TempDir(), budget.Dollar/2
	a := api(t, s.URL)
	v := (&Panel{Caller: a}).Diagnose(t.Context(), c)
	same(t, "fix", v.Fix, "replace the operator")
	same(t, "experts", v.Experts(), []string{"debugger", "tester"})
	each, _ := a.Prices.Cost(testModel, 1000, 200, 50, 10)
	same(t, "cost", v.Cost, 2*each)
}

// A pause of the API up to the limit is waited for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	most := int(maxWait / time.Second)
	for seconds, want := range map[int]bool{0: false, most: false, most + 1: true} {
		header := http.Header{"Retry-After": {strconv.Itoa(seconds)}}
		got := retryAfterTooLong(&http.Response{StatusCode: http.StatusTooManyRequests, Header: header})
		same(t, fmt.Sprint(seconds), got, want)
	}
}
