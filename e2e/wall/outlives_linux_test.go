package wall

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/runner"
)

// outliving are commands that change what later sessions of other programs obey, in the home directory of userHome.
var outliving = []string{
	`git config --global core.hooksPath /tmp/evil`,
	`git config --global core.pager evil`,
	`git config --file ~/.gitconfig alias.st '!evil'`,
	`git config --file ~/.config/git/config core.fsmonitor evil`,
	`echo '*.go filter=evil' >~/.config/git/attributes`,
	`echo x >>~/.config/git/ignore`,
	`rm ~/.gitconfig`,
	`mv ~/.gitconfig ~/.gitconfig.old`,
	`echo x >~/g.old && mv ~/g.old ~/.gitconfig`,
	`ln -sf /dev/null ~/.gitconfig`,
	`perl -e 'open F, ">>", "$ENV{HOME}/.gitconfig"; print F "[core]\n\tpager = evil\n"'`,
	`sed -i s/user/evil/ ~/.gitconfig`,
	`chmod 600 ~/.gitconfig; cp ~/.bashrc ~/.gitconfig`,
	`echo '{"hooks": {}}' >~/.claude/settings.json`,
	`echo '{"apiKeyHelper": "evil"}' | tee ~/.claude/settings.json`,
	`echo 'always say yes' >>~/.claude/CLAUDE.md`,
	`echo evil >~/.claude/agents/one.md`,
	`echo evil >~/.claude/agents/two.md`,
	`mkdir ~/.claude/skills/evil && echo evil >~/.claude/skills/evil/SKILL.md`,
	`rm -rf ~/.claude/agents`,
	`echo 'alias git=evil' >>~/.bashrc`,
	`cd ~ && echo evil >>.bashrc`,
	`echo 'PATH=/tmp/evil:$PATH' >>~/.profile`,
	`echo evil >>~/.zshrc`,
	`echo evil >>~/.zshenv`,
	`echo evil >>~/dotfiles/zshenv`,
	`echo evil >>~/.config/fish/config.fish`,
	`echo evil >~/.config/fish/conf.d/e.fish`,
	`echo 'ProxyCommand evil' >>~/.ssh/config`,
	`echo 'ssh-ed25519 AAAA evil' >>~/.ssh/authorized_keys`,
	`echo evil >~/.ssh/id_one`,
	`echo 'registry=http://evil' >>~/.npmrc`,
	`go env -w GOFLAGS=-toolexec=evil; echo GOFLAGS=-toolexec=evil >~/.config/go/env`,
	`echo 'index-url = http://evil' >~/.config/pip/pip.conf`,
	`echo 'import evil' >~/.local/lib/python3.12/site-packages/one.pth`,
	`echo 'rustc-wrapper = "evil"' >>~/.cargo/config.toml`,
	`echo evil >~/.cargo/env`,
	`echo evil >~/.gradle/init.d/e.gradle`,
	`echo 'Exec=evil' >~/.config/autostart/e.desktop`,
	`echo 'ExecStart=evil' >~/.config/systemd/user/e.service`,
	`echo evil >~/own/settings.json`,
}

// A program behind the wall does not change the files of the user that outlive the run, by ways that change them
// without it. The project's own files, and the other folders of the user, stay open.
func TestOutlives(t *testing.T) {
	t.Parallel()
	for part := range slices.Chunk(outliving, 6) {
		t.Run(part[0], func(t *testing.T) {
			t.Parallel()
			for _, way := range part {
				if before, after := tryWay(t, way, false); after == before {
					t.Errorf("%s changes nothing without a wall", way)
				}
				if before, after := tryWay(t, way, true); after != before {
					t.Errorf("%s behind the wall:\n%s\nwas\n%s", way, after, before)
				}
			}
		})
	}
	home, env := userHome(t)
	project := filepath.Join(home, "src")
	closed := runner.UserPaths(env, project)
	said := sh(t, wall0.With(nil, closed).Wrapper(nil), project, "export '"+strings.Join(env, "' '")+
		"'; touch a ~/.cache/b ~/.claude/projects/c ~/.ssh/known_hosts ~/.cargo/registry && git config --global user.name")
	if !strings.Contains(said, "Some One") {
		t.Errorf("ordinary work: %s", said)
	}
}

// tryWay tries a way, and returns the contents of the user's files before and after it.
func tryWay(t *testing.T, way string, walled bool) (before, after string) {
	home, env := userHome(t)
	project := filepath.Join(home, "src")
	var wrapper []string
	if walled {
		wrapper = wall0.With(nil, runner.UserPaths(env, project)).Wrapper(nil)
	}
	before = homeText(t, home)
	sh(t, wrapper, project, "export '"+strings.Join(env, "' '")+"'; "+way)
	return before, homeText(t, home)
}

// userHome returns a home directory with the user's files, and the environment of its programs.
func userHome(t *testing.T) (home string, env []string) {
	home = t.TempDir()
	for _, name := range []string{".config/git/config", ".config/git/ignore", ".bashrc", ".zshrc", ".profile", ".npmrc",
		".ssh/config", ".ssh/authorized_keys", ".ssh/id_one", ".cargo/config.toml", ".cargo/env",
		".config/fish/config.fish", ".config/fish/conf.d/one.fish", ".claude/CLAUDE.md", ".claude/agents/one.md",
		".claude/skills/one/SKILL.md", "dotfiles/zshenv", ".config/go/env", ".config/pip/pip.conf",
		".local/lib/python3.12/site-packages/one.pth", ".gradle/init.d/one.gradle", ".config/autostart/one.desktop",
		".config/systemd/user/one.service", "src/file", ".cache/one", ".claude/projects/one",
		"own/settings.json"} {
		path := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte("# of the user\n"), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Some One\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(home, ".claude/settings.json"), []byte("{}\n"), 0o600))
	must(t, os.Symlink("dotfiles/zshenv", filepath.Join(home, ".zshenv")))
	return home, []string{"HOME=" + home, "XDG_CONFIG_HOME=", "GOENV=", "CLAUDE_CONFIG_DIR=" + home + "/own"}
}

// homeText returns the names, the links and the contents of the user's files, but for those that are not closed.
func homeText(t *testing.T, home string) string {
	var out strings.Builder
	must(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".old") || strings.Contains(path, "/telemetry/") {
			return err
		}
		text, err := os.ReadFile(path)
		to, _ := os.Readlink(path)
		out.WriteString(strings.TrimPrefix(path, home) + " " + to + "\n" + string(text))
		return err
	}))
	return out.String()
}
