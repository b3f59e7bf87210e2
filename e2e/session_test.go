//go:build unix

package e2e

// This file tests sessions: which processes can open and continue one, and from which directory;
// and several turns in one process, with their cost.

import (
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

const session = "11111111-2222-4333-8444-555555555555"

func TestSessionIDs(t *testing.T) {
	t.Parallel()
	eachCLI(t, sessionIDs)
}

func sessionIDs(t *testing.T, c cli) {
	srv := serve(t, fakeapi.Text("one"), fakeapi.Text("two"), fakeapi.Text("three"))
	s := setup{cli: c, env: Env(t, srv), dir: t.TempDir()}
	begin := func(prompt, flag, dir string) cliEnd {
		s := s
		s.stdin, s.args, s.dir = prompt, []string{flag, session}, dir
		return call(t, srv, s)
	}
	if e := begin("remember", "--session-id", s.dir); e.result(t).SessionID != session {
		t.Fatalf("session %s, want %s", e.result(t).SessionID, session)
	}
	if srv.Messages(nil)[0].Session() != session {
		t.Errorf("the API saw session %q", srv.Messages(nil)[0].Session())
	}
	if e := begin("again", "--session-id", s.dir); e.exit != 1 || !strings.Contains(e.stderr+e.plain, "already in use") {
		t.Errorf("the same id twice: exit %d, stderr %q", e.exit, e.stderr)
	}
	e := begin("go on", "--resume", s.dir)
	last := srv.Messages(nil)[1]
	if e.exit != 0 || e.result(t).SessionID != session || last.Turn() != 1 || !strings.Contains(last.Users(), "remember") {
		t.Errorf("resumed where it was: exit %d, session %s, turn %d", e.exit, e.result(t).SessionID, last.Turn())
	}
	if e = begin("go on", "--resume", t.TempDir()); e.result(t).SessionID != session {
		t.Errorf("from another directory: exit %d, stderr %q", e.exit, e.stderr)
	}
}

// The cost and the cap apply to the process, not to the turn.
func TestCostIsCumulativeOverTurns(t *testing.T) {
	t.Parallel()
	eachCLI(t, costIsCumulative)
}

func costIsCumulative(t *testing.T, c cli) {
	srv := serve(t, fakeapi.Text("one").WithUsage(use), fakeapi.Text("two").WithUsage(use))
	p := startCLI(t, srv, setup{cli: c, talk: true})
	p.send("first")
	_, at := p.await(0, ofType("result"))
	p.send("second")
	p.await(at+1, ofType("result"))
	e := p.end()
	rs := e.results(t)
	if e.exit != 0 || len(rs) != 2 {
		t.Fatalf("exit %d, %d results", e.exit, len(rs))
	}
	if one, two := budget.FromFloat(rs[0].TotalCostUSD), budget.FromFloat(rs[1].TotalCostUSD); one != 7_650 ||
		two != 15_300 || two != srv.Charged() {
		t.Errorf("costs %d and %d, charged %d", one, two, srv.Charged())
	}
}
