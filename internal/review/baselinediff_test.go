package review

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

func TestHeadCommit(t *testing.T) {
	t.Parallel()
	none, empty := t.TempDir(), t.TempDir()
	testrepo.Git(t, empty, "init", "-q")
	for _, dir := range []string{none, empty, filepath.Join(none, "gone")} {
		if got := HeadCommit(t.Context(), dir); got != "" {
			t.Errorf("without a commit it is %q", got)
		}
	}
	// Git warns about a branch named HEAD; the warning is not taken for a commit.
	dir := testrepo.Repo(t, testrepo.Files{"a": "a"})
	want := HeadCommit(t.Context(), dir)
	testrepo.Git(t, dir, "update-ref", "refs/heads/HEAD", "HEAD")
	if got := HeadCommit(t.Context(), dir); len(want) < 40 || got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The changes of declared files are a diff or the contents, and of no other file.
func TestDescribeFiles(t *testing.T) {
	t.Parallel()
	base := testrepo.Files{"pkg/a.go": "package pkg\n", "same.go": "same\n", "i.tsx": "i\n", "gone": "gone\n"}
	for name, c := range map[string]struct {
		change  testrepo.Files
		declare []string
		has     []string
		hasNot  []string
	}{
		"changed": {testrepo.Files{"pkg/a.go": "package other\n"}, []string{"pkg/a.go"},
			[]string{"-package pkg", "+package other"}, nil},
		"not declared": {testrepo.Files{"pkg/a.go": "package other\n"}, []string{"same.go"}, nil,
			[]string{"other", "same"}},
		"new": {testrepo.Files{"new.go": "fresh\n"}, []string{"new.go"}, []string{"new file new.go\nfresh"},
			nil},
		"not there": {nil, []string{"never.go"}, nil, []string{"never"}},
		"new, name of old": {testrepo.Files{"pkg/a.go": "package other\n", "a.go": "fresh\n"}, []string{"pkg/a.go", "a.go"},
			[]string{"new file a.go\nfresh"}, nil},
		"new, named in old": {testrepo.Files{"pkg/a.go": "// see x/a.go\n", "a.go": "fresh\n"}, []string{"pkg/a.go", "a.go"},
			[]string{"new file a.go\nfresh"}, nil},
		"letters": {testrepo.Files{"é.txt": "fresh\n"}, []string{"é.txt"}, []string{"new file é.txt\nfresh"}, nil},
		"a pattern": {testrepo.Files{"[id].tsx": "fresh\n", "i.tsx": "other\n"}, []string{"[id].tsx"},
			[]string{"new file [id].tsx\nfresh"}, []string{"other"}},
		"magic": {testrepo.Files{":(top)x": "fresh\n"}, []string{":(top)x"}, []string{"new file :(top)x\nfresh"},
			nil},
		"line ends": {testrepo.Files{".gitattributes": "* text=auto\n", "pkg/a.go": "package pkg\r\nx\r\n"},
			[]string{"pkg/a.go"}, []string{"+x"}, []string{"warning"}},
		"binary": {testrepo.Files{"blob": "a\x00secret"}, []string{"blob"}, nil, []string{"secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testrepo.Repo(t, base)
			c.change.Write(t, dir)
			got, err := baseline{dir: dir, base: "HEAD"}.describeFiles(t.Context(), c.declare)
			if err != nil {
				t.Error(err)
			}
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
			for _, not := range c.hasNot {
				if strings.Contains(got, not) {
					t.Errorf("%q is in\n%s", not, got)
				}
			}
		})
	}
}

// Links are shown and not followed, so experts see no file outside the project.
func TestDescribeFilesFollowsNoLink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	testrepo.Files{"key": "private"}.Write(t, outside)
	for _, dir := range []string{t.TempDir(), testrepo.Repo(t, nil)} {
		testrepo.Must(t, os.Symlink(filepath.Join(outside, "key"), filepath.Join(dir, "notes.md")))
		got, err := baseline{dir: dir, base: "HEAD"}.describeFiles(t.Context(), []string{"notes.md"})
		if err != nil || strings.Contains(got, "private") || !strings.Contains(got, "a link to ") {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestDescribeFilesWithoutGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"a": "one", "b": "two", "c": "three"}.Write(t, dir)
	got, err := baseline{dir: dir, base: "HEAD"}.describeFiles(t.Context(), []string{"a", "b"})
	if err != nil || got != "new file a\none\nnew file b\ntwo\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// For any number and size of files the result is bounded.
func TestDescribeFilesIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []string
	for i := range 10 {
		name := fmt.Sprintf("f%d", i)
		testrepo.Files{name: strings.Repeat("z", 2*maxDiff)}.Write(t, dir)
		all = append(all, name)
	}
	got, err := baseline{dir: dir}.describeFiles(t.Context(), all)
	if err != nil || len(got) > 4*maxDiff || !strings.HasSuffix(got, "and further new files\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// If git cannot show the changes, that is an error, not an empty result.
func TestWorkDiffReportsErrors(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"a": "a"})
	if text, err := (baseline{dir: dir, base: "no-such-commit"}).diff(t.Context(), "--"); err == nil ||
		!strings.Contains(err.Error(), "no-such-commit") {
		t.Errorf("%q, %v", text, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if text, err := (baseline{dir: dir, base: "HEAD"}).diff(ctx, "--"); !errors.Is(err, why) {
		t.Errorf("%q, %v", text, err)
	}
}

const onePlan = `{"tasks":[{"id":"a","subject":"do a","files":[{"path":"a.go"}]}]}`

// whole has all changes, with paths of the project, without wavex's own files.
func TestRunDiff(t *testing.T) {
	t.Parallel()
	top := testrepo.Repo(t, testrepo.Files{"sub/old.go": "old\n", "sub/plan.json": "{}\n", "other/x": "x\n",
		"sub/.gitignore": "out/\n"})
	dir := filepath.Join(top, "sub")
	h, _ := newCoordinator(t, dir, onePlan, nil)
	for _, config := range []string{"diff.noprefix", "diff.mnemonicPrefix"} { // popular settings of users
		testrepo.Git(t, top, "config", config, "true")
	}
	testrepo.Files{"old.go": "other\n", "plan.json": `{"name":"mine"}`, "é new.go": "fresh\n", ".loop/state.json": "own",
		".loop.bak-1/x": "own",
		"../other/x":    "elsewhere", "out/made": "built\n", "doc.md": " diff --git a/none b/none\n"}.Write(t, dir)
	got, changed, err := h.workDiff(t.Context(), 0, []string{"out/made"})
	if err != nil || fmt.Sprint(changed) != "[old.go doc.md é new.go]" {
		t.Errorf("changed %q, %v", changed, err)
	}
	for _, want := range []string{"diff --git a/old.go b/old.go\n", "+other", "new file é new.go\nfresh",
		"new file out/made\nbuilt"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, not := range []string{"mine", "own", "elsewhere"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
	for i := range maxNewFiles + 5 {
		testrepo.Files{fmt.Sprintf("many/%03d", i): "m"}.Write(t, dir)
	}
	if got, changed, err = h.workDiff(t.Context(), 0, nil); err != nil || len(changed) > maxNewFiles+1 ||
		!strings.Contains(got, "and further new files") {
		t.Errorf("%d changed, %v", len(changed), err)
	}
}

// The user's uncommitted changes are not the tasks' work, also without a checkpoint. No filter of a task runs.
func TestDiffSinceTheCheckpoint(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"a.go": "one\n", "its.go": "0\n"})
	testrepo.Files{"a.go": "one\ntwo\n", "mine.go": "mine\n"}.Write(t, dir)
	testrepo.Git(t, dir, "config", "filter.mine.clean", "cat")
	h, _ := newCoordinator(t, dir, onePlan, nil)
	testrepo.Files{"a.go": "one\ntwo\nthree\n", "its.go": "its\n", ".gitattributes": "*.go filter=task\n"}.Write(t, dir)
	ran := filepath.Join(t.TempDir(), "ran")
	testrepo.Git(t, dir, "config", "filter.task.clean", "touch '"+ran+"'; cat")
	got, changed, err := h.workDiff(t.Context(), 0, nil)
	if err != nil || fmt.Sprint(changed) != "[a.go its.go .gitattributes]" || strings.Contains(got, "+two") ||
		!strings.Contains(got, "+three") || strings.Contains(got, "mine") {
		t.Errorf("%q, %v:\n%s", changed, err, got)
	}
	testrepo.Git(t, dir, "update-ref", "-d", "refs/wavex/r.points/wave/1")
	got, changed, err = h.workDiff(t.Context(), 0, []string{"its.go", "out/gone"})
	if err != nil || changed != nil || strings.Contains(got, "a.go") || strings.Contains(got, "mine") ||
		!strings.Contains(got, "-0\n+its\n") || !strings.HasPrefix(got, "Without a checkpoint") {
		t.Errorf("%q, %v:\n%s", changed, err, got)
	}
	alone := h.opts.Plan
	h.opts.Plan = &plan.Plan{Path: alone.Path, Tasks: []plan.Task{{Command: "make"}}} // it may have changed any file
	got, _, err = h.workDiff(t.Context(), 0, []string{"its.go"})
	h.opts.Plan = alone
	if err != nil || !strings.Contains(got, "+three") || !strings.HasPrefix(got, "Without a checkpoint") {
		t.Errorf("after a command, %v:\n%s", err, got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the filter of a task ran")
	}
	testrepo.Git(t, dir, "config", "filter.mine.process", "true")
	if got, _, err := h.workDiff(t.Context(), 0, []string{"its.go"}); err == nil {
		t.Errorf("with filters that git would not take back:\n%s", got)
	}
}

// A name ends with NUL; a name that was cut off is dropped.
func TestSplitNUL(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z\n "/é]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(name, 0, 4).Draw(t, "names")
		text := ""
		for _, n := range want {
			text += n + "\x00"
		}
		if got := splitNUL(text + rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "rest")); fmt.Sprintf("%q",
			got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q is %q", text, got)
		}
	})
}
