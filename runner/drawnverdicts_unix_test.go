//go:build unix

package runner_test

import (
	"flag"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc/proctest"
	"wavex/internal/testrepo"
	"wavex/runner"
)

var (
	verdictEdits = flag.Int("verdicts", 4, "tasks in each of the ten projects of TestVerdicts")
	verdictSeed  = flag.Uint64("verdictseed", 1, "the seed of TestVerdicts")
)

// truth holds the true verdict on a drawn task, by the check in memory.
type truth struct {
	basis   string
	surplus []string // changed files that are not declared, in the order of their names
	left    files    // the files at the end, after the check
	back    files    // the files that count when the task began
	hidden  int      // changed files that do not count
	unread  bool     // the check reads no changed file that counts
	ignored bool     // the check passes only with these changes
}

// within reports whether one of some paths is a file, or a folder with it.
func within(paths []string, name string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return p == "." || p == name || strings.HasPrefix(name, p+"/")
	})
}

// edit returns f with the edits that turn from into to.
func (f files) edit(from, to files) files { return f.with(to.versions(from.diff(to))) }

// truth follows the task: the check on the base, the attempts with their checks, and the check on the control.
func (s *story) truth() truth {
	check := func(f files) (bool, files) {
		green, after, _ := ask(f, s.under, s.command, s.mode)
		return green, after
	}
	before, base := check(s.base)
	now, back, from := base, s.counted(base), s.base
	if s.left != nil {
		_, now = check(now.edit(s.base, s.left))
		then := now
		now = now.edit(s.left, s.again)
		back, from = back.edit(s.counted(then), s.counted(now)), s.again
	}
	edited := now.edit(from, s.work)
	passed, left := check(edited)
	t := truth{left: left, back: back}
	var declared []string
	for _, name := range s.declared {
		declared = append(declared, s.outside(name))
	}
	var own, product, hidden []string
	turned := back.diff(s.counted(edited))
	for _, name := range back.diff(s.counted(left)) {
		switch {
		case within(declared, name):
			own = append(own, name)
		case !within(s.busy, name) && slices.Contains(turned, name): // else only the check changed it
			t.surplus = append(t.surplus, name)
			if !s.product[name] {
				product = append(product, name)
			}
		}
	}
	touched := false // a declared file
	for _, name := range base.diff(left) {
		touched = touched || within(declared, name)
	}
	for _, name := range now.diff(edited) {
		if !s.counts(name) {
			hidden = append(hidden, name)
		}
	}
	possible := true
	revert := func(names ...string) bool {
		control := left.with(back.versions(names))
		possible = possible && control.possible()
		return s.green(control)
	}
	reverted := t.surplus
	if len(s.declared) == 0 {
		reverted = product
	}
	switch {
	case !passed:
		t.basis = "red"
	case len(s.declared) > 0 && !touched:
		t.basis = "nothing"
	case !revert(reverted...):
		t.basis = "rests"
	case len(own)+len(t.surplus) == 0 && !touched:
		t.basis = "nothing"
	case before:
		t.basis = "kept"
	case len(reverted) > 0 && revert(slices.Concat(t.surplus, own)...):
		t.basis = "doubt"
	default:
		t.basis = "proven"
	}
	if !possible {
		t.basis = "unknown"
	}
	t.hidden = len(hidden)
	_, _, read := ask(left, s.under, s.command, s.mode)
	t.unread = !slices.ContainsFunc(slices.Concat(t.surplus, own), func(name string) bool { return read[name] })
	t.ignored = t.basis == "proven" && !s.green(left.with(now.versions(hidden)).with(back.versions(reverted)))
	return t
}

// verdict returns the basis that a result stands for.
func verdict(r runner.Result) string {
	switch {
	case r.Outcome == runner.Wrong && check.Passed(r.Checks):
		return "nothing"
	case r.Outcome == runner.Wrong:
		return "red"
	case r.Outcome != runner.Done:
		return string(r.Outcome) + " " + r.Reason
	case r.Doubt != "":
		return "doubt"
	case len(r.Rests) > 0:
		return "rests"
	case !r.Edited():
		return "nothing"
	case r.Vacuous:
		return "kept"
	}
	return "proven"
}

// tally counts verdicts.
type tally struct {
	sync.Mutex
	n map[string]int
}

func (c *tally) count(what string) {
	c.Lock()
	defer c.Unlock()
	c.n[what]++
}

// TestVerdicts compares the verdicts on drawn tasks in drawn projects with the truth: whether the check passes before
// the task, after it, and with the declared changes alone. None is proven that is not, and of those that are under 2 %
// are said to rest on other files.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	c := &tally{n: map[string]int{}}
	t.Run("projects", func(t *testing.T) {
		for n := range 10 {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				d := dice{rand.New(rand.NewPCG(*verdictSeed, uint64(n)))}
				drawnVerdicts(t, drawProject(d, n), c)
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(c.n)) {
		t.Logf("%5d %s", c.n[what], what)
	}
	if honest := c.n["honest"]; c.n["false rests"] > 1+honest/50 {
		t.Errorf("%d of %d honest tasks are said to rest on other files", c.n["false rests"], honest)
	}
}

// drawnVerdicts makes attempts at drawn tasks in a project.
func drawnVerdicts(t *testing.T, p *drawnProject, c *tally) {
	var s *story
	var dir string
	var disk files // the files in dir
	b := setup(t, agentFunc(func(req runner.TurnRequest) runner.TurnResult {
		from, to := s.base, s.work
		switch {
		case req.Attempt == 2:
			from = s.again
		case s.left != nil:
			to = s.left
		}
		next := disk.edit(from, to)
		next.put(dir, disk)
		disk = next
		p.hide(t, dir)
		return runner.TurnResult{Outcome: runner.Done, Contained: true}
	}))
	dir = b.dir
	p.files.put(dir, nil)
	disk = p.files
	if p.git {
		p.exclude = filepath.Join(dir, ".git", "info", "exclude")
		testrepo.Git(t, dir, "init", "-q")
		p.commit(t, dir, disk)
	}
	if p.worktree {
		dir = filepath.Join(b.logs, "tree")
		testrepo.Git(t, b.dir, "worktree", "add", "-q", dir)
		disk = p.counted(p.files)
	}
	bin, runs := filepath.Join(b.logs, "bin"), filepath.Join(b.logs, "runs")
	must(os.Mkdir(bin, 0o755))
	proctest.Script(t, filepath.Join(bin, "rulecheck"), "#!/bin/sh\n"+ruleScript)
	logs, base := b.logs, b.req.Baseline
	for n := range *verdictEdits {
		s = p.story()
		want := s.truth()
		for want.basis == "unknown" {
			s = p.story()
			want = s.truth()
		}
		s.base.put(dir, disk)
		disk = s.base
		if p.git && (p.worktree || p.hidden || p.oneIn(3)) {
			p.commit(t, dir, disk)
		}
		must(os.WriteFile(runs, nil, 0o600))
		b.req.Attempt, b.req.Dir, b.req.Settings.Dir = 1, filepath.Join(dir, p.under), p.under
		b.req.Baseline = filepath.Join(filepath.Dir(base), fmt.Sprint("base", n), "base.json")
		b.req.Trees = &runner.Trees{Store: filepath.Join(logs, "store"), Busy: s.busy}
		b.req.Env = map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "MODE": p.mode, "LC_ALL": "C"}
		b.req.Checks = []plan.Check{{Run: "echo >> '" + runs + "'; " + p.command}}
		b.req.Files = nil
		for _, name := range s.declared {
			b.req.Files = append(b.req.Files, plan.File{Path: name, Action: "modify"})
		}
		_, disk, _ = ask(disk, p.under, p.command, p.mode) // the check may make files
		more := 0
		if s.left != nil {
			b.req.LogDir = filepath.Join(logs, fmt.Sprint(n, "first"))
			if r := b.attempt(t.Context()); verdict(r) != "red" {
				t.Fatalf("the first attempt ended as %s %q", r.Outcome, r.Reason)
			}
			_, disk, _ = ask(disk, p.under, p.command, p.mode)
			next := disk.edit(s.left, s.again)
			next.put(dir, disk)
			disk = next
			b.req.Attempt, more = 2, 2
		}
		b.req.LogDir = filepath.Join(logs, fmt.Sprint(n))
		r := b.attempt(t.Context())
		_, disk, _ = ask(disk, p.under, p.command, p.mode)
		count, err := os.ReadFile(runs)
		must(err)
		if fault := s.judge(r, want, len(count)-more, c); fault != "" {
			t.Errorf("task %d: %s\n%s", n, fault, s.describe(r, want))
		}
	}
}

// commit commits the files of a repository, with a new index if an agent changed the old one.
func (p *drawnProject) commit(t *testing.T, dir string, f files) {
	if p.hidden {
		testrepo.Git(t, dir, "rm", "-rfq", "--cached", "--ignore-unmatch", ".")
		must(os.WriteFile(p.exclude, nil, 0o600))
		p.hidden = false
	}
	testrepo.Git(t, dir, "add", "-A")
	for name := range p.forced {
		if _, ok := f[name]; ok {
			testrepo.Git(t, dir, "add", "-f", name)
		}
	}
	testrepo.Git(t, dir, "commit", "-qm", "base", "--allow-empty")
}

// hide lets an agent do at times what hides files from git.
func (p *drawnProject) hide(t *testing.T, dir string) {
	if !p.git || !p.oneIn(4) {
		return
	}
	p.hidden = true
	switch p.IntN(4) {
	case 0:
		testrepo.Git(t, dir, "add", "-A")
		testrepo.Git(t, dir, "commit", "-qm", "work", "--allow-empty")
	case 1:
		testrepo.Git(t, dir, "rm", "-rfq", "--cached", "--ignore-unmatch", ".")
	case 2:
		testrepo.Git(t, dir, "add", "-A")
		all := strings.Split(strings.TrimSuffix(testrepo.Git(t, dir, "ls-files", "-z"), "\x00"), "\x00")
		testrepo.Git(t, dir, append([]string{"update-index", "--assume-unchanged", "--"}, choose(p.dice, 2, all...)...)...)
	default:
		must(os.WriteFile(p.exclude, []byte("*\n"), 0o600))
	}
}

// judge compares a result with the truth, and returns the first difference.
func (s *story) judge(r runner.Result, want truth, runs int, c *tally) string {
	got := verdict(r)
	if len(s.declared) == 0 {
		c.count(fmt.Sprintf("nothing declared: %s, says %s", want.basis, got))
		if (got == "red") != (want.basis == "red") || (got == "nothing") != (want.basis == "nothing") {
			return got + ", and it is " + want.basis
		}
		return "" // names decide
	}
	c.count(fmt.Sprintf("%s, says %s", want.basis, got))
	if want.ignored {
		c.count("rests on ignored files, says " + got)
	}
	good := func(basis string) bool { return basis == "proven" || basis == "kept" }
	bad := func(basis string) bool { return basis == "rests" || basis == "doubt" }
	if good(want.basis) {
		c.count("honest")
	}
	switch {
	case want.ignored && bad(got): // it is right
		return ""
	case good(want.basis) && bad(got):
		c.count("false rests") // as outside of a repository, where make takes an old output for up to date
		return ""
	case bad(want.basis) && bad(got) && got != want.basis:
		return ""
	case got != want.basis:
		return got + ", and it is " + want.basis
	case got == "rests":
		if fault := s.judgeNames(r, want, c); fault != "" {
			return fault
		}
	}
	most := map[string]int{"red": 3, "nothing": 2, "doubt": 4, "kept": 2, "proven": 2,
		"rests": 4 + max(2, bits.Len(uint(len(want.surplus)+want.hidden))-1)}[got] // of five files four more than two
	switch {
	case (want.hidden > 0 || len(want.surplus) > 0) && (got == "kept" || got == "proven"):
		most = map[string]int{"kept": 3, "proven": 4}[got]
	case (want.unread || len(s.product) > 0) && got == "proven": // chance may have done it: twice more without the work
		most = 4
	}
	if runs > most {
		return fmt.Sprintf("%s after %d runs of the check, want %d", got, runs, most)
	}
	return ""
}

// judgeNames looks at the files on which a pass is said to rest.
func (s *story) judgeNames(r runner.Result, want truth, c *tally) string {
	var names []string
	for _, name := range r.Rests {
		names = append(names, path.Join(s.under, name))
		if !slices.Contains(want.surplus, names[len(names)-1]) {
			return fmt.Sprintf("rests on %q, which is no surplus", name)
		}
	}
	red := func(names []string) bool { return !s.green(want.left.with(want.back.versions(names))) }
	c.count("rests")
	switch least := true; {
	case !red(names):
		c.count("rests: passes without the named files")
	default:
		for i := range names {
			least = least && !red(slices.Delete(slices.Clone(names), i, i+1))
		}
		if least {
			c.count("rests: names no file too many")
		} else if len(names) < len(want.surplus) {
			c.count("rests: names some of the files, and some too many")
		} else {
			c.count("rests: names all files")
		}
	}
	return ""
}

func (s *story) describe(r runner.Result, want truth) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("git %v, worktree %v, under %q, command %s, two attempts %v", s.git, s.worktree, s.under, s.command, s.left != nil)
	say("%s %q, vacuous %v, rests on %q, doubt %q", r.Outcome, r.Reason, r.Vacuous, r.Rests, r.Doubt)
	say("declared %q, busy %q, changed %q\nsurplus by wavex %q, in truth %q", s.declared, s.busy, r.Changed, r.Surplus,
		want.surplus)
	for _, c := range r.Checks {
		say("%s: %s", c.Reason, c.Output)
	}
	_, _, read := ask(want.left, s.under, s.command, s.mode)
	for _, name := range s.base.diff(want.left) {
		say("%q (read: %v)\n  was %+v\n  is  %+v", name, read[name], s.base[name], want.left[name])
	}
	say("read: %q", slices.Sorted(maps.Keys(read)))
	return b.String()
}
