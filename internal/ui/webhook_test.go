package ui

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

var at = time.Date(2026, 11, 21, 6, 30, 0, 0, time.UTC)

// state returns the state of a run that a breaker paused.
func pausedState(t *testing.T) (*scheduler.State, []event.Event) {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(`{"version":1,"tasks":[{"id":"A","subject":"a","verify":["true"]}]}`),
		plan.Options{})
	if p == nil {
		t.Fatal(diags)
	}
	s := scheduler.NewState(p)
	c := event.DefaultConfig()
	c.Parallel = 4
	c.Run, c.Limits = "R-1", budget.Limits{USD: 5e6, Iterations: 10}
	stop := event.Stop{Status: "paused", ExitCode: 4, Reason: "same\x1b[31m error\nthree times", Breaker: "same-error"}
	bodies := []event.Body{
		event.RunStarted{Config: c, Plan: "plan.json", Tasks: 1, Waves: 1},
		event.Draining{Stop: stop},
		event.RunEnded{Status: "paused", ExitCode: 4, Reason: stop.Reason, Resume: "wavex resume plan.json",
			Tasks: event.Counts{Pending: 1}, CostUSD: 1.25, Iterations: 3},
	}
	var events []event.Event
	for i, b := range bodies {
		events = append(events, event.Event{Seq: int64(i + 1), Time: at, Body: b})
	}
	testrepo.Must(t, s.Replay(events))
	return s, events
}

func send(t *testing.T, o WebhookOptions, hooks ...Webhook) error {
	t.Helper()
	st, events := pausedState(t)
	s := NewWebhookSender(t.Context(), "demo", hooks, o)
	for _, e := range events {
		s.Event(e, st)
	}
	return s.Close(time.Minute)
}

// TestSignature uses the example of GitHub's documentation, so that receivers can use their
// existing code.
func TestSignature(t *testing.T) {
	t.Parallel()
	if got := SignWebhook("It's a Secret to Everybody",
		[]byte("Hello, World!")); got != "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" {
		t.Error(got)
	}
}

func TestSlack(t *testing.T) {
	t.Parallel()
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		bodies = append(bodies, string(b)) // one hook receives its messages one after the other
	}))
	defer srv.Close()
	h, err := ParseWebhook("slack=" + srv.URL)
	testrepo.Must(t, err)
	testrepo.Must(t, send(t, WebhookOptions{}, h))
	if len(bodies) != 2 {
		t.Fatal(bodies)
	}
	var m map[string]string
	if err := json.Unmarshal([]byte(bodies[1]), &m); err != nil || len(m) != 1 {
		t.Fatal(err, bodies[1])
	}
	if want := "wavex: demo: paused (exit code 4)\n" +
		"0 of 1 tasks completed, 0 failed, 0 blocked | $1.25 | 3 iterations\nsame error three times\n" +
		"Continue with: wavex resume plan.json"; m["text"] != want {
		t.Errorf("%q", m["text"])
	}
	// The texts of a plan and of agents mention no channel, and make no links.
	body, err := WebhookMessage{Event: "run_ended", Status: "failed", Plan: "a<b",
		Reason: "<!channel> <http://x|y> &lt;"}.body(true)
	testrepo.Must(t, err)
	if err := json.Unmarshal(body, &m); err != nil ||
		!strings.HasSuffix(m["text"], "\n&lt;!channel&gt; &lt;http://x|y&gt; &amp;lt;") {
		t.Errorf("%q, %v", m["text"], err)
	}
}

// TestHangingWebhook: a hook that never answers delays neither the events nor, for long, the end. The
// error omits its address.
func TestHangingWebhook(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		select {
		case <-release:
		case <-q.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(release)
	st, events := pausedState(t)
	s := NewWebhookSender(t.Context(), "demo", []Webhook{{URL: srv.URL + "/hidden"}}, WebhookOptions{})
	for range 100 {
		for _, e := range events {
			s.Event(e, st)
		}
	}
	err := s.Close(20 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), errCloseTimeout.Error()) || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	st := &scheduler.State{}
	for _, c := range []struct {
		body event.Body
		want string
	}{
		{event.RunEnded{Status: "complete"}, "run_ended"},
		{event.RunEnded{Status: "failed", ExitCode: 1}, "run_ended"},
		{event.RunEnded{Status: "limited", ExitCode: 6}, "run_paused"},
		{event.AttemptEnded{Result: runner.Result{}, Stop: &event.Stop{Breaker: "same-file"}}, "breaker"},
		{event.AttemptEnded{Result: runner.Result{}, TaskStop: &event.Stop{Breaker: "same-file"}}, "breaker"},
		{event.IntegrationEnded{Reopened: []event.Reopened{{}, {TaskStop: &event.Stop{Breaker: "same-error"}}}}, "breaker"},
		{event.IntegrationEnded{Stop: &event.Stop{Breaker: "same-error"}}, "breaker"},
		{event.IntegrationEnded{Reopened: []event.Reopened{{}}}, ""},
		{event.AttemptEnded{Stop: &event.Stop{Limit: "money"}}, ""},
		{event.AttemptEnded{}, ""},
		{event.Notice{}, ""},
	} {
		m, ok := messageFor(event.Event{Time: at, Body: c.body}, st)
		if ok != (c.want != "") || ok && m.Event != c.want {
			t.Errorf("%+v: %q %t", c.body, m.Event, ok)
		}
	}
}

func TestParseHook(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Webhook{
		"https://example.org/a":       {URL: "https://example.org/a"},
		"slack=http://127.0.0.1:1/x":  {URL: "http://127.0.0.1:1/x", Slack: true},
		"https://hooks.slack.com/s/x": {URL: "https://hooks.slack.com/s/x", Slack: true},
	} {
		if got, err := ParseWebhook(in); err != nil || got != want {
			t.Errorf("%s: %+v %v", in, got, err)
		}
	}
	for _, in := range []string{"", "example.org", "ftp://x/y", "https://", "slack=", "http://[::1",
		"teams=https://x/secret"} {
		if _, err := ParseWebhook(in); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", in, err)
		}
	}
	if got := (Webhook{URL: "https://u:p@example.org/secret"}).String(); got != "https://example.org" {
		t.Error(got)
	}
}
