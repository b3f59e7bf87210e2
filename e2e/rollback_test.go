//go:build unix

package e2e

// This file tests the life of a task that is hard to undo, with real processes: experts refuse
// it, then allow it with a condition; its work is lost and redone by `wavex verify --fix`; in the
// end it is rolled back.

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

func TestChallengedFixedAndRolledBack(t *testing.T) {
	t.Parallel()
	challenge := system("work takes hours or more to undo")
	var refused atomic.Bool
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		answers("challenge", challenge, func(*fakeapi.Request) map[string]any {
			if !refused.Load() {
				return map[string]any{"verdict": "stop", "reason": "nobody kept the old flock"}
			}
			return map[string]any{"verdict": "go", "reason": "there is a copy", "conditions": []string{"keep the old flock"}}
		}),
		author("T-001", "f0.txt", "sheep\n", "pwd", nil), author("R-001", "f0.txt", "sheep again\n", "pwd", nil),
	}})
	r := newRepo(t, `-- .gitignore --
.tmp
-- f1.txt --
mine
-- plan.json --
{"name": "flock", "defaults": {"model": "`+model+`"},
 "tasks": [{"id": "T-001", "subject": "Replace the flock", "reversibility": "1", "files": ["f0.txt"], "verify": [{"file": "f0.txt", "contains": "sheep"}]}]}
`)
	gitIn(t, r.dir, "init", "-q", "-b", "main")
	gitIn(t, r.dir, "add", "-A")
	gitIn(t, r.dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")

	e := r.wavex(srv, "run", "plan.json").end()
	if e.exit != 5 || !strings.Contains(e.stderr, "nobody kept the old flock") || len(srv.Messages(task("T-001"))) != 0 {
		t.Fatalf("exit %d, %d requests of a task that was refused\n%s", e.exit, len(srv.Messages(task("T-001"))), e.stderr)
	}
	asked := len(srv.Messages(challenge))
	refused.Store(true)
	e = r.wavex(srv, "resume").end()
	if e.exit != 0 || len(srv.Messages(challenge)) != 2*asked || !strings.Contains(e.stdout, "\n<loop-complete>\n") {
		t.Fatalf("exit %d after %d and %d challenges\n%s", e.exit, asked, len(srv.Messages(challenge))-asked, e.stderr)
	}
	if got := srv.Messages(task("T-001"))[0].Users(); !strings.Contains(got, "keep the old flock") {
		t.Error("the agent is not told what the experts ask for")
	}

	file := filepath.Join(r.dir, "f0.txt")
	testrepo.Must(t, os.Remove(file))
	if e = r.wavex(srv, "verify", "--fix").end(); e.exit != 0 || !strings.Contains(e.stdout, "- R-001: ✓") ||
		!strings.Contains(e.stdout, "0 gaps") {
		t.Fatalf("exit %d\n%s\n%s", e.exit, e.stdout, e.stderr)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "sheep again\n" {
		t.Errorf("%q, %v", text, err)
	}
	if got := srv.Messages(task("R-001"))[0].Users(); !strings.Contains(got, `<gap type="`) ||
		!strings.Contains(got, "f0.txt") {
		t.Error("the agent is not told of the gap")
	}

	// The file was removed between two sessions, and not by the run.
	if e = r.wavex(srv, "rollback", "run").end(); e.exit != 5 ||
		!strings.Contains(e.stdout, "f0.txt  (changed since by somebody else)") {
		t.Fatalf("exit %d\n%s\n%s", e.exit, e.stdout, e.stderr)
	}
	if e = r.wavex(srv, "rollback", "run", "--force").end(); e.exit != 0 ||
		!strings.Contains(e.stdout, "remove     f0.txt") {
		t.Fatalf("exit %d\n%s\n%s", e.exit, e.stdout, e.stderr)
	}
	mine, err := os.ReadFile(filepath.Join(r.dir, "f1.txt"))
	if _, gone := os.Stat(file); gone == nil || err != nil || string(mine) != "mine\n" {
		t.Errorf("f0.txt: %v, f1.txt: %q, %v", gone, mine, err)
	}
	if refs := gitIn(t, r.dir, "for-each-ref", "refs/wavex"); !strings.Contains(refs, ".points/undo/") {
		t.Errorf("what was there is not kept: %s", refs)
	}
	if e = r.wavex(srv, "status").end(); e.exit != 0 || !strings.Contains(e.stdout, "0 of 2 tasks completed") {
		t.Errorf("exit %d\n%s", e.exit, e.stdout)
	}
}
