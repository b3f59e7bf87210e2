package hostile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// loopParts are the directories and files of wavex in a project. RUN stands for the id of its run.
func loopParts() []string {
	parts := []string{".loop"}
	for _, name := range []string{"journal.jsonl", "lock", "holder.json", "guard.lock", ".gitignore", "state.json",
		"hook.json", "hook", "experts", "shape", "plan.json", "learnings.pending.jsonl", "VERIFICATION.md",
		"outputs",
		"worktrees", "worktrees/trash", "worktrees/.gitignore", "worktrees/RUN.bundles", "worktrees/RUN.json",
		"worktrees/RUN.lock", "worktrees/RUN.1", "worktrees/RUN.0", "runs", "runs/RUN", "runs/RUN/plan.jsonl",
		"runs/RUN/tasks",
		"runs/RUN/tasks/T-001", "runs/RUN/index", "runs/RUN/sessions", "runs/RUN/questions",
		"runs/RUN/check-files", "runs/RUN/made-up", "runs/RUN/made-up.part"} {
		parts = append(parts, ".loop/"+name)
	}
	return parts
}

// writing are the commands that write in .loop.
func writing() [][]string {
	return [][]string{{"run", "plan.json", "--agent", "rehearse", "--yes"},
		{"run", "plan.json", "--agent", "rehearse", "--yes", "--fresh"}, {"resume", "--agent", "rehearse", "--yes"},
		{"retry", "T-002", "--agent", "rehearse", "--yes"}, {"clean", "--yes"}, {"clean"}, {"cancel"}, {"cancel", "--purge"},
		{"deliver"}, {"rollback", "run", "--yes"}, {"verify"}, {"learn", "--accept", "all"}, {"status", "--rebuild"},
		{"start", "do x", "--agent", "rehearse", "--yes"}, {"plan", "do x", "--agent", "rehearse", "--yes", "-o", "p.json"}}
}

// victim is a directory outside of the project, with directories that have the names of wavex's.
type victim struct{ dir, before string }

func newVictim(t *testing.T, run string) victim {
	v := victim{dir: filepath.Join(t.TempDir(), "victim")}
	for _, name := range []string{"precious", "sub/x", "trash/old/x", "000001.bundle", "worktrees/trash/x", "old.tmp",
		"runs/x", run + ".1/x", "T-001/attempt-1/x", run + "/tasks/x"} {
		path := filepath.Join(v.dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte("keep\n"), 0o600))
	}
	v.before = listing(t, filepath.Dir(v.dir))
	return v
}

// listing describes all files of a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %s %s %x\n", path, info.Mode(), info.ModTime(), sha256.Sum256(text))
		return err
	}))
	return b.String()
}

func (v victim) check(t *testing.T, after string) {
	t.Helper()
	if now := listing(t, filepath.Dir(v.dir)); now != v.before {
		t.Errorf("after %s the directory outside of the project is\n%s\nand was\n%s", after, now, v.before)
	}
}

// in runs a command in a directory, and returns its exit code and output.
func in(t *testing.T, dir string, args ...string) (code int, out string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1")
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// mustIn is in for a command that must succeed.
func mustIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	if code, out := in(t, dir, args...); code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
}

// unfinished makes a checkout with a run in worktrees whose second task has failed, and returns it with the run's id.
func unfinished(t *testing.T) (dir, run string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "project")
	check(t, os.Mkdir(dir, 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "plan.json"), []byte(`{"version": 1, "tasks": [
		{"id": "T-001", "subject": "x", "command": "echo x > x"},
		{"id": "T-002", "subject": "y", "command": "echo y > y; false"}]}`), 0o600))
	mustIn(t, dir, "git", "init", "-q")
	mustIn(t, dir, "git", "add", "plan.json")
	mustIn(t, dir, "git", "commit", "-qm", "x")
	if code, out := in(t, dir, wavex, "run", "plan.json", "--agent", "rehearse", "--yes", "--isolation", "worktree",
		"--max-retries", "0", "--counsel", "off"); code != 1 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	runs, err := os.ReadDir(filepath.Join(dir, ".loop", "runs"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v, %v", runs, err)
	}
	return dir, runs[0].Name()
}

// Each command that writes refuses the parts of .loop that are links, with their paths. Each part is tried with a third
// of the commands. The target of the link stays.
func TestLinksInLoopAreRefused(t *testing.T) {
	t.Parallel()
	original, run := unfinished(t)
	for i, part := range loopParts() {
		part = strings.ReplaceAll(part, "RUN", run)
		t.Run(strings.ReplaceAll(part, "/", " "), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, run)
			dir := filepath.Join(filepath.Dir(v.dir), "project")
			mustIn(t, "/", "cp", "-a", original, dir)
			at := filepath.Join(dir, part)
			for j, command := range writing() {
				if (i+j)%3 > 0 {
					continue // another part is tried with it
				}
				relative, err := filepath.Rel(filepath.Dir(at), v.dir)
				check(t, err)
				target := []string{v.dir, relative, "../nowhere", ".."}[j%4]
				check(t, os.RemoveAll(at))
				check(t, os.MkdirAll(filepath.Dir(at), 0o755))
				check(t, os.Symlink(target, at))
				v.before = listing(t, filepath.Dir(v.dir))
				code, out := in(t, dir, append([]string{wavex}, command...)...)
				if code != 2 || !strings.Contains(out, at+": it is a link") {
					t.Errorf("%v with a link to %s: exit code %d\n%s", command, target, code, out)
				}
				v.check(t, strings.Join(command, " "))
			}
			for _, command := range [][]string{{"status"}, {"report"}, {"logs", "T-001"}, {"runs"}, {}} {
				_, _ = in(t, dir, append([]string{wavex}, command...)...)
				v.check(t, strings.Join(command, " "))
			}
		})
	}
}

// Each command that writes refuses a .loop that git tracks.
func TestTrackedLoopIsRefused(t *testing.T) {
	t.Parallel()
	dir, _ := unfinished(t)
	mustIn(t, dir, "git", "add", "-f", ".loop/journal.jsonl")
	before := listing(t, dir)
	for _, command := range writing() {
		code, out := in(t, dir, append([]string{wavex}, command...)...)
		if code != 2 || !strings.Contains(out, "git tracks "+filepath.Join(dir, ".loop", "journal.jsonl")) {
			t.Errorf("%v: exit code %d\n%s", command, code, out)
		}
	}
	if now := listing(t, dir); now != before {
		t.Errorf("it is\n%s\nand was\n%s", now, before)
	}
	mustIn(t, dir, "git", "rm", "-q", "-r", "--cached", ".loop")
	mustIn(t, dir, wavex, "cancel")
}

// A clone of a repository that tracks the files of .loop that are the user's works, in each kind of isolation.
func TestTrackedExpertsAreTaken(t *testing.T) {
	t.Parallel()
	original, _ := unfinished(t)
	check(t, os.Mkdir(filepath.Join(original, ".loop", "experts"), 0o755))
	check(t, os.WriteFile(filepath.Join(original, ".loop", "experts", "mine.md"), []byte(`---
name: mine
aspects: [x]
failures: [any]
files: [go]
---
Look twice.
`), 0o600))
	mustIn(t, original, "git", "add", "-f", ".loop/experts", ".loop/.gitignore")
	mustIn(t, original, "git", "commit", "-qm", "experts")
	mustIn(t, original, wavex, "cancel")
	for _, isolation := range []string{"shared", "worktree"} {
		dir := filepath.Join(t.TempDir(), "project")
		mustIn(t, original, "git", "clone", "-q", original, dir)
		code, out := in(t, dir, wavex, "run", "plan.json", "--agent", "rehearse", "--yes", "--isolation", isolation,
			"--max-retries", "0", "--counsel", "off")
		if code != 1 { // its second task fails
			t.Errorf("%s: exit code %d\n%s", isolation, code, out)
		}
		mustIn(t, dir, wavex, "cancel")
		mustIn(t, dir, "git", "diff", "--exit-code", "HEAD", "--", ".loop")
		check(t, os.WriteFile(filepath.Join(dir, ".loop", "experts", "mine.txt"), nil, 0o600))
		mustIn(t, dir, "git", "add", "-f", ".loop/experts")
		if code, out := in(t, dir, wavex, "clean"); code != 2 || !strings.Contains(out, "mine.txt, and") {
			t.Errorf("%s: exit code %d\n%s", isolation, code, out)
		}
	}
}

// A link that a task puts in the place of a part of .loop leads no later step of the run out of the project. In the
// shared directory every second part is tried.
func TestLinksDuringARun(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"shared", "worktree"} {
		for i, part := range loopParts() {
			if isolation == "shared" && i%2 > 0 {
				continue
			}
			t.Run(isolation+" "+strings.ReplaceAll(part, "/", " "), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "project")
				check(t, os.Mkdir(dir, 0o755))
				v := newVictim(t, "RUN")
				swap := filepath.Join(t.TempDir(), "swap")
				check(t, os.WriteFile(swap, fmt.Appendf(nil, `#!/bin/sh
run=$(basename "$(ls -d %[1]s/.loop/runs/* | head -n 1)")
at=%[1]s/$(echo '%[2]s' | sed "s/RUN/$run/")
mv "$at" "%[1]s.old" || mkdir -p "$(dirname "$at")"
ln -s '%[3]s' "$at"
`, dir, part, v.dir), 0o755))
				check(t, os.WriteFile(filepath.Join(dir, "plan.json"), fmt.Appendf(nil, `{"version": 1, "tasks": [
		{"id": "T-001", "subject": "x", "command": "%s; echo x > x"},
		{"id": "T-002", "subject": "y", "blockedBy": ["T-001"], "files": ["y"],
			"rehearse": {"writes": [{"path": "y", "content": "y"}]}},
		{"id": "T-003", "subject": "z", "blockedBy": ["T-002"], "command": "echo z > z; false"}]}`, swap), 0o600))
				mustIn(t, dir, "git", "init", "-q")
				mustIn(t, dir, "git", "add", "plan.json")
				mustIn(t, dir, "git", "commit", "-qm", "x")
				code, out := in(t, dir, wavex, "run", "plan.json", "--agent", "rehearse", "--yes", "--isolation", isolation,
					"--max-retries", "1", "--counsel", "off", "--trust")
				if code == 2 || strings.Contains(out, "internal error") {
					t.Errorf("exit code %d\n%s", code, out)
				}
				if strings.Contains(out, "nothing was started") {
					t.Fatal(out)
				}
				v.check(t, "run")
				for _, command := range [][]string{{"status"}, {"resume", "--agent", "rehearse", "--yes"}, {"clean", "--yes"},
					{"deliver"}, {"rollback", "run", "--yes"}, {"cancel", "--purge"}} {
					_, out := in(t, dir, append([]string{wavex}, command...)...)
					if strings.Contains(out, "internal error") {
						t.Error(out)
					}
					v.check(t, strings.Join(command, " "))
				}
			})
		}
	}
}
