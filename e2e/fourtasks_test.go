//go:build unix

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// This file tests that finished work counts at once: three of four agents are done, and a task that waits for one
// of them begins although the fourth is at work.

func TestFourTasksAndADependent(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"shared", "worktree"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			fourTasksAndADependent(t, isolation)
		})
	}
}

func fourTasksAndADependent(t *testing.T, isolation string) {
	gate := fakeapi.NewLatch()
	agents := append(fileWriters(3), waitingAgents([]*fakeapi.Agent{fileWriter(3)}, 2, gate)...)
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: append(agents, fileWriter(4))})
	plan := manyTasksPlan{n: 5, parallel: 4, model: model, isolation: isolation, tools: `"Bash"`}.String()
	plan = strings.Replace(plan, `"id": "T-005",`, `"id": "T-005", "blockedBy": ["T-001"],`, 1)
	r := newRepo(t, plan)
	if isolation == "worktree" {
		testrepo.Git(t, r.dir, "init", "-q")
		testrepo.Git(t, r.dir, "add", "plan.json")
		testrepo.Git(t, r.dir, "commit", "-q", "-m", "plan")
	}
	w := r.wavexEnv(Env(t, srv), "run", "plan.json", "--output", "json", "--review", "off", "--schedule", "eager")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for _, request := range []fakeapi.Match{worked("T-004", 2), worked("T-005", 2)} {
		if _, err := srv.Wait(ctx, request); err != nil {
			t.Fatalf("the dependent does not begin beside the slow task: %v", err)
		}
	}
	gate.Open()
	e := w.end()
	all, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != 5 || last.Iterations != 5 {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	order := func(kind, text string) int {
		return slices.IndexFunc(all, func(v event) bool {
			return v.Type == kind && strings.Contains(string(v.Data), text)
		})
	}
	verified, slow := order("attempt_ended", `"task":"T-001"`), order("attempt_ended", `"task":"T-004"`)
	if !strings.Contains(string(all[verified].Data), `"status":"verified"`) || slow < verified {
		t.Errorf("T-001 ended as %s", all[verified].Data)
	}
	if at := order("integration_ended", `"T-001"`); at < 0 || isolation == "shared" && at < slow {
		t.Errorf("T-001 is completed by record %d, the slow task ended by record %d", at+1, slow+1)
	}
}
