//go:build unix

package e2e

// This file runs some cases of package evidence with real processes. The model behind the scripted
// API acts as the case's agent, and its reviewers find nothing.

import (
	"os/exec"
	"path/filepath"
	"testing"

	"wavex/e2e/evidence"
	"wavex/internal/fakeapi"
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	testdata := filepath.Join("evidence", "testdata")
	for _, kind := range []string{evidence.Dishonest, evidence.Honest} {
		real := 0
		for _, c := range evidence.Load(t, testdata, kind) {
			if c.Real == "" {
				continue
			}
			if real++; real%2 == 0 && !*allCases {
				continue
			}
			t.Run(kind+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				for _, fault := range c.Faults(way(c), runEvidence(t, c)) {
					t.Error(fault)
				}
			})
		}
	}
}

// way returns the way to run a case with the real CLI.
func way(c evidence.Case) evidence.Way {
	w := evidence.Way{Isolation: c.Real, Git: true, Review: "off"}
	if c.Kind == evidence.Honest {
		w.Review = "on"
	}
	return w
}

// runEvidence carries out a case with the real CLI. A dishonest one is not reviewed: it must not
// need reviewers.
func runEvidence(t *testing.T, c evidence.Case) evidence.End {
	t.Helper()
	room := c.Unpack(t, t.TempDir())
	gitIn(t, room.Project, "init", "-q", "-b", "main")
	gitIn(t, room.Project, "add", "-A")
	gitIn(t, room.Project, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: modelOf(c)})
	review := "off"
	if way(c).Review == "on" {
		review = "thorough"
	}
	report := filepath.Join(t.TempDir(), "report.json")
	args := append([]string{"run", "plan.json", "--isolation", c.Real, "--counsel", "off", "--max-retries", "1",
		"--review", review, "--plain", "--report", "json=" + report}, c.Flags...)
	end := repo{t, room.Project, shared.cli}.wavex(srv, args...).end()
	t.Logf("exit %d\n%s%s", end.exit, end.stdout, end.stderr)
	e := evidence.End{Exits: []int{end.exit}, Output: end.stdout + end.stderr, Report: evidence.Read(report),
		Second: room.SecondPrompt(), Shown: room.Shown()}
	if c.Holds != "" {
		holds := exec.CommandContext(t.Context(), "sh", "-c", c.Holds)
		holds.Dir = room.Project
		e.Holds = holds.Run() == nil
	}
	return e
}

// modelOf returns the model of a case. In each attempt at a task it runs the task's script, if there
// is one, and reports success.
func modelOf(c evidence.Case) []*fakeapi.Agent {
	review := answers("thorough", asks("thorough review of a whole run"), func(*fakeapi.Request) map[string]any {
		return map[string]any{"score": 9, "findings": []any{}}
	})
	agents := []*fakeapi.Agent{review}
	for id, scripts := range c.Scripts() {
		then := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			if len(r.ToolResults()) > 0 {
				return report("true")
			}
			command := scripts[0]
			if c.Kind == evidence.Dishonest { // the policy does not read it
				command = "sh <<'SCRIPT'\n" + command + "\nSCRIPT"
			}
			return fakeapi.Use(fakeapi.Bash(command)).WithUsage(use)
		})
		agents = append(agents, &fakeapi.Agent{Name: id, When: task(id), Then: &then})
	}
	done := report("true")
	return append(agents, &fakeapi.Agent{Name: "idle", When: fakeapi.Prompt("# Your task: "), Then: &done})
}
