//go:build unix

package e2e

// This file tests runs that fail: their exit code, and that no further process starts into the
// same trouble.

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/fakeapi"
)

func TestExits(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	make42 := fakeapi.Use(fakeapi.Bash("make all")).WithUsage(use)
	for _, c := range []struct {
		name     string
		agent    fakeapi.Reply // answers everything
		oauth    bool
		exit     int
		says     string // on stderr
		sessions int    // CLI processes that asked the API
	}{
		{name: "unauthorised", agent: fakeapi.Fail(401, "invalid x-api-key"), exit: 5, says: "resume", sessions: 1},
		{name: "a usage limit", agent: usageLimit("five_hour", reset), oauth: true, exit: 6,
			says: reset.UTC().Format(time.RFC3339)[:16], sessions: 1},
		{name: "denied", exit: 4, says: "Bash(make all)", sessions: 2,
			agent: fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
				if r.Turn() == 0 {
					return make42
				}
				return fakeapi.Text("could not")
			})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &c.agent}}})
			env := Env(t, srv)
			if c.oauth {
				env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "ANTHROPIC_API_KEY=") })
				env = append(env, "CLAUDE_CODE_OAUTH_TOKEN=anything")
			}
			e := newRepo(t, manyTasks(2, 1)).wavexEnv(env, "run", "plan.json").end()
			if e.exit != c.exit || !strings.Contains(e.stderr+e.stdout, c.says) {
				t.Errorf("exit %d, want %d and %q\nstdout: %s\nstderr: %s", e.exit, c.exit, c.says, e.stdout, e.stderr)
			}
			seen := map[string]bool{}
			for _, m := range srv.Messages(nil) {
				seen[m.Session()] = true
			}
			if len(seen) != c.sessions {
				t.Errorf("%d sessions asked the API, want %d", len(seen), c.sessions)
			}
		})
	}
}
