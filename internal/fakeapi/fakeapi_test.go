package fakeapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
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

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	srv, err := fakeapi.Start(fakeapi.Script{Agents: []*fakeapi.Agent{
		{Name: "first", When: fakeapi.Prompt("one"), Steps: []fakeapi.Reply{fakeapi.Text("a")}},
		{Name: "lazy", When: fakeapi.Prompt("two"), Steps: []fakeapi.Reply{fakeapi.Text("b"), fakeapi.Text("c").Times(3)}},
	}})
	testrepo.Must(t, err)
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
	if events := strings.Count(got, "event: "); err == nil || events != 3 {
		t.Errorf("got %v and %v, want three events and a broken connection", events, err)
	}
	if srv.Charged() != 7+5 {
		t.Errorf("charged %d, want the input and the first token of the second reply", srv.Charged())
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
		testrepo.Must(t, err)
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	if len(srv.Requests()) != 2 || len(srv.Messages(nil)) != 0 || srv.Peak() != 0 {
		t.Errorf("recorded %d requests, %d messages, peak %d", len(srv.Requests()), len(srv.Messages(nil)), srv.Peak())
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
