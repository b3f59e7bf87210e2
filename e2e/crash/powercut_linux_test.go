package crash

// This file cuts the power: it kills wavex, damages the files that were written last, and resumes.

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// powerCuts is the number of cuts, half of them in each isolation, which are spread evenly over the records of a run.
var powerCuts = flag.Int("powercuts", 6, "how many times TestPowerCut cuts the power")

// powerCutPlan is a plan of five tasks in three waves, each of which writes a file. One task fails at first.
const powerCutPlan = `{"version": 1, "parallel": 3, "budget": {"usd": 2}, "tasks": [
 {"id": "a", "subject": "a", "files": ["a.txt"], "verify": ["echo a | cmp -s - a.txt"],
  "rehearse": {"duration": "20ms", "cost": 0.01, "writes": [{"path": "a.txt", "content": "a\n"}]}},
 {"id": "b", "subject": "b", "files": ["b.txt"], "verify": ["echo b | cmp -s - b.txt"],
  "rehearse": {"duration": "10ms", "cost": 0.01, "turns": 2, "writes": [{"path": "b.txt", "content": "b\n"}]}},
 {"id": "c", "subject": "c", "files": ["c.txt"], "verify": ["echo c | cmp -s - c.txt"],
  "rehearse": {"duration": "30ms", "cost": 0.01,
   "attempts": [{"outcome": "fail"}, {"writes": [{"path": "c.txt", "content": "c\n"}]}]}},
 {"id": "d", "subject": "d", "files": ["d.txt"], "blockedBy": ["a", "b"], "verify": ["echo d | cmp -s - d.txt"],
  "rehearse": {"duration": "10ms", "cost": 0.01, "writes": [{"path": "d.txt", "content": "d\n"}]}},
 {"id": "e", "subject": "e", "files": ["e.txt"], "blockedBy": ["c", "d"], "verify": ["echo e | cmp -s - e.txt"],
  "rehearse": {"duration": "10ms", "cost": 0.01, "writes": [{"path": "e.txt", "content": "e\n"}]}}
]}`

// After a power cut at any moment the resume completes the run, and no task whose work is on record is paid again.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	start := seed(t)
	for n, isolation := range []string{"worktree", "shared"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			whole := newCutProject(t, isolation)
			whole.MustComplete()
			whole.mustHaveFiles()
			records := strings.Count(whole.Dump(), "\n")
			cuts := (*powerCuts + n) / 2
			for i := range cuts {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					rng := rand.New(rand.NewPCG(start, uint64(2*i+n)))
					for after := 2 + i*(records-2)/cuts; ; after-- { // a run with fewer records was killed too late
						if newCutProject(t, isolation).cutAfter(rng, after) {
							return
						}
					}
				})
			}
		})
	}
}

// Work that is lost in git and in .loop is named, with a way out.
func TestLostWorkIsNamed(t *testing.T) {
	t.Parallel()
	p := newCutProject(t, "worktree")
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	integrated := func() bool { return w.IsOver() || strings.Contains(p.Dump(), `"type":"integration_ended"`) }
	if !rig.Until(t.Context(), integrated) || !killAfter(w, 0) {
		t.Fatal("no integration ended before the run did")
	}
	p.MustBeGone(scratch.GoneTime, "the cut")
	for _, pattern := range []string{".git/objects/??/*", ".loop/worktrees/*.bundles/*"} {
		paths, err := filepath.Glob(filepath.Join(p.Dir, pattern))
		testrepo.Must(t, err)
		for _, path := range paths {
			if p.old[path] == "" {
				testrepo.Must(t, os.Remove(path))
			}
		}
	}
	p.Run("resume", "--output", "json").MustSay(t, 5, "is neither in this repository nor in", "--fresh starts over")
}

// cutProject is a project in a git repository whose power is cut.
type cutProject struct {
	repoProject
	isolation string
	old       map[string]string // contents of files in .git before the run, which are on disk
}

func newCutProject(t *testing.T, isolation string) cutProject {
	t.Helper()
	p := cutProject{repoProject: repoProject{newProject(t, powerCutPlan)}, isolation: isolation,
		old: map[string]string{}}
	p.Flags = append(p.Flags, "--isolation", isolation)
	if isolation == "worktree" {
		p.Flags = append(p.Flags, "--deliver", "ff")
	}
	p.commitFirst()
	err := filepath.WalkDir(filepath.Join(p.Dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(path)
			p.old[path] = string(text)
		}
		return err
	})
	testrepo.Must(t, err)
	return p
}

// cutAfter starts the run, cuts the power up to 40 ms after a number of records, and resumes. It reports false if the
// run ended before.
func (p cutProject) cutAfter(rng *rand.Rand, records int) bool {
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
	p.MustBeGone(scratch.GoneTime, "the cut")
	before := len(p.Events())
	if run, end := scratch.LastRun(p.Events()); run == "" || end != nil {
		return false
	}
	stand := standing(p.Events())
	damage := p.damage(rng)
	args := []string{"resume", "--output", "json"}
	e := p.Run(args...)
	defer func() {
		if t.Failed() {
			t.Logf("cut %s after record %d, which damaged\n%s\n%s\njournal:\n%s", moment, records, strings.Join(damage, "\n"),
				e.Stderr, p.Dump())
		}
	}()
	if e.Exit != 0 {
		t.Errorf("%q: exit %d\n%s", args, e.Exit, e.Stderr)
	}
	for _, ev := range p.Events()[before:] {
		if b, ok := ev.Body.(event.AttemptStarted); ok && stand[b.Task] {
			t.Errorf("%s stands, and its attempt %d is paid (%q)", b.Task, b.Attempt, b.Why)
		}
	}
	p.mustHaveFiles()
	return true
}

// standing returns the tasks that are verified or completed on record.
func standing(events []event.Event) map[string]bool {
	stand := map[string]bool{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.AttemptEnded:
			stand[b.Task] = b.Status == event.Verified || b.Status == event.Completed
		case event.IntegrationEnded:
			for _, r := range b.Reopened {
				stand[r.Task] = false
			}
		}
	}
	return stand
}

// onDisk matches the files of a run that are synced when they are written.
var onDisk = regexp.MustCompile(`^\.git/refs/|^\.loop/(journal\.jsonl|worktrees/.*(\.json|\.bundles/.*|/start/.*))$`)

// damage empties, cuts or removes one to five of the files below .git and .loop that were written last, and returns a
// line for each. The journal, the state of the worktrees, refs and bundles are on disk at each record of the journal.
func (p cutProject) damage(rng *rand.Rand) (done []string) {
	p.T.Helper()
	type file struct {
		path string
		at   time.Time
		size int64
	}
	var files []file
	for _, dir := range []string{".git", loop.Name} {
		err := filepath.WalkDir(filepath.Join(p.Dir, dir), func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(p.Dir, path)
			if err != nil || !d.Type().IsRegular() || onDisk.MatchString(filepath.ToSlash(rel)) {
				return err
			}
			info, err := d.Info()
			text, unread := os.ReadFile(path)
			if old, was := p.old[path]; err == nil && unread == nil && !(was && old == string(text)) { // git may touch it
				files = append(files, file{path, info.ModTime(), info.Size()})
			}
			return err
		})
		if err != nil {
			p.T.Fatal(err)
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range files[:min(len(files), 1+rng.IntN(5))] {
		if err := os.Chmod(f.path, 0o644); err != nil {
			p.T.Fatal(err)
		}
		var err error
		how := []string{"empties", "cuts", "removes"}[rng.IntN(3)]
		if filepath.Base(f.path) == loop.Digests && how == "removes" { // without it no attempt has begun, and it is on disk
			how = "empties"
		}
		switch how {
		case "empties":
			err = os.Truncate(f.path, 0)
		case "cuts":
			err = os.Truncate(f.path, f.size*rng.Int64N(100)/100)
		default:
			err = os.Remove(f.path)
		}
		if err != nil {
			p.T.Fatal(err)
		}
		name, _ := filepath.Rel(p.Dir, f.path)
		done = append(done, fmt.Sprintf("%s %s of %d bytes", how, name, f.size))
	}
	return done
}

// mustHaveFiles asserts that the project has the work of each task, and that its git is whole.
func (p cutProject) mustHaveFiles() {
	p.T.Helper()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if text, err := os.ReadFile(filepath.Join(p.Dir, name+".txt")); err != nil || string(text) != name+"\n" {
			p.T.Errorf("the file %s is %q, %v", name, text, err)
		}
	}
	want := ""
	if p.isolation == "shared" {
		want = "?? a.txt\n?? b.txt\n?? c.txt\n?? d.txt\n?? e.txt\n"
	}
	if got := p.git("status", "--porcelain"); got != want {
		p.T.Errorf("the status of the checkout is %q, want %q", got, want)
	}
	p.git("fsck", "--connectivity-only")
}
