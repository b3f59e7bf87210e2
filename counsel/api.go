// This file puts a question to the Messages API directly (--counsel-via api), for panels that
// need no process. It uses plain HTTP over go-retryablehttp. anthropic-sdk-go would add 8 MB and
// OpenTelemetry for one endpoint, and it looks for credentials in the environment by itself. This
// file knows no experts.

package counsel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/runner"
)

// API asks the Messages API. It is a Caller and is safe for concurrent use. It sends its key in
// the request's header and nowhere else.
type API struct {
	BaseURL string        // "" means https://api.anthropic.com
	Key     string        // sent as x-api-key
	Model   string        // for questions that do not name a model
	Client  *http.Client  // nil means a new client for each call, which leaves no open connections
	Prices  budget.Prices // prices of the tokens
	Retries int           // retries after 429, 5xx or a refused connection; 0 means 4, negative means none
	Wait    time.Duration // before the first retry, doubled for each further one; 0 means 1 s

	Redactor runner.Redactor // for the files that are kept of a question; nil means that they are kept unchanged
}

const (
	defaultBase    = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
	defaultRetries = 4
	defaultWait    = time.Second
	maxWait        = 20 * time.Second // also for Retry-After

	maxOutput = 4096 // tokens of an answer
	minOutput = 256  // a cap that buys less is not worth the call

	// Before the call the input is estimated at one token for two bytes, and tokensAround for the
	// text that the API adds around a forced tool. Real texts take less, so the cap holds.
	bytesPerToken = 2
	tokensAround  = 500

	maxReply = 1 << 20 // bytes of a response
	toolName = "answer"
)

var errCallTimeout = errors.New("no answer from the API in time")

// String and GoString keep the key out of logs.
func (a *API) String() string { return "the Messages API at " + host(a.base()) }

// GoString returns the same text as String.
func (a *API) GoString() string { return a.String() }

// Ask puts q to the model. It enforces a schema with a tool that the model is forced to use, and
// sets max_tokens to the number of tokens that q.Cap can pay for. The cost is computed from the
// reported usage (Priced "stream"). If the API may have worked but its usage is unknown, the cost
// is the highest possible one (Priced "cap"). q.Tools must be empty, because the API has no tools
// to run.
func (a *API) Ask(ctx context.Context, q runner.Question) runner.Answer {
	start := time.Now()
	timeout := q.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errCallTimeout)
	defer cancel()
	ans := a.ask(ctx, q)
	ans.Reason = oneLine(a.redactKey(ans.Reason), 400)
	ans.Duration = time.Since(start)
	return ans
}

func (a *API) ask(ctx context.Context, q runner.Question) runner.Answer {
	broken := func(format string, args ...any) runner.Answer {
		return runner.Answer{Outcome: runner.Broken, Reason: fmt.Sprintf(format, args...)}
	}
	model := q.Model
	if model == "" {
		model = a.Model
	}
	endpoint, err := url.Parse(a.base())
	switch {
	case model == "":
		return broken("no model is named for calls of the Messages API")
	case len(q.Tools) > 0:
		return broken("a call of the Messages API has no tools; use the claude CLI for experts who read files")
	case err != nil || endpoint.Scheme != "https" && endpoint.Scheme != "http" || endpoint.Host == "":
		return broken("the Messages API's base URL is not an http or https URL")
	case a.key() == "":
		return runner.Answer{Outcome: runner.Unauthorised, Reason: "there is no API key for the Messages API"}
	case strings.ContainsFunc(a.key(), func(r rune) bool { return r <= ' ' || r > '~' }):
		return runner.Answer{Outcome: runner.Unauthorised, Reason: "the API key holds characters that no key has"}
	}

	body, tokens, worst, err := a.request(q, model)
	if err != nil {
		if errors.Is(err, errCapTooSmall) {
			return runner.Answer{Outcome: runner.OverCap, Reason: err.Error()}
		}
		return broken("%v", err)
	}
	if err := a.writeFile(q.LogDir, loop.PromptFile, []byte(q.Prompt)); err != nil {
		return broken("writing the log: %v", err)
	}
	if err := a.writeFile(q.LogDir, loop.RequestFile, body); err != nil {
		return broken("writing the log: %v", err)
	}

	status, reply, unsure, err := a.post(ctx, endpoint.JoinPath("v1", "messages").String(), body)
	// The answer is already paid for. A log that cannot be written must not lose it.
	_ = a.writeFile(q.LogDir, loop.ResultFile, reply)
	switch {
	case err != nil:
		ans := transportFailure(ctx, err)
		if unsure {
			ans.Cost, ans.Priced = worst, "cap"
		}
		return ans
	case status != http.StatusOK:
		return statusFailure(status, reply)
	}
	return a.parseReply(q, model, reply, tokens, worst)
}

type apiRequest struct {
	Model      string       `json:"model"`
	MaxTokens  int64        `json:"max_tokens"`
	System     string       `json:"system,omitempty"`
	Messages   []apiMessage `json:"messages"`
	Tools      []apiTool    `json:"tools,omitempty"`
	ToolChoice *apiChoice   `json:"tool_choice,omitempty"`
}

type apiMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type apiTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type apiChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

var errCapTooSmall = errors.New("the cap is too small for one answer")

// request returns the body, the limit of the answer in tokens, and the highest possible cost of
// the call.
func (a *API) request(q runner.Question, model string) (body []byte, tokens int64, worst budget.USD, err error) {
	r := apiRequest{Model: model, MaxTokens: maxOutput, System: q.System,
		Messages: []apiMessage{{Role: "user", Content: q.Prompt}}}
	if len(q.Schema) > 0 {
		r.Tools = []apiTool{{Name: toolName, Description: "Give your answer.", InputSchema: q.Schema}}
		r.ToolChoice = &apiChoice{Type: "tool", Name: toolName}
	}
	input := int64(len(q.System)+len(q.Prompt)+len(q.Schema))/bytesPerToken + tokensAround
	cost := func(out int64) (budget.USD, bool) { return a.Prices.Cost(model, input, out, 0, 0) }
	worst = q.Cap
	if _, known := cost(0); known {
		if q.Cap > 0 {
			// Search returns the largest number of tokens that the cap pays for.
			r.MaxTokens = int64(sort.Search(maxOutput, func(n int) bool {
				c, _ := cost(int64(n) + 1)
				return c > q.Cap
			}))
			if r.MaxTokens < minOutput {
				least, _ := cost(minOutput)
				return nil, 0, 0, fmt.Errorf("%w: %s, and this call needs about %s", errCapTooSmall, q.Cap, least)
			}
		}
		worst, _ = cost(r.MaxTokens)
	}
	body, err = json.Marshal(r)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("building the request: %w", err)
	}
	return body, r.MaxTokens, worst, nil
}

type apiReply struct {
	Model   string `json:"model"`
	Stop    string `json:"stop_reason"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	Usage struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

// parseReply converts a response of status 200 into an answer.
func (a *API) parseReply(q runner.Question, model string, data []byte, tokens int64, worst budget.USD) runner.Answer {
	var r apiReply
	if err := json.Unmarshal(data, &r); err != nil || r.Content == nil {
		return runner.Answer{Outcome: runner.Truncated, Reason: "the API's answer is not a message", Cost: worst,
			Priced: "cap"}
	}
	u := r.Usage
	ans := runner.Answer{Outcome: runner.Done, Usage: runner.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}}
	price := func(m string) bool {
		c, ok := a.Prices.Cost(m, u.Input, u.Output, u.CacheRead, u.CacheWrite)
		if ok {
			ans.Cost, ans.Priced = c, "stream"
		}
		return ok
	}
	if !price(r.Model) && !price(model) {
		ans.Cost, ans.Priced = worst, "cap"
	}
	for _, c := range r.Content {
		switch {
		case c.Type == "text":
			ans.Text += c.Text
		case c.Type == "tool_use" && c.Name == toolName:
			ans.Structured = c.Input
		}
	}
	switch {
	case r.Stop == "max_tokens" && tokens < maxOutput:
		ans.Outcome, ans.Reason = runner.OverCap, fmt.Sprintf("the answer did not fit the %d tokens that %s pays for",
			tokens, q.Cap)
	case r.Stop == "max_tokens":
		ans.Outcome, ans.Reason = runner.Wrong, fmt.Sprintf("the answer was cut after %d tokens", tokens)
	case len(q.Schema) > 0 && len(ans.Structured) == 0:
		ans.Outcome, ans.Reason = runner.Wrong, "the model did not answer in the form asked for"
	}
	if ans.Outcome != runner.Done {
		ans.Structured = nil
	}
	return ans
}

func (a *API) base() string {
	if a.BaseURL == "" {
		return defaultBase
	}
	return a.BaseURL
}

// redactKey removes the key from s, which may hold foreign text.
func (a *API) redactKey(s string) string {
	if key := a.key(); key != "" {
		s = strings.ReplaceAll(s, key, "[key]")
	}
	return s
}

// key returns the key without the newline that files and shells append.
func (a *API) key() string { return strings.TrimSpace(a.Key) }

func host(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Host
	}
	return "an unreadable URL"
}

// writeFile writes a file of the question, with secrets removed.
func (a *API) writeFile(dir, name string, data []byte) error {
	if dir == "" {
		return nil
	}
	return (&runner.Host{Redactor: a.Redactor}).WriteFile(dir, name, data)
}

// readAll reads a response of at most maxReply bytes.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxReply+1))
	if err == nil && len(data) > maxReply {
		err = errors.New("the answer is longer than 1 MB")
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD")), err
}
