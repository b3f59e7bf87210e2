//go:build unix

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/checkfiles"
	"wavex/internal/plan"
)

// Files are named from the directory of the attempt.
func TestRelative(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"", "a.go", "a.go"}, {".", "sub/a.go", "sub/a.go"}, {"sub", "sub/a.go", "a.go"},
		{"sub", "a.go", "../a.go"}} {
		r := Request{CheckFiles: &CheckFiles{Under: c[0]}}
		if got := r.relative(c[1]); got != c[2] {
			t.Errorf("%s from %q: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

// A copy has its own dependencies: a check in it, such as npm ci, must not empty those of the project. It has no files
// of git and wavex, and no other copy.
func TestCopyHasNoLinkToTheProject(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, sub := range []string{"node_modules/dep", ".venv/bin", ".loop/x", ".git/x", copyName + "1/x"} {
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
	if entries, err := os.ReadDir(to); err != nil || len(entries) != 2 {
		t.Errorf("the copy has %v, %v", entries, err)
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
		{"old/no folder", checkfiles.Version{State: plain, Text: []byte("old")}, "", true},
	} {
		err := restoreIn(dir, changedFile{path: c.name, old: c.old})
		if got := checkfiles.StateOf(filepath.Join(dir, c.name)); got != c.want || (err != nil) != c.err {
			t.Errorf("%s is %q, want %q; %v", c.name, got, c.want, err)
		}
	}
	gone := changedFile{path: "a", old: checkfiles.Version{State: plain, Text: []byte("old")}}
	if err := restoreIn(filepath.Join(dir, "gone"), gone); err == nil {
		t.Error("restored in a copy that is gone")
	}
	if open := openIn(filepath.Dir(dir)); open != nil {
		t.Errorf("open are %q", open)
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
	for name, f := range files {
		if got := r.keptText(f.State); (string(got) == "text of "+name) != (name != "secret") {
			t.Errorf("%s: %q", name, got)
		}
	}
	stored := func(name string) string { return filepath.Join(r.CheckFiles.Store, files[name].State.Digest()) }
	if _, err := os.Lstat(stored("secret")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the secret: %v", err)
	}
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
	mustDo(t, os.Truncate(stored("kept"), 0)) // by a full disk
	r.keepCheckFiles(files, func(s string) string { return s })
	if got := r.keptText(files["kept"].State); string(got) != "text of kept" {
		t.Errorf("after a full disk: %q", got)
	}
	if got := r.keptText(""); got != nil {
		t.Errorf("a missing file was %q", got)
	}
}

// The longest version that is kept may take more room when it is compressed.
func TestLongestKeptVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := Request{Dir: dir, CheckFiles: &CheckFiles{Store: filepath.Join(dir, "store")}}
	random := make([]byte, maxOldFile+1)
	_, err := rand.NewChaCha8([32]byte{}).Read(random)
	mustDo(t, err)
	for _, n := range []int{maxOldFile, maxOldFile + 1} {
		mustDo(t, os.WriteFile(filepath.Join(dir, "a"), random[:n], 0o600))
		f := checkFile{State: checkfiles.StateOf(filepath.Join(dir, "a"))}
		r.keepCheckFiles(map[string]checkFile{"a": f}, strings.Clone)
		if got := r.keptText(f.State); (len(got) == n) != (n == maxOldFile) {
			t.Errorf("of %d bytes %d are kept", n, len(got))
		}
	}
}

// Each command is made again once, as the task's own if it is one. A command task has none.
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
	command := r
	command.Command = "true"
	r.CheckFiles = nil
	if command.restingChecks(false) != nil || r.restingChecks(false) != nil {
		t.Error("checks are made again for a command, or without a store")
	}
}

// The reason of a verdict on disabled tests names three of them.
func TestDisabledTests(t *testing.T) {
	t.Parallel()
	changed := []changedFile{{path: "kept_test.go"}}
	for _, name := range []string{"a", "b", "c", "d"} {
		changed = append(changed, changedFile{path: name + "_test.go", what: "emptied", checkFile: checkFile{Other: "T-2"}})
	}
	v, is := disabled(changed)
	const why = "_test.go was emptied, and a check of T-2 rests on it"
	reason := "a" + why + "; b" + why + "; c" + why
	if !is || v.outcome != Wrong || v.reason != reason || !strings.Contains(v.detail, "\nd_test.go did not exist") {
		t.Errorf("%v: %+v", is, v)
	}
}

// A directory is declared with all that is in it. A file that describes a project has its name in any directory.
func TestDeclares(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]bool{"a": true, "a/b": true, "ab": false, "b/a": false} {
		if got := declares([]string{"x", "a"}, file); got != want {
			t.Errorf("%s is declared: %v", file, got)
		}
		if !declares([]string{"."}, file) {
			t.Errorf("%s is not declared with the whole project", file)
		}
	}
	for file, want := range map[string]bool{"go.mod": true, "sub/package.json": true, "a.mod": false} {
		if got := isManifest(file); got != want {
			t.Errorf("%s describes a project: %v", file, got)
		}
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
	mid := strings.Repeat("x", 2<<10-1)
	text := restoreText([]changedFile{{path: "new.sh"}, {path: "short.sh", old: version("exit 1\n")},
		{path: "long.sh", old: version(strings.Repeat("x", 2<<10))}, {path: "mid.sh", old: version(mid)},
		{path: "lost.sh", old: checkfiles.Version{State: checkfiles.State("file 1")}}})
	want := "new.sh did not exist: remove it\nshort.sh was:\nexit 1\n\nlong.sh\nmid.sh was:\n" + mid + "\nlost.sh\n"
	if !strings.HasSuffix(text, ":\n"+want) {
		t.Errorf("%q, want %q at its end", text, want)
	}
}

// A check that cannot run with the old version, and one that is interrupted, tell nothing about the work.
func TestCompareWithOld(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	a := &attempt{Local: &Local{}, req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}, env: os.Environ(),
		turn: TurnRequest{Env: map[string]string{"TMPDIR": temp}}}
	for run, want := range map[string]string{"exit 126": "the check cannot run with the old version",
		"exit 127": "the check cannot run with the old version", "kill -9 $$": "the check cannot run with the old version",
		"true":  "",
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
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("of the copies remain %v, %v", left, err)
	}
}

// A check that passes only with a new file fails with the old version. The failure holds no secret. Where an old
// version was not kept, the doubt says so.
func TestFailureWithOld(t *testing.T) {
	t.Parallel()
	a := &attempt{Local: &Local{Host: Host{Redactor: holding{}}}, env: os.Environ(),
		req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}}
	mustDo(t, os.WriteFile(filepath.Join(a.req.Dir, "a.sh"), nil, 0o644))
	check := plan.Check{Run: "echo my secret; test -e a.sh"}
	checks := []restingCheck{{OtherCheck: OtherCheck{Check: check}}}
	failed, doubt, err := a.compare(t.Context(), checks[0], []changedFile{{path: "a.sh"}})
	if failed.Check != "echo my [removed]; test -e a.sh" || failed.Output != "my [removed]" || doubt != "" || err != nil {
		t.Errorf("%+v, %q, %v", failed, doubt, err)
	}
	v, err := a.checkWithOld(t.Context(), []changedFile{{path: "a.sh", undecided: true}}, checks)
	if v.outcome != Done || err != nil || len(a.res.Tampered) != 1 ||
		!strings.HasPrefix(a.res.Tampered[0].Doubt, "the check fails with the old version") {
		t.Errorf("%+v, %v; doubts %+v", v, err, a.res.Tampered)
	}
	lost := changedFile{path: "a.sh", old: checkfiles.Version{State: checkfiles.State("file 1")}}
	if failed, doubt, err := a.compare(t.Context(), checks[0], []changedFile{lost}); failed.Check != "" || err != nil ||
		doubt != "the old version of a.sh was not kept" {
		t.Errorf("%+v, %q, %v", failed, doubt, err)
	}
}

// A check of others is made again also where the task's own check rests on the same file.
func TestFileOfTwoChecks(t *testing.T) {
	t.Parallel()
	a := &attempt{Local: &Local{}, req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}, env: os.Environ()}
	files := map[string]checkfiles.Kind{"a.sh": checkfiles.Script}
	mustDo(t, os.WriteFile(filepath.Join(a.req.Dir, "a.sh"), nil, 0o644))
	v, err := a.checkWithOld(t.Context(), []changedFile{{path: "a.sh"}}, []restingCheck{
		{OtherCheck{Check: plan.Check{Run: "true"}}, files},
		{OtherCheck{Owner: "T-2", Check: plan.Check{Run: "test -e a.sh"}}, files}})
	if v.outcome != Wrong || err != nil || !strings.HasPrefix(v.reason, "a check of T-2 passes only because of") {
		t.Errorf("%+v, %v", v, err)
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

// A check that cannot be made again, with the old version or with the new one, decides nothing: the doubt says why.
func TestNoCopyNoVerdict(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]string{"with the old version": "rm -r %s; exit 1", "at all": "exit 1"} {
		dir := t.TempDir()
		temp := filepath.Join(dir, "temp")
		if name != "at all" {
			mustDo(t, os.Mkdir(temp, 0o755))
			run = fmt.Sprintf(run, temp)
		}
		a := &attempt{Local: &Local{}, req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}, env: os.Environ(),
			turn: TurnRequest{Env: map[string]string{"TMPDIR": temp}}}
		changed := []changedFile{{path: "a.sh", checkFile: checkFile{Kind: checkfiles.Script}}}
		checks := []restingCheck{{OtherCheck: OtherCheck{Check: plan.Check{Run: run}}}}
		v, err := a.checkWithOld(t.Context(), changed, checks)
		if v.outcome != Done || err != nil || len(a.res.Tampered) != 1 || !a.res.Tampered[0].Own ||
			!strings.Contains(a.res.Tampered[0].Doubt, "no such file") {
			t.Errorf("%s: %+v, %v; doubts %+v", name, v, err, a.res.Tampered)
		}
	}
}

// A stop while a check is made again, with the old version or with the new one, is no failure of the task.
func TestInterruptedComparison(t *testing.T) {
	t.Parallel()
	stop := errors.New("the run stops")
	for _, second := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		dir := t.TempDir()
		ready := filepath.Join(dir, "ready")
		mustDo(t, syscall.Mkfifo(ready, 0o600))
		pipe, err := os.OpenFile(ready, os.O_RDWR, 0)
		mustDo(t, err)
		ended := make(chan struct{})
		go func() { // the second run of the check tells when it is at work
			defer close(ended)
			if _, err := pipe.Read(make([]byte, 1)); err == nil {
				cancel(stop)
			}
		}()
		l := &Local{Host: Host{Observe: func(Observation) {
			if !second {
				cancel(stop)
			}
		}}}
		a := &attempt{Local: l, req: Request{Dir: t.TempDir(), CheckFiles: &CheckFiles{}}, env: os.Environ()}
		again := filepath.Join(dir, "again")
		check := plan.Check{Run: fmt.Sprintf("if test -e %s; then echo > %s; sleep 60; fi; : > %[1]s; exit 1", again, ready)}
		v, err := a.checkWithOld(ctx, []changedFile{{path: "a.sh"}}, []restingCheck{{OtherCheck: OtherCheck{Check: check}}})
		if !errors.Is(err, stop) || v.outcome != "" || a.res.Tampered != nil {
			t.Errorf("second run %v: %+v, %v; doubts %+v", second, v, err, a.res.Tampered)
		}
		mustDo(t, pipe.Close())
		<-ended
	}
}

// Of the changes from before the task to now, those that the task declares do not count, and new tests are work. A new
// helper beside new tests may be work.
func TestChangesOfCheckFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) checkfiles.State {
		at := filepath.Join(dir, name)
		mustDo(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)))
		return checkfiles.StateOf(at)
	}
	r := Request{Dir: dir, Files: []plan.File{{Path: "own"}}, CheckFiles: &CheckFiles{Store: filepath.Join(dir, "store"),
		Busy: []string{"busy"}, Planned: []string{"planned"}}}
	const test, setup, operand = checkfiles.Test, checkfiles.Setup, checkfiles.Operand
	files := map[string]struct {
		kind      checkfiles.Kind
		other     string
		was       string           // "": a new file
		text      string           // now; "": "now"
		state     checkfiles.State // now; "": that of the text
		undecided bool
		ignored   bool
	}{
		"same":             {kind: test, was: "now", ignored: true},
		"changed":          {kind: test, was: "was"},
		"new/a_test.go":    {kind: test, ignored: true},
		"new/helper.sh":    {kind: setup, undecided: true},
		"new/sub/more.sh":  {kind: setup},
		"helper.sh":        {kind: setup, undecided: true}, // of the tests below
		"own/a":            {kind: test, was: "was", ignored: true},
		"busy/a":           {kind: test, was: "was", ignored: true},
		"planned/a":        {kind: test, was: "was"},
		"planned/b":        {kind: test, was: "was", other: "T-2", ignored: true},
		"operand":          {kind: operand, was: "was"},
		"operand of other": {kind: operand, was: "was", other: "T-2", ignored: true},
		"go.sum":           {kind: setup, undecided: true},
		"new/old.sh":       {kind: setup, was: "was"},
		"made":             {kind: operand, state: "directory", ignored: true},
		"replaced":         {kind: operand, was: "was", state: "directory"},
		"gone_test.go":     {kind: test, was: "was", state: "gone"},
		"copied_test.go":   {kind: test, was: "now", state: "file 1"}, // it has the text of new/a_test.go no more
		"killed":           {kind: test, was: "was", undecided: true},
		"after a kill":     {kind: test, was: "was"},
		"main/x_test.go":   {kind: test, text: "func TestMain(m *testing.M) {}"},
	}
	b, now := baseline{CheckFiles: map[string]checkFile{}}, map[string]checkFile{}
	for name, f := range files {
		if f.was != "" {
			b.CheckFiles[name] = checkFile{State: put(name, f.was), Kind: f.kind, Other: f.other}
		}
		is := cmp.Or(f.state, put(name, cmp.Or(f.text, "now")))
		if is == "gone" {
			is = ""
		}
		now[name] = checkFile{State: is, Kind: f.kind, Other: f.other}
	}
	b.unknown = map[string]checkFile{"killed": now["killed"], "after a kill": b.CheckFiles["after a kill"]}
	b.CheckFiles["moved_test.go"], now["moved_test.go"] = now["new/a_test.go"], checkFile{Kind: test}
	got := map[string]bool{}
	for _, c := range r.changedCheckFiles(b, now) {
		got[c.path] = true
		if f := files[c.path]; f.ignored || c.undecided != f.undecided || c.Other != f.other || c.Kind != f.kind {
			t.Errorf("%s: %+v", c.path, c)
		}
	}
	for name, f := range files {
		if got[name] == f.ignored {
			t.Errorf("%s counts: %v", name, got[name])
		}
	}
	if got["moved_test.go"] {
		t.Error("a test counts that is in another file now")
	}
	r.Files = nil
	if slices.ContainsFunc(r.changedCheckFiles(b, now), func(c changedFile) bool { return c.Kind == operand }) {
		t.Error("an operand counts for a task that declares no file: it may be the work")
	}
	if got := r.changedCheckFiles(baseline{}, now); got != nil {
		t.Errorf("without a base changed: %+v", got)
	}
}
