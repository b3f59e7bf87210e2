//go:build unix

package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
	"wavex/runner"
)

// The list has the user's files that exist, by the variables that move them. A path that leads into the project, or to
// a folder that contains it, is work.
func TestPaths(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{".profile", ".config/git/config", ".npmrc", ".config/other", ".ssh/known_hosts",
		".ssh/config", "dotfiles/bashrc", "own/settings.json", "own/projects/p.jsonl", ".claude/settings.json",
		"config/git/x", "[odd]/npmrc", "src/skills/s"} {
		path := filepath.Join(home, name)
		testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testrepo.Must(t, os.WriteFile(path, nil, 0o600))
	}
	for from, to := range map[string]string{".bashrc": "dotfiles/bashrc", ".zshrc": "gone", ".cargo": "src",
		"own/skills": filepath.Join(home, "src/skills")} {
		testrepo.Must(t, os.Symlink(to, filepath.Join(home, from)))
	}
	for _, c := range []struct {
		project, env string // more variables
		want         string
	}{
		{"src", "", ".bashrc .claude/settings.json .config/git .config/git/config .npmrc .profile .ssh/config"},
		{"dotfiles", "", ".claude/settings.json .config/git .config/git/config .npmrc .profile .ssh/config"},
		{".config", "", ".bashrc .claude/settings.json .npmrc .profile .ssh/config"},
		{"src", "CLAUDE_CONFIG_DIR=~/own XDG_CONFIG_HOME=~/config NPM_CONFIG_USERCONFIG=~/[odd]/npmrc GOENV=off " +
			"GIT_CONFIG_GLOBAL=/dev/null PIP_CONFIG_FILE=relative",
			".bashrc .claude/settings.json .config/git .config/git/config .npmrc .profile .ssh/config [odd]/npmrc config/git " +
				"own/settings.json"},
	} {
		env := append([]string{"HOME=" + home}, strings.Fields(strings.ReplaceAll(c.env, "~", home))...)
		var got []string
		for _, path := range runner.UserPaths(env, filepath.Join(home, c.project)) {
			if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
				got = append(got, filepath.ToSlash(rel))
			} else if !strings.HasPrefix(path, "/etc/") && !strings.HasPrefix(path, "/var/spool/") {
				t.Errorf("%s is no file of a user", path)
			}
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s, %s:\n got %v\nwant %v", c.project, c.env, got, want)
		}
	}
}

// Without a home directory only the files of the machine are listed.
func TestNoHome(t *testing.T) {
	t.Parallel()
	for _, path := range runner.UserPaths(nil, t.TempDir()) {
		if !strings.HasPrefix(path, "/etc/") && !strings.HasPrefix(path, "/var/spool/") {
			t.Error(path)
		}
	}
}
