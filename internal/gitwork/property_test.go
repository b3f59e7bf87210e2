package gitwork

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/runner"
)

// For any repository and any behaviour of agents: the delivered tree has everything that completed
// tasks committed, the user's checkout, index and stash change only by a due delivery, and every
// commit stays reachable.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2, 3, 4, 5, rand.Uint64()}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			(&world{t: t, rand: rand.New(rand.NewPCG(seed, 0)), lines: map[string]string{}}).live()
		})
	}
}

// world is one random run.
type world struct {
	t    *testing.T
	rand *rand.Rand
	r    *repo
	m    *Manager

	serial  int
	lines   map[string]string // lines that integrated tasks added, and the task of each
	commits []string          // every commit that a task ever had
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *world) live() {
	t := w.t
	content := files{}
	for i := range 2 + w.rand.IntN(4) {
		text := ""
		for j := range 5 + w.rand.IntN(20) {
			text += fmt.Sprintf("base %d.%d\n", i, j)
		}
		content[fmt.Sprintf("%sf%d", []string{"", "d/", "d/e/"}[w.rand.IntN(3)], i)] = text
	}
	w.r = newRepo(t, content)
	if w.chance(30) { // the user has a stash
		w.r.write(w.r.dir, files{"mine": "stash\n"})
		w.r.git("stash", "-qu")
	}
	dirty := w.chance(30)
	if dirty { // the user has uncommitted changes
		w.r.write(w.r.dir, files{"mine": "dirty\n", "mine too": "staged\n"})
		w.r.git("add", "mine too")
	}
	before := w.r.userFingerprint()
	w.m = w.r.open(w.r.options("r1"))
	complete := true
	for wave := range 1 + w.rand.IntN(2) {
		complete = w.wave(wave+1) && complete
		w.r.untouched(before)
		if w.chance(40) { // wavex ends and is started again
			must(t, w.m.Close(t.Context()))
			w.m = w.r.open(w.r.options("r1"))
		}
	}
	d, err := w.m.Deliver(t.Context(), "auto", complete)
	must(t, err)
	if d.How != "ff" {
		w.r.untouched(before)
	}
	if due := complete && !dirty && d.How != "none"; due != (d.How == "ff") {
		t.Errorf("the delivery is %s (%s), complete %v, dirty %v", d.How, d.Why, complete, dirty)
	}
	w.present(d.Commit)
	if d.How == "ff" {
		equal(t, "HEAD", w.r.git("rev-parse", "HEAD"), d.Commit)
		equal(t, "status", w.r.git("status", "--porcelain"), "")
	}
	w.reachable()
	must(t, w.m.Close(t.Context()))
	after := w.r.userFingerprint()
	_, err = Clean(t.Context(), w.r.dir, "r1", false)
	must(t, err)
	w.r.untouched(after)
	w.reachable()
	equal(t, "worktrees left", len(splitLines(w.r.git("worktree", "list"))), 1)
}

// wave runs some tasks and integrates them, twice, with their culprits reopened. It reports whether
// all of them were integrated.
func (w *world) wave(n int) bool {
	var waiting []VerifiedTask
	added := map[string][]string{}
	all := true
	for i := range 1 + w.rand.IntN(4) {
		d := VerifiedTask{Task: fmt.Sprintf("w%d t%d", n, i)}
		if w.chance(30) { // two of them are red together
			d.Checks = []plan.Check{{Run: `test "$(ls | grep -c ^only)" -le 1`}}
		}
		if w.attempt(&d, 1, added) && (w.chance(80) || w.attempt(&d, 2, added)) { // as after a crash
			waiting = append(waiting, d)
		} else {
			all = false
		}
	}
	for try := 2; len(waiting) > 0; try++ {
		in, err := w.m.Integrate(w.t.Context(), n, waiting)
		must(w.t, err)
		again, err := w.m.Integrate(w.t.Context(), n, waiting)
		must(w.t, err)
		equal(w.t, "the same again", fmt.Sprint(again), fmt.Sprint(in))
		equal(w.t, "accounted for", len(in.Integrated)+len(in.Culprits)+len(in.Withheld), len(waiting))
		for _, task := range in.Integrated {
			for _, line := range added[task] {
				w.lines[line] = task
			}
		}
		w.present(in.Commit)
		all = all && len(in.Withheld) == 0
		var next []VerifiedTask
		for _, c := range in.Culprits {
			must(w.t, w.m.Reopen(w.t.Context(), c.Task))
			at := slices.IndexFunc(waiting, func(d VerifiedTask) bool { return d.Task == c.Task })
			d := waiting[at]
			d.Checks = nil // its next attempt is correct
			if try < 4 && w.attempt(&d, try, added) {
				next = append(next, d)
			} else {
				all = false
			}
		}
		waiting = next
	}
	return all
}

// attempt makes up to three attempts at a task until one is done.
func (w *world) attempt(d *VerifiedTask, number int, added map[string][]string) bool {
	for range 3 {
		fails, commits := w.chance(20), w.chance(30)
		var lines []string
		res := w.r.ask(w.m, runner.Request{Task: d.Task, Attempt: number, Resume: w.chance(50)},
			func(dir string, _ runner.Request) error {
				for range 1 + w.rand.IntN(3) {
					lines = append(lines, w.edit(dir, len(d.Checks) > 0)...)
				}
				if commits {
					w.r.gitIn(dir, "add", "-A")
					w.r.gitIn(dir, "commit", "-q", "--allow-empty", "-m", "by the agent")
					w.commits = append(w.commits, w.r.gitIn(dir, "rev-parse", "HEAD"))
				}
				if fails {
					return fmt.Errorf("not yet")
				}
				return nil
			})
		if id, err := w.r.tryGit(w.r.dir, "rev-parse", "--verify", "-q", taskRef("r1", d.Task)); err == nil {
			w.commits = append(w.commits, id)
		}
		if res.Outcome == runner.Done {
			// At the end of the attempt only its committed lines count.
			added[d.Task] = nil
			text := w.r.git("show", "--format=", "--unified=0", taskRef("r1", d.Task))
			for _, line := range strings.Split(text, "\n") {
				if line, ok := strings.CutPrefix(line, "+line "); ok {
					added[d.Task] = append(added[d.Task], "line "+line)
				}
			}
			return true
		}
		if !fails {
			w.t.Fatalf("%s is %s: %s", d.Task, res.Outcome, res.Reason)
		}
	}
	return false
}

// edit changes something and returns the lines it added. No edit removes a line that a task added,
// so each must exist in the end.
func (w *world) edit(dir string, only bool) []string {
	w.serial++
	line := fmt.Sprintf("line %d", w.serial)
	if only {
		w.r.write(dir, files{fmt.Sprintf("only%d", w.serial): line + "\n"})
		return []string{line}
	}
	var names []string
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != ".git" {
			names = append(names, p)
		}
		return nil
	})
	if len(names) == 0 || w.chance(30) {
		w.r.write(dir, files{fmt.Sprintf("new/n%d", w.serial): line + "\n"})
		return []string{line}
	}
	path := names[w.rand.IntN(len(names))]
	data, err := os.ReadFile(path)
	must(w.t, err)
	text := strings.SplitAfter(string(data), "\n")
	at := w.rand.IntN(len(text))
	switch {
	case w.chance(15) && !strings.Contains(string(data), "line "):
		must(w.t, os.Remove(path))
		return nil
	case w.chance(15):
		must(w.t, os.Rename(path, fmt.Sprintf("%s-moved%d", path, w.serial)))
		return nil
	case w.chance(30) && strings.HasPrefix(text[at], "base"):
		text[at] = line + "\n"
	default:
		text = slices.Insert(text, at, line+"\n")
	}
	must(w.t, os.WriteFile(path, []byte(strings.Join(text, "")), 0o644))
	return []string{line}
}

// present fails the test if a line of an integrated task is missing from a commit.
func (w *world) present(commit string) {
	w.t.Helper()
	text, err := w.r.tryGit(w.r.dir, "grep", "-h", "^line ", commit)
	if err != nil && text != "" {
		w.t.Fatal(text)
	}
	have := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		have[line] = true
	}
	for line, task := range w.lines {
		if !have[line] {
			w.t.Errorf("%q of task %s is not in %s", line, task, shortID(commit))
		}
	}
}

// reachable fails the test if no ref reaches a commit of a task.
func (w *world) reachable() {
	w.t.Helper()
	all := map[string]bool{}
	for _, id := range splitLines(w.r.git("rev-list", "--all")) {
		all[id] = true
	}
	for _, id := range w.commits {
		if !all[id] {
			w.t.Errorf("commit %s is reachable from no ref", shortID(id))
		}
	}
}
