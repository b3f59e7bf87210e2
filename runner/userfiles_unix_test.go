//go:build unix

package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wavex/internal/testrepo"
	"wavex/runner"
)

// home is a user's home directory with a project in it.
type home struct {
	*testing.T
	dir, project string
	warned       []string
	closed       bool
}

func newHome(t *testing.T, files ...string) *home {
	t.Helper()
	h := &home{T: t, dir: t.TempDir()}
	h.project = filepath.Join(h.dir, "src")
	for _, name := range append(files, "src/.git/HEAD", "src/.git/config", "src/.loop/lock") {
		h.write(name, "old\n")
	}
	return h
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

func (h *home) write(name, text string) {
	h.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// want compares the text of a file; "": there is none.
func (h *home) want(name, text string) {
	h.Helper()
	if got, _ := os.ReadFile(h.path(name)); string(got) != text {
		h.Errorf("%s has %q, want %q", name, got, text)
	}
}

func (h *home) sh(command string) {
	h.Helper()
	c := exec.Command("sh", "-c", command)
	c.Dir, c.Env = h.project, append(os.Environ(), "HOME="+h.dir)
	if out, err := c.CombinedOutput(); err != nil {
		h.Fatalf("%s: %v %s", command, err, out)
	}
}

func (h *home) guard(owner bool, env ...string) *runner.UserFiles {
	return runner.GuardUserFiles(runner.UserFilesOptions{
		Env: append([]string{"HOME=" + h.dir}, env...), Project: h.project,
		Kept: filepath.Join(h.project, ".loop", "runs", "r", "outside"), Owner: owner, Closed: h.closed,
		Warn: func(err error) { h.warned = append(h.warned, err.Error()) }})
}

// attempt runs a command as an attempt does, and wants the changes to be paths and the beginnings of reasons.
func (h *home) attempt(g *runner.UserFiles, command string, want ...string) {
	h.Helper()
	since := len(g.Changes(0, 1))
	h.sh(command)
	var got []string
	for _, c := range g.Changes(since, -1) {
		got = append(got, strings.ReplaceAll(c.String(), "it outlives the run; ", ""))
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		h.Errorf("%s: told %q, want %q", command, got, want)
	}
}

const putBack = "put back; the changed one is .loop/runs/r/outside/"

// All that ran during a change are told, and later ones are not.
func TestTells(t *testing.T) {
	t.Parallel()
	h := newHome(t, ".bashrc")
	g := h.guard(true)
	a, b := len(g.Changes(0, 1)), len(g.Changes(0, 1))
	h.write(".bashrc", "evil\n")
	for _, since := range []int{a, b} {
		if got := g.Changes(since, -1); len(got) != 1 || got[0].Path != "~/.bashrc" ||
			got[0].Why != "it outlives the run; "+putBack+"1-.bashrc" {
			t.Errorf("told %v", got)
		}
	}
	h.want(".bashrc", "old\n")
	h.want("src/.loop/runs/r/outside/1-.bashrc", "evil\n")
	h.attempt(g, "true")
	h.attempt(h.guard(true), "rm ~/.bashrc", "~/.bashrc: put back")
	h.attempt(h.guard(true), "echo x >~/.bashrc", "~/.bashrc: "+putBack+"2-.bashrc") // a later session of the run
	h.write(".bashrc", "of the user\n")
	h.attempt(g, "true")
	h.want(".bashrc", "of the user\n")
	if len(h.warned) != 1 || !strings.Contains(h.warned[0], "while no agent worked, something changed ~/.bashrc: ") {
		t.Errorf("warned %q", h.warned)
	}
}

// One of two runs of a user puts files back. The other run reports changes, but not that a file is restored.
func TestOwner(t *testing.T) {
	t.Parallel()
	h := newHome(t, ".bashrc")
	owner, other := h.guard(true), h.guard(false)
	since := len(owner.Changes(0, 1))
	h.attempt(other, "echo evil >~/.bashrc; echo x >~/.npmrc", "~/.bashrc: not put back, since another run",
		"~/.npmrc: not put back, since another run")
	h.want(".bashrc", "evil\n")
	if got := owner.Changes(since, -1); len(got) != 2 {
		t.Errorf("told %v", got)
	}
	h.want(".bashrc", "old\n")
	h.want(".npmrc", "")
	h.attempt(other, "true")
}

// New programs on PATH stay, and changed ones are told only.
func TestPrograms(t *testing.T) {
	t.Parallel()
	h := newHome(t, "bin/tool")
	g := h.guard(true, "PATH=/bin::relative:"+h.path("bin")+":"+h.dir)
	h.attempt(g, "cp ~/bin/tool ~/bin/new; echo x >>~/bin/tool", "~/bin/tool: not put back")
	h.want("bin/new", "old\n")
	h.want("bin/tool", "old\nx\n")
}

// No link, and no folder that is another one than before, leads to a change elsewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, told string }{
		{"ln -s $PWD/.git ~/.cargo; echo x >$PWD/.git/config.toml",
			"~/.cargo/config: not put back|~/.cargo/config.toml: not put back"},
		{"rm -r ~/.ssh; ln -s $PWD/.git ~/.ssh; echo x >>.git/config",
			"~/.ssh/config: not put back, since its folder|~/.ssh/rc: not put back, since its folder"},
		{"mkdir -p ~/.claude; ln -s $PWD/.git ~/.claude/skills", "~/.claude/skills: not put back"},
		{"mv .git ~/.cargo; echo x >>~/.cargo/config", "~/.cargo/config: not put back"},
		{"mkdir -p ~/.claude/skills; cp -p .git/config ~/.claude/skills/x; touch -d 2001-01-01 ~/.claude/skills/x",
			"~/.claude/skills/x: not put back"},
		{"mkdir -p ~/.claude/skills; cd ~/.claude/skills; for i in $(seq 21); do echo >$i; done",
			"~/.claude/skills/1: it and 20 more new files outlive the run; not put back"},
		{"mkfifo ~/.npmrc; rm ~/.profile; mkfifo ~/.profile", "~/.npmrc: not put back|~/.profile: not put back"},
		{"mv ~/.profile ~/was; mkdir ~/.profile", "~/.profile: not put back"},
		{"mv dot ~/dot2; mv ~/.profile dot; ln -s $PWD/dot ~/.profile", "~/.profile: put back"},
	} {
		h := newHome(t, ".ssh/config", ".ssh/rc", ".profile", "src/dot")
		g := h.guard(true)
		h.attempt(g, c.command, strings.Split(c.told, "|")...)
		if git := h.path("src/.git/config"); !strings.HasPrefix(c.command, "mv .git") {
			if text, err := os.ReadFile(git); err != nil || !strings.HasPrefix(string(text), "old\n") {
				t.Errorf("%s: %q %v", c.command, text, err)
			}
		}
	}
}

// Links of the user lead to the files that they mean; a path that leads elsewhere later is told only.
func TestUsersLinks(t *testing.T) {
	t.Parallel()
	h := newHome(t, "dot/zshrc", "dot/npm/npmrc", "dot/config/git/ignore", "src/rc")
	h.sh("ln -s dot/zshrc ~/.zshrc; ln -s dot/npm/npmrc ~/.npmrc; ln -s dot/config ~/.config; ln -s src/rc ~/.profile")
	g := h.guard(true)
	h.attempt(g, "echo x >>~/.zshrc; echo x >>~/.config/git/ignore; echo x >~/.config/git/config; echo x >rc",
		"~/.config/git/config: "+putBack, "~/.config/git/ignore: "+putBack, "~/dot/zshrc: "+putBack)
	h.want("dot/zshrc", "old\n")
	h.want("dot/config/git/ignore", "old\n")
	h.want("dot/config/git/config", "")
	h.want("src/rc", "x\n") // it is work
	h.attempt(g, "rm ~/.config; mkdir -p other/git ~/x; echo x >other/git/ignore; ln -s $PWD/other ~/.config; "+
		"ln -sf x ~/.zshrc",
		"~/.config/git/ignore: not put back, since its folder", "~/.zshrc: not put back, since it was a link")
	h.want("src/other/git/ignore", "x\n")
	h = newHome(t, "src/config/git/ignore", ".profile") // the project is that of the settings
	h.sh("ln -s src/config ~/.config; ln ~/.profile ~/second")
	h.attempt(h.guard(true), "echo x >>~/.config/git/ignore; echo x >~/.config/git/attributes; echo x >>~/.profile",
		"~/.profile: not put back, since it was a link, shared")
	h.want("second", "old\nx\n")
}

// A file is put back with its mode in one step, so it is never missing. A file of a killed wavex does not disturb this.
func TestWhole(t *testing.T) {
	t.Parallel()
	h := newHome(t, ".ssh/config", ".ssh/.wavex-put-back")
	testrepo.Must(t, os.Chmod(h.path(".ssh/config"), 0o640))
	g := h.guard(true)
	end, missing := make(chan bool), make(chan bool)
	go func() {
		seen := false
		for {
			select {
			case <-end:
				missing <- seen
				return
			default:
				_, err := os.Lstat(h.path(".ssh/config"))
				seen = seen || err != nil
			}
		}
	}()
	for range 20 {
		h.attempt(g, "chmod 644 ~/.ssh/config; echo secret >~/.ssh/config", "~/.ssh/config: "+putBack)
	}
	close(end)
	if <-missing {
		t.Error("the file was missing")
	}
	h.want(".ssh/config", "old\n")
	h.want(".ssh/.wavex-put-back", "")
	for name, mode := range map[string]os.FileMode{".ssh/config": 0o640, "src/.loop/runs/r/outside": 0o700,
		"src/.loop/runs/r/outside/1-config": 0o600} {
		if st, err := os.Stat(h.path(name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", name, st, err, mode)
		}
	}
}

// Empty variables name no path at the root.
func TestVariables(t *testing.T) {
	t.Parallel()
	h := newHome(t, "[odd]/x")
	h.attempt(h.guard(true, "XDG_CONFIG_HOME=", "GOENV=", "CLAUDE_CONFIG_DIR=", "GIT_CONFIG_GLOBAL="+h.path("[odd]/x")),
		"echo x >>~/[odd]/x; echo x >~/.npmrc", "~/.npmrc: "+putBack+"1-", "~/[odd]/x: "+putBack+"2-x")
	h.want("[odd]/x", "old\n")
}

// What ordinary work changes, too, is told only: keys, passwords, what installations write.
func TestTold(t *testing.T) {
	t.Parallel()
	h := newHome(t, ".ssh/id_one", ".config/git/credentials")
	g := h.guard(true)
	const only = ": not put back, since ordinary work does this, too"
	h.attempt(g, "cd; mkdir -p .cargo Library/LaunchAgents; for f in .ssh/id_one .ssh/id_two .config/git/credentials "+
		".config/git/config.lock .cargo/env Library/LaunchAgents/a; do echo x >>$f; done",
		"~/.cargo/env"+only, "~/.config/git/config.lock"+only, "~/.config/git/credentials"+only, "~/.ssh/id_one"+only,
		"~/.ssh/id_two"+only, "~/Library/LaunchAgents/a"+only)
	h.attempt(g, "true")
	h.want(".ssh/id_one", "old\nx\n")
	h.want(".ssh/id_two", "x\n")
	if _, err := os.Stat(h.path("src/.loop/runs/r/outside")); err == nil {
		t.Error("a key was copied")
	}
}

// A new file that was left is not removed when the user changes it later.
func TestLeft(t *testing.T) {
	t.Parallel()
	const many = "mkdir -p ~/.claude/skills; cd ~/.claude/skills; for i in $(seq 21); do echo >$i; done"
	for _, c := range []struct{ made, told, later string }{
		{"mkdir -p ~/.claude/skills; touch -d 2001-01-01 ~/.claude/skills/1",
			"~/.claude/skills/1: not put back, since it is no", "~/.claude/skills/1: not put back, since it is no"},
		{many, "~/.claude/skills/1: it and 20 more", "~/.claude/skills/1: put back"},
	} {
		h := newHome(t)
		g := h.guard(true)
		h.attempt(g, c.made, c.told)
		h.attempt(g, "echo x >>~/.claude/skills/1", c.later)
		if _, err := os.Stat(h.path(".claude/skills/1")); err != nil {
			t.Errorf("%s: %v", c.made, err)
		}
		h = newHome(t)
		g = h.guard(true)
		h.sh(c.made) // the user, while no agent works
		h.attempt(g, "true")
		h.attempt(g, "echo x >>~/.claude/skills/1", "~/.claude/skills/1: put back")
		if _, err := os.Stat(h.path(".claude/skills/1")); err != nil {
			t.Errorf("%s by the user: %v", c.made, err)
		}
	}
}

// No kept version replaces another one, also after some were removed.
func TestKept(t *testing.T) {
	t.Parallel()
	h := newHome(t, ".npmrc")
	g := h.guard(true)
	h.attempt(g, "echo 1 >~/.npmrc", "~/.npmrc: "+putBack+"1-")
	h.attempt(g, "echo 2 >~/.npmrc", "~/.npmrc: "+putBack+"2-")
	h.sh("rm .loop/runs/r/outside/1-.npmrc")
	g = h.guard(true)
	h.attempt(g, "echo 3 >~/.npmrc", "~/.npmrc: "+putBack+"1-")
	h.attempt(g, "echo 4 >~/.npmrc", "~/.npmrc: "+putBack+"3-")
	h.want("src/.loop/runs/r/outside/2-.npmrc", "2\n")
}

// The report of many changes names some of them. All are put back.
func TestMany(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	want := []string{}
	for i := range 30 {
		h.write(".claude/agents/"+strconv.Itoa(10+i), "old\n")
		if i < 20 {
			want = append(want, "~/.claude/agents/"+strconv.Itoa(10+i)+": put back")
		}
	}
	h.attempt(h.guard(true), "rm ~/.claude/agents/*", append(want, "~/src/.loop/runs/r/outside: 10 more files")...)
	h.want(".claude/agents/39", "old\n")
}

// Files that are too large to keep are told; folders that are too large are not read. A comparison without a change
// reads no file and takes little time.
func TestBounds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for i := range 600 {
		h.write(".claude/skills/"+strconv.Itoa(i), "x")
		h.write(".claude/agents/"+strconv.Itoa(i%400), strings.Repeat("x", 10_000))
	}
	h.write(".npmrc", strings.Repeat("x", 1<<20+1))
	g := h.guard(true)
	h.attempt(g, "echo >>~/.npmrc; echo >~/.claude/skills/1; echo >~/.claude/skills/new; echo >~/.claude/agents/1",
		"~/.claude/agents/1: "+putBack, "~/.npmrc: not put back, since it was a link, shared or too large")
	fastest := time.Hour
	for range 20 {
		began := time.Now()
		g.Changes(0, 0)
		fastest = min(fastest, time.Since(began))
	}
	if fastest > 50*time.Millisecond {
		t.Errorf("a comparison takes %s", fastest)
	}
}

// Without an absolute home directory no file is put back.
func TestNoHomeGuard(t *testing.T) {
	t.Parallel()
	var none *runner.UserFiles
	if got := none.Changes(0, 1); len(got) > 0 {
		t.Error(got)
	}
	h := newHome(t)
	for _, env := range []string{"", "HOME=", "HOME=relative"} {
		g := runner.GuardUserFiles(runner.UserFilesOptions{
			Env: []string{env, "NPM_CONFIG_USERCONFIG=" + h.path("npmrc")}, Owner: true,
			Project: h.project, Kept: h.path("src/.loop/runs/r/outside"), Warn: func(err error) { t.Error(err) }})
		since := len(g.Changes(0, 1))
		h.write("npmrc", env)
		if got := g.Changes(since, -1); len(got) != 1 || !strings.Contains(got[0].Why, "outside of your home directory") {
			t.Errorf("%q: %v", env, got)
		}
		testrepo.Must(t, os.Remove(h.path("npmrc")))
	}
}

// A wall closes the listed files that exist, so the user made any change of one. A wall cannot close new files: they
// are removed, and programs are told.
func TestClosed(t *testing.T) {
	t.Parallel()
	h := newHome(t, ".bashrc", ".claude/agents/one.md", "bin/tool")
	h.closed = true
	g := h.guard(true, "PATH="+h.path("bin"))
	h.attempt(g, "cd ~ && for f in .bashrc .claude/agents/one.md .claude/settings.json bin/tool; do echo x >$f; done",
		"~/.claude/settings.json: "+putBack+"1-settings.json", "~/bin/tool: not put back")
	h.want(".bashrc", "x\n")
	h.want(".claude/agents/one.md", "x\n")
	h.want(".claude/settings.json", "")
	h.attempt(g, "echo evil >~/.zshenv", "~/.zshenv: "+putBack+"2-.zshenv")
	h.write(".npmrc", "of the user\n")
	h.attempt(g, "true")
	h.want(".npmrc", "of the user\n")
}
