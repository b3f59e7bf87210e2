package soak

// This file runs the plan of one seed until it is complete, and compares the journal, the ledger,
// the files, git and the processes.

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/e2e/scratch"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/scheduler"
)

// soaked is the plan of one seed with its sessions.
type soaked struct {
	t        *testing.T
	seed     uint64
	dir, bin string // the folder of the seed; that of the striking git
	plan     *randomPlan
	strikes  []*strike
	p        scratch.Project
	git      bool // the project is a repository
	small    bool // a strike is to fill a disk
	notRun   int

	exits    []int         // of the sessions
	events   []event.Event // of the whole run
	findings map[string]int
}

// found reports a finding.
func (c *soaked) found(kind, format string, args ...any) {
	c.t.Helper()
	c.findings[kind]++
	c.t.Fail()
	c.logf("%s: %s", kind, fmt.Sprintf(format, args...))
}

// logf logs a line, also in the folder of the seed, which can be read while other seeds run.
func (c *soaked) logf(format string, args ...any) {
	c.t.Helper()
	c.t.Logf(format, args...)
	f, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// prepare writes the project.
func (c *soaked) prepare(rng *rand.Rand) {
	t := c.t
	c.findings = map[string]int{}
	home := filepath.Join(c.dir, "home")
	c.p = scratch.Project{T: t, Wavex: shared.wavex, Dir: filepath.Join(c.dir, "project"), Home: home,
		Flags: c.plan.flags()}
	write(t, filepath.Join(home, ".gitconfig"),
		"[user]\n\tname = A\n\temail = a@example.com\n[core]\n\tfsync = none\n[init]\n\tdefaultBranch = main\n")
	write(t, filepath.Join(home, "trace"), "")
	newGit(t, c.bin, shared.wavex)
	c.strikes = slices.DeleteFunc(c.strikes, func(s *strike) bool {
		dir := s.disk(c.p)
		if dir != "" && !shared.mounts {
			c.notRun++
			return true
		}
		if dir != "" && !c.small {
			c.small = true // the first disk strike decides which file system is small
			scratch.Mount(t, dir, diskSize, 0)
			t.Cleanup(func() { c.keep(dir) })
			return false
		}
		return dir != ""
	})
	c.git = c.plan.isolation == "worktree" || rng.IntN(2) == 0
	write(t, filepath.Join(c.p.Dir, "plan.json"), c.plan.file())
	write(t, filepath.Join(c.p.Dir, sharedFile), "first\n")
	if c.git {
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
			c.runGit(args...)
		}
	}
}

// keep copies a file system into the folder of a seed that failed, before it is unmounted.
func (c *soaked) keep(dir string) {
	if !c.t.Failed() {
		return
	}
	if err := os.CopyFS(filepath.Join(c.dir, "disk"), os.DirFS(dir)); err != nil {
		c.logf("keeping %s: %v", dir, err)
	}
}

// runGit runs the user's git in the project.
func (c *soaked) runGit(args ...string) string {
	c.t.Helper()
	out, err := c.tryGit(args...)
	if err != nil {
		c.found(other, "git %q: %v\n%s", args, err, out)
	}
	return out
}

func (c *soaked) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = c.p.Dir, []string{"HOME=" + c.p.Home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mostSessions bounds the sessions of a run. Each strike, each fault and each limit takes one.
const mostSessions = 40

// run runs sessions until the run is complete.
func (c *soaked) run(rng *rand.Rand) {
	c.t.Helper()
	c.logf("%d tasks, shape %s, %s, strikes %v", len(c.plan.tasks), c.plan.shape, c.plan.isolation, c.strikes)
	for n := range mostSessions {
		var s *strike
		if n < len(c.strikes) {
			s = c.strikes[n]
		}
		c.session(rng, s)
		if _, end := scratch.LastRun(c.events); end != nil && end.Status == event.RunComplete {
			return
		}
	}
	c.found(code, "not complete after %d sessions with exits %v", mostSessions, c.exits)
	c.t.FailNow()
}

// args returns the command line of the next session: the printed one if there is one.
func (c *soaked) args(rng *rand.Rand) []string {
	run, end := scratch.LastRun(c.events)
	always := []string{"--output", "json"}
	switch {
	case run == "" || end == nil && rng.IntN(2) == 0:
		return append([]string{"run", "plan.json"}, always...)
	case end != nil && end.Tasks.Pending == 0 && len(failedTasks(c.events)) > 0:
		return slices.Concat([]string{"retry"}, slices.Sorted(maps.Keys(failedTasks(c.events))), always)
	case end != nil && end.Resume != "":
		return append(strings.Fields(end.Resume)[1:], always...)
	}
	return append([]string{"resume"}, always...)
}

// session runs one session with a strike, which may be nil.
func (c *soaked) session(rng *rand.Rand, s *strike) {
	before := len(c.events)
	args := c.args(rng)
	if s != nil {
		s.arm(c.t, c.bin)
	}
	w := c.p.Start([]string{"WAVEX_OPT_GRACE=1s", "PATH=" + c.bin + string(os.PathListSeparator) + os.Getenv("PATH")},
		args...)
	wrong := ""
	if s != nil {
		wrong = s.do(w, before)
	}
	e := w.End()
	if disarm(c.t, c.bin) {
		s.hit = true
	}
	if dir := c.fullDisk(s); dir != "" {
		scratch.Remount(c.t, dir, diskSize, 0)
	}
	if wrong != "" {
		c.found(other, "%s", wrong)
	}
	c.events = c.p.Events()
	c.exits = append(c.exits, e.Exit)
	c.logf("session %d: %q, strike %v (hit: %v), exit %d, %d records", len(c.exits), args, s, s != nil && s.hit, e.Exit,
		len(c.events))
	if s == nil || s.kind != killBoth || !s.hit { // docs/containment.md: then processes stay until the resume
		within := time.Second
		if e.Exit < 0 {
			within = 2 * time.Second
		}
		if took, left := c.p.Gone(within); left != nil {
			c.found(alive, "%s after the end of session %d: %v", took, len(c.exits), left)
		}
	}
	if wrong := c.exitCode(e, s, c.events[before:]); wrong != "" {
		c.found(code, "session %d: %s\nstdout: %s\nstderr: %s", len(c.exits), wrong, e.Stdout, e.Stderr)
		c.t.FailNow()
	}
}

// fullDisk returns the file system that a strike has filled, or "".
func (c *soaked) fullDisk(s *strike) string {
	if s == nil || !s.hit {
		return ""
	}
	return s.disk(c.p)
}

// exitCode returns how the exit code of a session contradicts docs/exit-codes.md.
func (c *soaked) exitCode(e scratch.Ended, s *strike, events []event.Event) (wrong string) {
	hit := s != nil && s.hit
	if e.Exit < 0 {
		if hit && s.killsWavex() {
			return ""
		}
		return "it was killed, or took too long"
	}
	run, end := scratch.LastRun(events)
	full := c.fullDisk(s) != ""
	switch {
	case end == nil && e.Exit == 5 && (full || hit && gitModes[s.kind] != ""):
		return "" // the end could not be recorded, or the run could not begin
	case end == nil:
		return fmt.Sprintf("exit %d without an end on record", e.Exit)
	case int(end.ExitCode) != e.Exit:
		return fmt.Sprintf("exit %d, the journal of %s says %d", e.Exit, run, end.ExitCode)
	}
	if hit && signals[s.kind].exit != 0 {
		if e.Exit == signals[s.kind].exit {
			return ""
		}
		for _, e := range c.events[s.records:] {
			if b, ok := e.Body.(event.AttemptStarted); ok {
				return fmt.Sprintf("attempt %d of %s starts after %s", b.Attempt, b.Task, s.kind)
			}
		}
	}
	failed, stopped, refused := ends(c.events)
	left := end.Tasks.Failed + end.Tasks.Blocked + end.Tasks.Pending
	allowed := map[int]bool{
		0: left == 0 && end.Tasks.Completed == len(c.plan.tasks)+added(c.events) || limited(c.events),
		1: failed && !stopped || refused,
		3: c.plan.exits[3] || capped(c.events),
		4: stopped,
		5: c.plan.exits[5] || full || hit && (s.kind == killAgent || gitModes[s.kind] != ""),
		6: c.plan.exits[6],
	}
	if !allowed[e.Exit] {
		return fmt.Sprintf("exit %d (%s), which nothing here can cause; failed %v, stopped %v, refused %v", e.Exit,
			end.Reason, failed, stopped, refused)
	}
	return ""
}

// ends reports whether tasks have failed and got no other chance since; and whether a breaker stopped one of them, or
// the run in the last session, and whether the gate refused in that.
func ends(events []event.Event) (failed, stopped, refused bool) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunResumed:
			stopped, refused = false, false
		case event.AttemptEnded:
			stopped = stopped || b.Stop != nil && b.Stop.Breaker != ""
		case event.IntegrationEnded:
			stopped = stopped || b.Stop != nil && b.Stop.Breaker != ""
		case event.Draining:
			stopped = stopped || b.Stop.Breaker != ""
		case event.GateEnded:
			refused = !b.Passed
		}
	}
	for _, byBreaker := range failedTasks(events) {
		failed, stopped = true, stopped || byBreaker
	}
	return failed, stopped, refused
}

// failedTasks returns the tasks that have failed and got no other chance since, and whether a breaker stopped them.
func failedTasks(events []event.Event) map[string]bool {
	tasks := map[string]bool{}
	attempt := func(task string, status event.Status, stop *event.Stop) {
		if status == event.Failed {
			tasks[task] = stop != nil
		}
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			clear(tasks)
		case event.RunResumed:
			for _, id := range b.Retried {
				delete(tasks, id)
			}
		case event.AttemptEnded:
			attempt(b.Task, b.Status, b.TaskStop)
		case event.IntegrationEnded:
			for _, r := range b.Reopened {
				attempt(r.Task, r.Status, r.TaskStop)
			}
		}
	}
	return tasks
}

// limited reports whether the last session was limited to some tasks.
func limited(events []event.Event) (is bool) {
	for _, e := range events {
		if b, ok := e.Body.(event.RunResumed); ok {
			is = len(b.Config.Only) > 0
		}
	}
	return is
}

// added returns the number of tasks that the run added to its plan.
func added(events []event.Event) (n int) {
	for _, e := range events {
		if b, ok := e.Body.(event.TasksAdded); ok {
			n += len(b.Tasks)
		}
	}
	return n
}

// capped reports whether an attempt counted its cap, because its stream cannot be read: that can use
// up the budget.
func capped(events []event.Event) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool {
		b, ok := e.Body.(event.AttemptEnded)
		return ok && b.Result.Priced == "cap"
	})
}

// compare compares the journal, the ledger, the files and git after the run is complete.
func (c *soaked) compare() {
	account := c.p.Account(c.small)
	for kind, wrong := range map[string][]string{redone: account.Redone, paid: account.Money, other: account.Other} {
		for _, w := range wrong {
			c.found(kind, "%s", w)
		}
	}
	c.compareLedger()
	c.compareTrace()
	if c.git {
		c.compareGit()
	}
	for path, text := range c.plan.texts {
		if got := c.delivered(path); got != text {
			c.found(lost, "%s is %.80q", path, got)
		}
	}
	lines := strings.Split(c.delivered(sharedFile), "\n")
	for _, id := range c.plan.shared {
		if !slices.Contains(lines, id) {
			c.found(lost, "%s lacks the line of %s: %q", sharedFile, id, lines)
		}
	}
	if e := c.p.Run("status", "--rebuild"); e.Exit != 0 {
		c.found(other, "status --rebuild: exit %d\n%s", e.Exit, e.Stderr)
	}
	c.p.MustProject()
	if e := c.p.Run("verify"); e.Exit != 0 {
		c.found(lost, "verify: exit %d\n%s%s", e.Exit, e.Stdout, e.Stderr)
	}
}

// compareLedger replays the journal.
func (c *soaked) compareLedger() {
	parsed, diagnostics := plan.Parse("plan.json", []byte(read(c.t, filepath.Join(c.p.Dir, "plan.json"))), plan.Options{})
	if parsed == nil {
		c.t.Fatal(diagnostics)
	}
	s := scheduler.NewState(parsed)
	if err := s.Replay(c.events); err != nil {
		c.found(other, "the journal cannot be replayed: %v", err)
		return
	}
	if _, end := scratch.LastRun(c.events); s.Ledger.Spent() != end.Cost || s.Ledger.Reserved() != 0 {
		c.found(paid, "the ledger has %s spent and %s reserved; the end says %s", s.Ledger.Spent(), s.Ledger.Reserved(),
			end.Cost)
	}
}

// compareTrace compares the executions of tasks with the attempts on record.
func (c *soaked) compareTrace() {
	begun := map[string]int{}
	for _, e := range c.events {
		if b, ok := e.Body.(event.AttemptStarted); ok && b.Why != event.WhyChecks {
			begun[b.Task]++
		}
	}
	made := map[string]int{}
	for line := range strings.Lines(read(c.t, c.plan.trace)) {
		made[strings.TrimSpace(line)]++
	}
	for task, n := range made {
		if n > begun[task] {
			c.found(redone, "%s was executed %d times; the journal starts it %d times", task, n, begun[task])
		}
	}
}

// branch returns the commit of the delivered work if that is not in the checkout, else "".
func (c *soaked) branch() (commit string) {
	for _, e := range c.events {
		if b, ok := e.Body.(event.DeliveryEnded); ok {
			if commit = b.Commit; b.How == "ff" || b.How == "none" {
				commit = ""
			}
		}
	}
	return commit
}

// delivered returns the text of a file in the delivered work.
func (c *soaked) delivered(path string) string {
	if commit := c.branch(); commit != "" {
		out, _ := c.tryGit("show", commit+":"+path)
		return out
	}
	text, _ := os.ReadFile(filepath.Join(c.p.Dir, path)) // a missing file differs from any work
	return string(text)
}

// compareGit checks the repository, that each task has at most one commit in the delivered work,
// and that wavex can remove the leftovers of the run.
func (c *soaked) compareGit() {
	c.runGit("fsck", "--no-dangling", "--no-progress")
	if c.plan.isolation == "worktree" {
		commits := map[string]int{}
		for _, task := range strings.Fields(c.runGit("log", "--format=%(trailers:key=Wavex-Task,valueonly)",
			cmp.Or(c.branch(), "HEAD"))) {
			if commits[task]++; commits[task] == 2 {
				c.found(redone, "%s has several commits in the delivered work", task)
			}
		}
		if e := c.p.Run("clean", "--yes"); e.Exit != 0 {
			c.found(other, "clean: exit %d\n%s", e.Exit, e.Stderr)
		}
		if list := c.runGit("worktree", "list", "--porcelain"); strings.Count(list, "worktree ") != 1 {
			c.found(other, "worktrees stay after clean:\n%s", list)
		}
		if status := c.runGit("status", "--porcelain", "-uno"); status != "" {
			c.found(other, "the checkout is not clean:\n%s", status)
		}
	}
	_ = filepath.WalkDir(filepath.Join(c.p.Dir, ".git"), func(path string, _ fs.DirEntry, _ error) error {
		if name := filepath.Base(path); strings.HasSuffix(name, ".lock") && name != "wavex.lock" {
			c.found(other, "%s stays", path)
		}
		return nil
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	testrepo.Must(t, err)
	return string(text)
}
