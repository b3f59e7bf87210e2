package crash

// This file kills runs in worktrees, at moments spread over the whole run.

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
)

// worktreeKills is the number of kills, which are spread evenly over the records of a run.
var worktreeKills = flag.Int("worktreekills", 2, "how many times TestKilledInWorktrees kills wavex")

// worktreesPlan is a plan of six tasks in three waves, each of which writes its file and changes or renames files of
// the repository. One task fails at first, and two leave processes behind in their worktrees.
const worktreesPlan = `{"version": 1, "parallel": 3, "isolation": "worktree", "budget": {"usd": 2}, "tasks": [
 {"id": "a", "subject": "a", "verify": ["test -e a"], "rehearse": {"duration": "20ms", "cost": 0.01, "outcome": "orphan", "linger": "5m",
   "runs": ["mv d moved"], "writes": [{"path": "a", "content": "a"}]}},
 {"id": "b", "subject": "b", "verify": ["test -e b"], "rehearse": {"duration": "10ms", "cost": 0.01,
   "runs": ["echo b >>base; setsid sleep 300 >/dev/null 2>&1 & true"], "writes": [{"path": "b", "content": "b"}]}},
 {"id": "c", "subject": "c", "verify": ["test -e c"], "rehearse": {"duration": "10ms", "cost": 0.01,
   "runs": ["rm gone"], "writes": [{"path": "c", "content": "c"}]}},
 {"id": "d", "subject": "d", "blockedBy": ["a", "b"], "verify": ["test -e d && test ! -L d"], "rehearse": {"duration": "10ms", "cost": 0.01,
   "attempts": [{"outcome": "fail"}, {"writes": [{"path": "d", "content": "d"}]}]}},
 {"id": "e", "subject": "e", "blockedBy": ["b", "c"], "verify": ["test -e e"], "rehearse": {"duration": "10ms", "cost": 0.01,
   "writes": [{"path": "e", "content": "e"}]}},
 {"id": "f", "subject": "f", "blockedBy": ["d", "e"], "verify": ["test -e f"], "rehearse": {"duration": "10ms", "cost": 0.01,
   "writes": [{"path": "f", "content": "f"}]}}
]}`

// After SIGKILL at any moment of a run in worktrees no process is left, the resume completes the run, also beside a
// lock of git, and every commit on record is in the repository.
func TestKilledInWorktrees(t *testing.T) {
	t.Parallel()
	whole := newRepoProject(t)
	whole.MustComplete()
	whole.mustHaveWork()
	records := strings.Count(whole.Dump(), "\n")
	start := seed(t)
	for i := range *worktreeKills {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(start, uint64(i)))
			for after := i * records / *worktreeKills; ; after-- { // a run with fewer records was killed too late
				if newRepoProject(t).killedAfter(rng, after) {
					return
				}
			}
		})
	}
}

// repoProject is a project in a git repository.
type repoProject struct{ scratch.Project }

// newRepoProject returns a project with worktreesPlan and one commit.
func newRepoProject(t *testing.T) repoProject {
	t.Helper()
	p := repoProject{newProject(t, worktreesPlan)}
	p.Flags = append(p.Flags, "--deliver", "ff")
	p.commitFirst()
	return p
}

// commitFirst makes the project a repository with one commit.
func (p repoProject) commitFirst() {
	p.T.Helper()
	p.Write(".gitignore", "/.loop/\n/.gitconfig\n/.cache/\n")
	p.Write(".gitconfig", "[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n")
	p.Write("base", "base\n")
	p.Write("gone", "gone\n")
	if err := os.Mkdir(filepath.Join(p.Dir, "d"), 0o755); err != nil {
		p.T.Fatal(err)
	}
	p.Write("d/file", "file\n")
	p.git("init", "-q")
	p.git("add", "-A")
	p.git("commit", "-qm", "first")
}

// git runs the user's git in the project.
func (p repoProject) git(args ...string) string {
	p.T.Helper()
	cmd := exec.CommandContext(p.T.Context(), "git", args...)
	cmd.Dir, cmd.Env = p.Dir, []string{"HOME=" + p.Home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.T.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// killedAfter starts the run, kills it up to 40 ms after a number of records, and resumes it. It reports false if the
// run ended before.
func (p repoProject) killedAfter(rng *rand.Rand, records int) bool {
	t := p.T
	t.Helper()
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	ctx, cancel := context.WithTimeout(t.Context(), scratch.Limit)
	defer cancel()
	if !rig.Until(ctx, func() bool { return w.IsOver() || strings.Count(p.Dump(), "\n") >= records }) {
		t.Fatalf("there are no %d records\n%s", records, p.Dump())
	}
	moment := time.Duration(rng.Int64N(int64(40 * time.Millisecond)))
	if !killAfter(w, moment) {
		w.End()
		return false
	}
	p.MustBeGone(2*time.Second, fmt.Sprintf("the kill %s after record %d", moment, records))
	commits := p.commits()

	args := []string{"run", "plan.json", "--agent", "rehearse", "--output", "json"}
	run, end := scratch.LastRun(p.Events())
	complete := end != nil && end.Status == "complete" // it was killed while it removed its worktrees
	if run != "" && !complete {
		args = []string{"resume", "--output", "json"}
		// A git that is killed too can leave it. In a container it stays, since another git may hold it.
		if space, _ := os.Readlink("/proc/self/ns/pid"); space == "pid:[4026531836]" {
			p.Write(".git/packed-refs.lock", "")
		}
	}
	if !complete {
		if e := p.Run(args...); e.Exit != 0 {
			t.Fatalf("%q: exit %d\n%s\n%s", args, e.Exit, e.Stderr, p.Dump())
		}
	}
	p.MustBeGone(2*time.Second, "the end")
	p.MustAddUp(false)
	p.mustHaveWork()
	kept := strings.Fields(p.git("rev-list", "--all"))
	for _, c := range commits {
		if !slices.Contains(kept, c) {
			t.Errorf("commit %s is lost", c)
		}
	}
	if t.Failed() {
		t.Logf("killed %s after record %d; journal:\n%s", moment, records, p.Dump())
	}
	return true
}

// commits returns the commits of the run: those of its refs and those that the journal names.
func (p repoProject) commits() (ids []string) {
	p.T.Helper()
	ids = strings.Fields(p.git("for-each-ref", "--format=%(objectname)", "refs/wavex", "refs/heads"))
	for _, found := range regexp.MustCompile(`"commit":"([0-9a-f]{40})"`).FindAllStringSubmatch(p.Dump(), -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// mustHaveWork asserts that the checkout has the delivered work, one commit for each task, and that nothing of the
// worktrees stays after clean.
func (p repoProject) mustHaveWork() {
	p.T.Helper()
	want := ".gitignore\na\nb\nbase\nc\nd\ne\nf\nmoved/file\nplan.json\n"
	if got := p.git("ls-tree", "-r", "--name-only", "HEAD"); got != want {
		p.T.Errorf("the delivered files are\n%swant\n%s", got, want)
	}
	if got := p.git("status", "--porcelain"); got != "" {
		p.T.Errorf("the checkout is not clean:\n%s", got)
	}
	tasks := strings.Fields(p.git("log", "--format=%(trailers:key=Wavex-Task,valueonly)"))
	if slices.Sort(tasks); !slices.Equal(tasks, []string{"a", "b", "c", "d", "e", "f"}) {
		p.T.Errorf("the delivered commits are of %q", tasks)
	}
	if e := p.Run("clean", "--yes"); e.Exit != 0 {
		p.T.Errorf("clean: exit %d\n%s", e.Exit, e.Stderr)
	}
	if got := p.git("worktree", "list"); strings.Count(got, "\n") != 1 {
		p.T.Errorf("worktrees stay:\n%s", got)
	}
	for _, left := range []string{"*.[0-9]*", "trash/*"} {
		if found, err := filepath.Glob(filepath.Join(p.Loop(), "worktrees", left)); err != nil || len(found) > 0 {
			p.T.Errorf("files of worktrees stay: %q, %v", found, err)
		}
	}
}
