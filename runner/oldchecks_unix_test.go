//go:build unix

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/checkfiles"
	"wavex/internal/plan"
)

// A copy has its own dependencies: a check in it, such as npm ci, must not empty those of the project.
func TestCopyHasNoLinkToTheProject(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, sub := range []string{"node_modules/dep", ".venv/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := &attempt{req: Request{Dir: dir, CheckFiles: &CheckFiles{}}}
	if err := a.copyProject(t.Context(), to, nil); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"node_modules", ".venv"} {
		if info, err := os.Lstat(filepath.Join(to, sub)); err != nil || !info.IsDir() {
			t.Errorf("%s in the copy is %v, %v", sub, info, err)
		}
	}
}

// A copy that is too large is given up before the file system is full.
func TestCopyIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sparse := filepath.Join(dir, "large")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, maxCopiedBytes+1); err != nil {
		t.Fatal(err)
	}
	a := &attempt{req: Request{Dir: dir, CheckFiles: &CheckFiles{}}}
	if err := a.copyProject(t.Context(), filepath.Join(t.TempDir(), "copy"), nil); !errors.Is(err, errTooManyBytes) {
		t.Error(err)
	}
}

// The old version of a file is what it was: missing, a link, or a text with its permissions. One that was not kept
// cannot be restored.
func TestRestoredVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "old")
	mustDo(t, os.WriteFile(at, []byte("old"), 0o755))
	plain := checkfiles.StateOf(at)
	mustDo(t, os.Remove(at))
	mustDo(t, os.Symlink("target", at))
	link := checkfiles.StateOf(at)
	for _, c := range []struct {
		name string
		old  checkfiles.Version
		want checkfiles.State
		err  bool
	}{
		{"sub/missing", checkfiles.Version{}, "", false},
		{"sub/link", checkfiles.Version{State: link}, link, false},
		{"sub/text", checkfiles.Version{State: plain, Text: []byte("old")}, plain, false},
		{"sub/lost", checkfiles.Version{State: plain}, "", true},
	} {
		err := restoreIn(dir, changedFile{path: c.name, old: c.old})
		if got := checkfiles.StateOf(filepath.Join(dir, c.name)); got != c.want || (err != nil) != c.err {
			t.Errorf("%s is %q, want %q; %v", c.name, got, c.want, err)
		}
	}
}

// An old version is kept whole or not at all, and only the owner may read it.
func TestKeptVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := Request{Dir: dir, CheckFiles: &CheckFiles{Store: filepath.Join(dir, "store")}}
	files := map[string]checkFile{}
	for _, name := range []string{"kept", "secret", "cut", "other"} {
		mustDo(t, os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o644))
		files[name] = checkFile{State: checkfiles.StateOf(filepath.Join(dir, name))}
	}
	r.keepCheckFiles(files, func(s string) string { return strings.ReplaceAll(s, "secret", "") })
	stored := func(name string) string { return filepath.Join(r.CheckFiles.Store, files[name].State.Digest()) }
	for _, at := range []string{r.CheckFiles.Store, stored("kept")} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", at, info, err)
		}
	}
	mustDo(t, os.WriteFile(stored("cut"), []byte("no gzip"), 0o600))
	mustDo(t, os.Rename(stored("other"), stored("secret")))
	for name, want := range map[string]string{"kept": "text of kept", "secret": "", "cut": "", "other": ""} {
		if got := r.keptText(files[name].State); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := r.keptText(""); got != nil {
		t.Errorf("a missing file was %q", got)
	}
}

// Each command is made again once, as the task's own if it is one.
func TestRestingChecks(t *testing.T) {
	t.Parallel()
	run := func(s string) plan.Check { return plan.Check{Run: s} }
	r := Request{Dir: t.TempDir(), Checks: []plan.Check{run("make a"), {File: "x"}, run("make a")},
		CheckFiles: &CheckFiles{Others: []OtherCheck{{Owner: "T-2", Check: run("make a")},
			{Owner: "T-2", Dir: "sub", Check: run("make a")}, {Owner: "T-3", Check: run("make b")}}}}
	var got []string
	for _, c := range r.restingChecks(false) {
		got = append(got, c.Owner+" "+c.Dir+" "+c.Check.Run)
	}
	if want := []string{" . make a", "T-2 sub make a", "T-3 . make b"}; !slices.Equal(got, want) {
		t.Errorf("the checks are %q, want %q", got, want)
	}
}

// The old version of a file is not written through a link that leaves the copy.
func TestOldVersionsStayInTheCopy(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "a_test.go")
	if err := os.WriteFile(kept, []byte("the user's"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "linked")); err != nil {
		t.Fatal(err)
	}
	old := checkfiles.Version{State: checkfiles.State("file 1"), Text: []byte("old")}
	if err := restoreIn(root, changedFile{path: "linked/a_test.go", old: old}); err == nil {
		t.Error("it was written")
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "the user's" {
		t.Errorf("the user's file is %q, %v", text, err)
	}
}

// The next attempt learns for each file whether to remove or restore it, with its text if that is short.
func TestRestoreText(t *testing.T) {
	t.Parallel()
	version := func(text string) checkfiles.Version {
		return checkfiles.Version{State: checkfiles.State("file 1"), Text: []byte(text)}
	}
	text := restoreText([]changedFile{{path: "new.sh"}, {path: "short.sh", old: version("exit 1\n")},
		{path: "long.sh", old: version(strings.Repeat("x", 4<<10))},
		{path: "lost.sh", old: checkfiles.Version{State: checkfiles.State("file 1")}}})
	want := "new.sh did not exist: remove it\nshort.sh was:\nexit 1\n\nlong.sh\nlost.sh\n"
	if !strings.HasSuffix(text, ":\n"+want) {
		t.Errorf("%q, want %q at its end", text, want)
	}
}

// A check that cannot run with the old version, and one that is interrupted, tell nothing about the work.
func TestCompareWithOld(t *testing.T) {
	t.Parallel()
	a := &attempt{Local: &Local{}, req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}, env: os.Environ()}
	for run, want := range map[string]string{"exit 126": "the check cannot run with the old version",
		"exit 127": "the check cannot run with the old version", "true": "",
		"false": "the check fails in a copy of the project with either version"} {
		c := restingCheck{OtherCheck: OtherCheck{Check: plan.Check{Run: run}}}
		if failed, doubt, err := a.compare(t.Context(), c, nil); failed.Check != "" || doubt != want || err != nil {
			t.Errorf("%s: %+v, %q, %v", run, failed, doubt, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop now")
		cancel(stop)
		if _, _, err := a.compare(ctx, c, nil); !errors.Is(err, stop) {
			t.Errorf("%s, interrupted: %v", run, err)
		}
	}
}

// At most maxOtherRuns checks of others are made again, and the doubt about the next ones is told. The task's own check
// is always made.
func TestChecksOfManyOthers(t *testing.T) {
	t.Parallel()
	a := &attempt{Local: &Local{}, req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}, env: os.Environ()}
	var changed []changedFile
	var checks []restingCheck
	for i := range maxOtherRuns + 2 {
		owner := fmt.Sprintf("T-%d", i)
		if i == maxOtherRuns+1 {
			owner = "" // the task itself
		}
		changed = append(changed, changedFile{path: fmt.Sprintf("%d.sh", i), checkFile: checkFile{Other: owner}})
		checks = append(checks, restingCheck{OtherCheck: OtherCheck{Owner: owner, Check: plan.Check{Run: "true"}}})
	}
	v, err := a.checkWithOld(t.Context(), changed, checks)
	if v.outcome != Done || err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	got := a.res.Tampered
	if len(got) != 1 || got[0].Path != "20.sh" || !strings.HasPrefix(got[0].Doubt, "no more than 20") {
		t.Errorf("doubts %+v", got)
	}
}

// A script that a task which declares no file changed may be the work, and so may a new manifest.
func TestUndecidedChanges(t *testing.T) {
	t.Parallel()
	own := []plan.File{{Path: "own.go", Action: "create"}}
	old := checkfiles.Version{State: checkfiles.State("file 1")}
	for _, c := range []struct {
		files     []plan.File
		change    changedFile
		undecided bool
	}{
		{nil, changedFile{path: "a.sh", old: old, checkFile: checkFile{Kind: checkfiles.Script}}, true},
		{own, changedFile{path: "a.sh", old: old, checkFile: checkFile{Kind: checkfiles.Script}}, false},
		{own, changedFile{path: "go.mod", checkFile: checkFile{Kind: checkfiles.Setup}}, true},
		{own, changedFile{path: "go.mod", old: old, checkFile: checkFile{Kind: checkfiles.Setup}}, false},
	} {
		r := Request{Files: c.files, CheckFiles: &CheckFiles{}}
		if is := r.watches(&c.change); !is || c.change.undecided != c.undecided {
			t.Errorf("%s with %v: watched %v, undecided %v", c.change.path, c.files, is, c.change.undecided)
		}
	}
}
