package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

// A task must change neither the plan of its tree nor the settings.
func TestGuardedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b","dir":"sub"}]}`)
	r := &Session{plan: p, config: event.Config{Dir: dir, Isolation: event.Isolated}}
	want := "[{.claude/settings.json it has the CLI's own rules} " +
		"{.claude/settings.local.json it has the CLI's own rules} {.mcp.json it has the CLI's own rules} " +
		"{.wavex.yaml it has the settings of later runs} " +
		"{plan.json it is the plan in its own tree}]"
	if got := fmt.Sprint(r.guardedFiles(&p.Tasks[0])); got != want {
		t.Error(got)
	}
	if got := fmt.Sprint(r.guardedFiles(&p.Tasks[1])); strings.Count(got, "{../") != 5 {
		t.Errorf("in a subdirectory: %s", got)
	}
	p.Tasks[0].Files = []plan.File{{Path: SettingsFile}, {Path: ".claude"}}
	if got := r.guardedFiles(&p.Tasks[0]); len(got) != 2 {
		t.Errorf("a task that declares the settings: %v", got)
	}
}

// The declared files of a task do not count as surplus of a task that may run at the same time in the directory.
func TestBusyFiles(t *testing.T) {
	t.Parallel()
	p := testrepo.Plan(t, t.TempDir(), `{"tasks":[
		{"id":"a","subject":"a","dir":"sub","files":["a.txt"]},
		{"id":"b","subject":"b","files":["b.txt",{"path":"r.txt","action":"read"}]},
		{"id":"c","subject":"c","blockedBy":["a"],"files":["c.txt"]},
		{"id":"d","subject":"d","blockedBy":["c"],"files":["d.txt"]}]}`)
	r := &Session{plan: p, config: event.Config{Isolation: event.Isolated}}
	i, _ := p.Lookup("a")
	if c := r.trees(p, i); c.Busy != nil {
		t.Errorf("%+v", c)
	}
	r.config.Isolation = "shared"
	for _, id := range []string{"a", "c"} {
		i, _ = p.Lookup(id)
		if c := r.trees(p, i); !slices.Equal(c.Busy, []string{"b.txt"}) {
			t.Errorf("busy beside %s: %v", id, c.Busy)
		}
	}
}
