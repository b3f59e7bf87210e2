//go:build unix

package e2e

// This file tests which part of one attempt's requests the provider's cache can serve from those
// of another.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// gitRepo makes a directory a repository with one commit.
func gitRepo(t *testing.T, dir string) {
	t.Helper()
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "config", "user.name", "Some One")
	gitIn(t, dir, "config", "user.email", "one@example.com")
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-qm", "first")
}

// cachedStart returns the parts of a request that the cache reads before the messages.
func cachedStart(t *testing.T, r *fakeapi.Request) string {
	t.Helper()
	var m struct{ Tools, System json.RawMessage }
	testrepo.Must(t, json.Unmarshal(r.Body, &m))
	return string(m.Tools) + string(m.System)
}

// Two tasks in separate folders have the same system prompt: one reads it from the cache after
// the other has written it.
func TestIsolatedAttemptsShareTheirSystemPrompt(t *testing.T) {
	t.Parallel()
	var agents []*fakeapi.Agent
	var tasks []string
	gate := fakeapi.NewLatch()
	for i := range 2 {
		id := fmt.Sprintf("T-%03d", i+1)
		tasks = append(tasks, fmt.Sprintf(`{"id": %q, "subject": "Write file %d", "files": [{"path": "f%d.txt", "action": "create"}], "verify": [{"file": "f%d.txt", "contains": "sheep"}]}`, id, i, i, i))
		agents = append(agents, &fakeapi.Agent{Name: id, When: task(id), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write(fmt.Sprintf("f%d.txt", i), "sheep\n")).WithUsage(use).WaitingFor(gate),
			// both have arrived
			report("true").WithUsage(use),
		}})
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	r := newRepo(t, fmt.Sprintf("-- .gitignore --\n.loop\n-- CLAUDE.md --\nBe kind.\n-- plan.json --\n"+
		`{"version": 1, "name": "folders", "parallel": 2, "isolation": "worktree", "defaults": {"model": %q}, "tasks": [%s]}`,
		model, strings.Join(tasks, ",")))
	gitRepo(t, r.dir)
	w := r.wavex(srv, "run", "plan.json", "--output", "json")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for i := range 2 {
		if _, err := srv.Wait(ctx, task(fmt.Sprintf("T-%03d", i+1))); err != nil {
			t.Error(err)
		}
	}
	gate.Open()
	if e := w.end(); e.exit != 0 {
		t.Fatalf("exit %d\n%s", e.exit, e.stderr)
	}
	one, two := srv.Messages(task("T-001"))[0], srv.Messages(task("T-002"))[0]
	if one.Dir() == two.Dir() || !strings.HasPrefix(one.Dir(), filepath.Join(r.dir, ".loop", "worktrees")+
		string(os.PathSeparator)) {
		t.Fatalf("they work in %s and %s", one.Dir(), two.Dir())
	}
	if start := cachedStart(t, one); start != cachedStart(t, two) || !strings.Contains(start, `"cache_control"`) {
		t.Errorf("the system prompts differ, or are not for the cache:\n%s\n%s", start, cachedStart(t, two))
	}
}
