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

// A task must change neither the plan nor wavex's folder, wherever it works.
func TestGuardedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b","dir":"sub"}]}`)
	r := &Session{plan: p, config: event.Config{Dir: dir, Isolation: event.Isolated}}
	want := "[{plan.json it is the plan in its own tree false false} {.loop it is wavex's own folder false true} " +
		"{.wavex.yaml it has the settings of later runs false false}]"
	if got := fmt.Sprint(r.guardedFiles(&p.Tasks[0])); got != want {
		t.Error(got)
	}
	if got := r.guardedFiles(&p.Tasks[1]); got != nil {
		t.Errorf("in a subdirectory: %v", got)
	}
	p.Tasks[0].Files = []plan.File{{Path: SettingsFile}}
	if got := r.guardedFiles(&p.Tasks[0]); len(got) != 2 {
		t.Errorf("a task that declares the settings: %v", got)
	}
}

// An attempt must not lay hands on the checks of others, nor on files that a task declares which may run meanwhile.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testrepo.Plan(t, dir, `{"share":["node_modules"],"criteria":["prose",{"text":"c","check":"make c"}],"tasks":[
		{"id":"a","subject":"a","dir":"sub","files":["a.txt"],"verify":["sh a.sh",{"file":"a.txt"}]},
		{"id":"b","subject":"b","files":["b.txt",{"path":"r.txt","action":"read"}],"verify":["sh b.sh"],"criteria":[{"text":"b","check":"make b"}]},
		{"id":"c","subject":"c","blockedBy":["a"],"files":["c.txt"]},
		{"id":"d","subject":"d","blockedBy":["c"],"files":["d.txt"]}]}`)
	r := &Session{plan: p, config: event.Config{Dir: dir, Isolation: event.Isolated}}
	i, _ := p.Lookup("a")
	c := r.checkFiles(p, i)
	var others []string
	for _, o := range c.Others {
		others = append(others, o.Owner+" "+o.Dir+" "+o.Check.Run)
	}
	if got, want := strings.Join(others, "; "), "C-2  make c; a sub sh a.sh; b  sh b.sh; b/C-1  make b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c.Under != "sub" || c.Busy != nil ||
		!slices.Equal(c.Planned, []string{"sub/a.txt", "b.txt", "c.txt", "d.txt"}) {
		t.Errorf("%+v", c)
	}
	r.config.Isolation = "shared"
	if c := r.checkFiles(p, i); !slices.Equal(c.Busy, []string{"b.txt"}) {
		t.Errorf("busy beside a: %v", c.Busy)
	}
	if i, _ = p.Lookup("c"); !slices.Equal(r.checkFiles(p, i).Busy, []string{"b.txt"}) {
		t.Errorf("busy beside c: %v", r.checkFiles(p, i).Busy)
	}
}

// The number of checks of others is bounded, and those of the tasks that follow come first.
func TestCheckFilesAreBounded(t *testing.T) {
	t.Parallel()
	var tasks []string
	for n := range 3 * maxOtherChecks {
		tasks = append(tasks, fmt.Sprintf(`{"id":"t%d","subject":"t","verify":["sh %d.sh"]}`, n, n))
	}
	p := testrepo.Plan(t, t.TempDir(), `{"tasks":[`+strings.Join(tasks, ",")+`]}`)
	r := &Session{plan: p, config: event.Config{Isolation: event.Isolated}}
	if got := r.checkFiles(p, 200).Others; len(got) != maxOtherChecks || got[1].Owner != "t201" {
		t.Errorf("%d checks, the second of %s", len(got), got[1].Owner)
	}
}

func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	p := testrepo.Plan(t, ".", `{"protect":["go.mod","branch:main"],"tasks":[{"id":"a","subject":"a","dir":"sub"},{"id":"b","subject":"b"}]}`)
	if got := protectedPaths(p, &p.Tasks[0]); got == nil || got.Under != "sub" ||
		!slices.Equal(got.Patterns, []string{"go.mod"}) {
		t.Errorf("%+v", got)
	}
	if got := protectedPaths(p, &p.Tasks[1]); got == nil || got.Under != "" {
		t.Errorf("%+v", got)
	}
	if got := protectedPaths(&plan.Plan{}, &p.Tasks[0]); got != nil {
		t.Errorf("%+v", got)
	}
}
