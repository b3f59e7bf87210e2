package userfiles

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/runner"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// A change is told for each attempt that ran then, and put back once; later attempts are not told. A file that is too
// large to keep stays. While no attempt runs the caller is warned.
func TestGuard(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "src")
	rc, tool, kept := filepath.Join(home, ".bashrc"), filepath.Join(home, "bin", "tool"), filepath.Join(project, "kept")
	write(t, rc, "old\n")
	write(t, tool, strings.Repeat("x", maxFile+1))
	var warned []string
	g := New([]string{"HOME=" + home, "PATH=" + filepath.Dir(tool)}, project, kept, false,
		func(err error) { warned = append(warned, err.Error()) })
	a, b := len(g.Changes(0, 1)), len(g.Changes(0, 1))
	write(t, rc, "new\n")
	write(t, tool, "short")
	want := []runner.Tamper{{Path: "~/.bashrc", Why: "it outlives the run; put back; the changed one is kept/1-.bashrc"},
		{Path: "~/bin/tool", Why: "it outlives the run; not put back, since it was too large to keep or cannot be read"}}
	for _, since := range []int{a, b} {
		if got := g.Changes(since, -1); !reflect.DeepEqual(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
	if now, changed := read(t, rc), read(t, filepath.Join(kept, "1-.bashrc")); now != "old\n" || changed != "new\n" ||
		read(t, tool) != "short" {
		t.Errorf("the file is %q, the changed one %q", now, changed)
	}
	if got := g.Changes(len(g.Changes(0, 1)), -1); len(got) > 0 || len(warned) > 0 {
		t.Errorf("a later attempt: told %v, warned %v", got, warned)
	}
	write(t, filepath.Join(home, ".npmrc"), "x")
	if g.Changes(0, 0); len(warned) != 1 || !strings.Contains(warned[0], "~/.npmrc") {
		t.Errorf("warned %v", warned)
	}
}

// What belongs to the project is neither closed nor compared, also behind a link, nor is a folder that contains it.
func TestPaths(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "dotfiles")
	for _, name := range []string{".profile", ".config/git/config", ".npmrc", "dotfiles/bin/x", "dotfiles/bashrc", "bin/x",
		"own/settings.json", ".claude/settings.json", ".claude/projects/p.jsonl", ".ssh/known_hosts", ".ssh/config"} {
		write(t, filepath.Join(home, name), "x")
	}
	if err := os.Symlink("dotfiles/bashrc", filepath.Join(home, ".bashrc")); err != nil {
		t.Skip(err)
	}
	env := []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + home + "/own", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"PATH=" + strings.Join([]string{home, home + "/bin", project + "/bin", "relative"}, string(os.PathListSeparator))}
	var got []string
	for _, path := range Paths(env, project) {
		if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
			got = append(got, filepath.ToSlash(rel))
		}
	}
	want := []string{".claude/settings.json", ".config/git", ".npmrc", ".profile", ".ssh/config", "bin",
		"own/settings.json"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	g := New(env, project, filepath.Join(project, "kept"), false, func(err error) { t.Error(err) })
	write(t, filepath.Join(project, "bashrc"), "y")
	if told := g.Changes(0, 0); len(told) > 0 {
		t.Errorf("told %v", told)
	}
}
