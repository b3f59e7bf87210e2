package run

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

func TestCommandWords(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"sh check.sh":                        "[{sh true} {check.sh true}]",
		"go test ./... && ./run.sh a.txt":    "[{go true} {test false} {... false} {run.sh true} {a.txt false}]",
		`python3 -u tests/run.py "x.json"`:   "[{python3 true} {tests/run.py true} {x.json false}]",
		"grep -q $X README.md;test -e out.a": "[{grep true} {README.md false} {test true} {out.a false}]",
		"":                                   "[]",
		"set -e\n./check.sh a\nb.sh":         "[{set true} {check.sh true} {a false} {b.sh true}]",
		"CI=1 A= ./check.sh":                 "[{check.sh true}]",
		"! ./check.sh":                       "[{check.sh true}]",
		"if ./a.sh; then exec ./b.sh; fi":    "[{a.sh true} {b.sh true} {fi true}]",
		"bash -c 'sh x.sh y'":                "[{bash true} {sh true} {x.sh true} {y false}]",
		"(cd sub && ./x.sh)":                 "[{cd true} {sub false} {x.sh true}]",
		"./a=b.sh":                           "[{a=b.sh true}]",
		"cat <in >out":                       "[{cat true} {in false} {out false}]",
		"&& || ;;":                           "[]",
		"cat a \\\n  b":                      "[{cat true} {a false} {b false}]",
	} {
		if got := fmt.Sprint(commandWords(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// For any command, its words could be names of files, and occur in it.
func FuzzCommandWords(f *testing.F) {
	for _, s := range []string{"sh check.sh", "A=1 b && c | d;e", "\x00\xff\n\"'", "bash -c \"x\ty\"", "é ü=1 é",
		"../../x /etc/passwd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words := commandWords(command)
		if len(words) > len(command) {
			t.Fatalf("%d words of %d bytes", len(words), len(command))
		}
		for i, w := range words {
			if w.text == "" || w.text != path.Clean(w.text) || strings.ContainsAny(w.text, " \t\r\n\"'()<>;&|$") {
				t.Errorf("%q has the word %q", command, w.text)
			}
			if i == 0 && !w.executed && !strings.ContainsAny(command, "-$") {
				t.Errorf("%q does not run its first word %q", command, w.text)
			}
		}
	})
}

// A task must not change the files that the checks of others name or its own checks run, if they
// exist in the project and no task declares them.
func TestGuardedFiles(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	testrepo.Files{"check.sh": "", "sub/own.sh": "", "sub/data.json": "", "made.sh": "", "shared.txt": "",
		"folder/x": ""}.Write(t, dir)
	testrepo.Files{"away.sh": ""}.Write(t, outside)
	testrepo.NamedPipe(t, filepath.Join(dir, "pipe.sh"))
	testrepo.Must(t, os.Symlink(filepath.Join(outside, "away.sh"), filepath.Join(dir, "linked.sh")))
	p := testrepo.Plan(t, dir, `{"tasks":[
		{"id":"a","subject":"a","verify":["sh check.sh shared.txt","sh made.sh","sh pipe.sh","sh folder","sh `+outside+
		`/away.sh","sh ../x.sh","sh gone.sh"]},
		{"id":"b","subject":"b","dir":"sub","verify":["./own.sh data.json",{"file":"data.json"}]},
		{"id":"c","subject":"c","files":["made.sh"],"verify":["sh linked.sh"]}]}`)
	for _, c := range []struct {
		task string
		want []string // path, own, tools, why
	}{
		{"a", []string{"plan.json false false it is the plan", ".loop false true it is wavex's own folder",
			"check.sh true false its own check runs it",
			"sub/own.sh false false a check of b names it", "sub/data.json false false a check of b names it",
			"linked.sh false false a check of c names it"}},
		{"b", []string{"own.sh true false its own check runs it"}},
		{"c", []string{"plan.json false false it is the plan", ".loop false true it is wavex's own folder",
			"check.sh false false a check of a names it", "shared.txt false false a check of a names it",
			"sub/own.sh false false a check of b names it", "sub/data.json false false a check of b names it",
			"linked.sh true false its own check runs it"}},
	} {
		r := &Session{plan: p, config: event.Config{Dir: dir, Isolation: event.Isolated}}
		i, _ := p.Lookup(c.task)
		var got []string
		for _, g := range r.guardedFiles(p, i) {
			got = append(got, fmt.Sprint(g.Path, g.Own, " ", g.Tools, " ", g.Why))
		}
		for k := range c.want {
			c.want[k] = strings.Replace(c.want[k], " ", "", 1)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.task, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The number of guarded files is bounded, and the plan is always among them.
func TestGuardedFilesAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many, words := testrepo.Files{}, "cat"
	for n := range 3 * maxGuardedFiles {
		name := fmt.Sprintf("f%d.txt", n)
		many[name] = ""
		words += " " + name
	}
	many.Write(t, dir)
	p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b","verify":["`+words+`"]}]}`)
	r := &Session{plan: p, config: event.Config{Dir: dir}}
	if got := r.guardedFiles(p, 0); len(got) != maxGuardedFiles || got[0].Why != runner.WhyPlan ||
		got[1].Why != whyLoopDir {
		t.Errorf("%d are watched, first %+v", len(got), got[:2])
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
