//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// doctorReport holds the tested part of the output of `wavex doctor --output json`.
type doctorReport struct {
	OK       bool     `json:"ok"`
	ProbeUSD *float64 `json:"probe_cost_usd"`
	Checks   []struct{ Name, Status, Text string }
}

func (r wavexEnd) doctor(t *testing.T) (d doctorReport, probe string) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, r.stdout, r.stderr)
	}
	for _, c := range d.Checks {
		if c.Name == "probe" {
			probe = c.Status + " " + c.Text
		}
	}
	return d, probe
}

// checkProbe checks that the probe asked the real CLI one small question, and reported the cost that the
// API charged.
func (r wavexEnd) checkProbe(t *testing.T, srv *fakeapi.Server) {
	t.Helper()
	d, probe := r.doctor(t)
	if r.exit != 0 || !d.OK || d.ProbeUSD == nil || !strings.HasPrefix(probe, "ok the model answered") {
		t.Fatalf("exit %d, %q\n%s%s", r.exit, probe, r.stdout, r.stderr)
	}
	if got, want := fmt.Sprintf("%.6f", *d.ProbeUSD), fmt.Sprintf("%.6f", srv.Charged().Float()); got != want {
		t.Errorf("it says $%s, the API charged $%s", got, want)
	}
	asked := srv.Messages(nil)
	if len(asked) != 1 {
		t.Errorf("%d requests went to the user's API; doctor's question is one", len(asked))
	}
	for _, m := range asked {
		if len(m.Body) > 4<<10 || m.Model() != model {
			t.Errorf("a question of %d bytes to %s", len(m.Body), m.Model())
		}
	}
}

// Every process of the real CLI reports a subscription's limits, so its dollars count as notional
// from the end of the first attempt on.
func TestSubscriptionIsNotional(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	var agents []*fakeapi.Agent
	for i := range 3 {
		a := fileWriter(i)
		inner := a.Then.Compute
		then := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			reply := inner(r)
			reply.Header = rateLimitHeaders("allowed", "five_hour", reset)
			return reply
		})
		a.Then = &then
		agents = append(agents, a)
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	env := slices.DeleteFunc(Env(t, srv), func(s string) bool { return strings.HasPrefix(s, "ANTHROPIC_API_KEY=") })
	e := newRepo(t, manyTasks(3, 1)).wavexEnv(append(env, "CLAUDE_CODE_OAUTH_TOKEN=anything"), "run",
		"plan.json", "--output",
		"json").end()
	if e.exit != 0 {
		t.Fatalf("exit %d\n%s%s", e.exit, e.stdout, e.stderr)
	}
	var caps []int64
	notices, notional := 0, false
	for line := range strings.Lines(e.stdout) {
		var ev struct {
			Type string
			Data struct {
				Cap      int64
				Notional bool
			}
		}
		testrepo.Must(t, json.Unmarshal([]byte(line), &ev))
		switch ev.Type {
		case "attempt_started":
			caps = append(caps, ev.Data.Cap)
		case "notice":
			notices++
		case "run_ended":
			notional = ev.Data.Notional
		}
	}
	if !notional || notices != 1 || len(caps) != 3 || caps[0] == 0 || caps[1] != 0 || caps[2] != 0 {
		t.Errorf("notional %t, %d notices, caps %v\n%s", notional, notices, caps, e.stdout)
	}
}
