//go:build unix

package e2e

// Sessions: who may open and continue one, and from where; several turns in one
// process and what they cost.

import (
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

const session = "11111111-2222-4333-8444-555555555555"

func TestSessionIDs(t *testing.T) {
	t.Parallel()
	srv := serve(t, fakeapi.Text("one"), fakeapi.Text("two"))
	env, dir := Env(t, srv), t.TempDir()
	if e := call(t, srv, setup{stdin: "remember", env: env, dir: dir, args: []string{"--session-id", session}}); e.result(t).SessionID != session {
		t.Fatalf("session %s, want %s", e.result(t).SessionID, session)
	}
	if srv.Messages(nil)[0].Session() != session {
		t.Errorf("the API saw session %q", srv.Messages(nil)[0].Session())
	}
	t.Run("not twice", func(t *testing.T) {
		e := call(t, srv, setup{stdin: "again", env: env, dir: dir, args: []string{"--session-id", session}})
		if e.exit != 1 || !strings.Contains(e.stderr+e.plain, "already in use") {
			t.Errorf("exit %d, stderr %q", e.exit, e.stderr)
		}
	})
	t.Run("not from another directory", func(t *testing.T) {
		e := call(t, srv, setup{stdin: "again", env: env, args: []string{"--resume", session}})
		if e.exit != 1 || !strings.Contains(e.stderr+e.plain, "No conversation found") {
			t.Errorf("exit %d, stderr %q", e.exit, e.stderr)
		}
	})
	t.Run("resumed where it was", func(t *testing.T) {
		e := call(t, srv, setup{stdin: "go on", env: env, dir: dir, args: []string{"--resume", session}})
		last := srv.Messages(nil)[1]
		if e.exit != 0 || e.result(t).SessionID != session || last.Turn() != 1 || !strings.Contains(last.Users(), "remember") {
			t.Errorf("exit %d, session %s, turn %d", e.exit, e.result(t).SessionID, last.Turn())
		}
	})
}

// The cost and the cap are of the process, not of the turn.
func TestCostIsCumulativeOverTurns(t *testing.T) {
	t.Parallel()

	srv := serve(t, fakeapi.Text("one").Costing(use), fakeapi.Text("two").Costing(use))
	p := begin(t, srv, setup{talk: true})
	p.say("first")
	_, at := p.await(0, ofType("result"))
	p.say("second")
	p.await(at+1, ofType("result"))
	e := p.end()
	rs := e.results(t)
	if e.exit != 0 || len(rs) != 2 {
		t.Fatalf("exit %d, %d results", e.exit, len(rs))
	}
	if one, two := budget.FromFloat(rs[0].TotalCostUSD), budget.FromFloat(rs[1].TotalCostUSD); one != 7_650 || two != 15_300 || two != srv.Charged() {
		t.Errorf("costs %d and %d, charged %d", one, two, srv.Charged())
	}
}
