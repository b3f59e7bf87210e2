package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/claude/statement"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

const long = time.Minute

// is compares a check with a status and a part of its words.
func is(t *testing.T, c Check, status Status, words string) {
	t.Helper()
	if c.Status != status || !strings.Contains(c.Text, words) {
		t.Errorf("%s: %s %q, want %s with %q", c.Name, c.Status, c.Text, status, words)
	}
	if (c.Fix == "") != (c.Status == OK) {
		t.Errorf("%s: %s, and the advice is %q", c.Name, c.Status, c.Fix)
	}
}

func TestCLI(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testrepo.Must(t, err)
	empty := filepath.Join(t.TempDir(), "claude")
	testrepo.Must(t, os.WriteFile(empty, nil, 0o600))
	for _, tt := range []struct {
		name, program, say string
		wait               time.Duration
		status             Status
		words              string
	}{
		{"good", self, "2.1.330 (Claude Code)", long, OK, "version 2.1.330"},
		{"just new enough", self, "2.1.258 (Claude Code)", long, OK, "version 2.1.258"},
		{"too old", self, "2.1.257 (Claude Code)", long, Fail, "version 2.1.257; wavex needs 2.1.258"},
		{"a wrapper", self, "wrapper", long, Warn, `tells no version: "wrapper"`},
		{"another program", self, "hello", long, Fail, `is not the claude CLI: it says "hello"`},
		{"another program's version", self, "v20.11.0", long, Fail, `is not the claude CLI: it says "v20.11.0"`},
		{"fails", self, "fail no such thing", long, Fail, "exit status 3: no such thing"},
		{"silent", self, "hang", 300 * time.Millisecond, Fail, "no answer in 300ms"},
		{"missing", filepath.Join(t.TempDir(), "claude"), "", long, Fail, "is not there"},
		{"no program", empty, "", long, Fail, "cannot start"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, c := CLI(t.Context(), tt.program, []string{"FAKE=" + tt.say}, tt.wait)
			is(t, c, tt.status, tt.words)
			if told := strings.Contains(tt.say, "(Claude Code)"); told == (p.Version == statement.Version{}) {
				t.Errorf("the version is %q", p.Version)
			}
		})
	}
}

// A link is followed to the CLI, except one whose name selects the tool of a version manager.
func TestCLIBehindLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, script string) string {
		path := filepath.Join(dir, name)
		testrepo.Must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		return path
	}
	link := func(to, name string) string {
		path := filepath.Join(dir, name)
		testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testrepo.Must(t, os.Symlink(to, path))
		return path
	}
	cli := write("2.1.330", "echo '2.1.330 (Claude Code)'")
	manager := write("mise", `case "$0" in */claude) echo '2.1.330 (Claude Code)';; *) echo '2025.11.7 linux-x64';; esac`)
	strict := write("volta", `case "$0" in */claude) echo '2.1.330 (Claude Code)';; *) exit 126;; esac`)
	direct := link(cli, "bin/claude")
	for _, tt := range []struct {
		name, path, want string
		link             bool
	}{
		{"itself", cli, cli, false},
		{"a link to a link", link(direct, "home/claude"), cli, false},
		{"a manager with a version of its own", link(manager, "mise-shims/claude"), filepath.Join(dir, "mise-shims/claude"),
			true},
		{"a manager that wants a name", link(strict, "volta-shims/claude"), filepath.Join(dir, "volta-shims/claude"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, c := CLI(t.Context(), tt.path, nil, long)
			want, err := filepath.EvalSymlinks(filepath.Dir(tt.want))
			testrepo.Must(t, err)
			if tt.link {
				want = filepath.Dir(tt.want)
			}
			is(t, c, OK, "version 2.1.330")
			if p.Path != filepath.Join(want, filepath.Base(tt.want)) || p.Link != tt.link {
				t.Errorf("%s, a manager's link: %t", p.Path, p.Link)
			}
		})
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	none, file, settings := t.TempDir(), t.TempDir(), t.TempDir()
	const secret = "sk-ant-never-shown"
	for path, text := range map[string]string{
		filepath.Join(file, ".credentials.json"): `{"token":"` + secret + `"}`,
		filepath.Join(settings, "settings.json"): `{"apiKeyHelper":"` + secret + `"}`,
	} {
		testrepo.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for _, tt := range []struct {
		name     string
		env      []string
		keychain bool
		status   Status
		words    string
	}{
		{"key", []string{"ANTHROPIC_API_KEY=" + secret}, false, OK, "ANTHROPIC_API_KEY is set"},
		{"an empty key", []string{"ANTHROPIC_API_KEY=", "CLAUDE_CONFIG_DIR=" + none}, false, Fail, "not logged in"},
		{"file", []string{"CLAUDE_CONFIG_DIR=" + file}, false, OK, "a credentials file in " + file},
		{"both", []string{"CLAUDE_CODE_OAUTH_TOKEN=" + secret, "CLAUDE_CONFIG_DIR=" + file}, false, OK,
			"(a subscription token); there is"},
		{"cloud", []string{"CLAUDE_CODE_USE_BEDROCK=1"}, false, OK, "Bedrock"},
		{"helper", []string{"CLAUDE_CONFIG_DIR=" + settings}, false, Warn, "a helper"},
		{"keychain", []string{"CLAUDE_CONFIG_DIR=" + none}, true, Warn, "keychain"},
		{"nothing", []string{"HOME=" + none}, false, Fail, "not logged in"},
		{"no home", nil, false, Fail, "not logged in"},
	} {
		c := Login(tt.env, tt.keychain)
		is(t, c, tt.status, tt.words)
		if strings.Contains(c.Text+c.Fix, secret) {
			t.Errorf("%s: the secret is shown: %+v", tt.name, c)
		}
	}
}

func TestLoggedOut(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testrepo.Must(t, err)
	for say, want := range map[string]bool{
		`{"loggedIn": false, "authMethod": "none"}`: true,
		"warning: odd\n{\n \"loggedIn\": false\n}":  true,
		`{"loggedIn": true}`:                        false,
		`{"authMethod": "none"}`:                    false,
		`{"loggedIn": "no"}`:                        false,
		"error: unknown command 'auth'":             false,
		"":                                          false,
	} {
		if got := LoggedOut(t.Context(), []string{self}, []string{"FAKE=" + say}, t.TempDir(), long); got != want {
			t.Errorf("%q: %t", say, got)
		}
	}
	if LoggedOut(t.Context(), []string{filepath.Join(t.TempDir(), "claude")}, nil, t.TempDir(), long) {
		t.Error("a program that is not there says so")
	}
}

func TestBypass(t *testing.T) {
	t.Parallel()
	many := []string{"a", "b", "c", "d", "e", "f"}
	is(t, Bypass(nil, true, nil), OK, "no task")
	is(t, Bypass(many, true, nil), Fail, "of a, b, c, d, e and 1 more is refused by the CLI as root")
	is(t, Bypass(many, true, []string{"IS_SANDBOX=0"}), Fail, "refused")
	is(t, Bypass([]string{"a"}, true, []string{"IS_SANDBOX=1"}), Warn, "bypassed by a")
	is(t, Bypass([]string{"a"}, false, nil), Warn, "bypassed by a")
}

func TestDisk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		free   uint64
		known  bool
		status Status
		words  string
	}{
		{0, false, OK, "not known"}, {0, true, Fail, "0 MB free"}, {minFreeDisk, true, Warn, "100 MB free"},
		{lowFreeDisk, true, OK, "1.0 GB free"}, {250 << 30, true, OK, "250.0 GB free"},
	} {
		is(t, diskCheck(tt.free, tt.known), tt.status, tt.words)
	}
	is(t, Disk(filepath.Join(t.TempDir(), "nowhere")), Fail, "cannot be written")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	is(t, Memory(0, 64), OK, "not known")
	is(t, Memory(800<<20, 4), OK, "enough for 4")
	c := Memory(800<<20, 5)
	is(t, c, Warn, "5 side by side need 1000 MB")
	if c.Fix != "use -j 4" {
		t.Error(c.Fix)
	}
	if c := Memory(1, 5); c.Fix != "use -j 1" {
		t.Error(c.Fix)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	is(t, Lock(journal.CheckLock(loop.Dir(filepath.Join(dir, "nowhere")))), OK, "no other")
	l, err := journal.TryLock(loop.Dir(dir), journal.Holder{PID: 4711, Host: "here", Since: time.Unix(0, 0).UTC()})
	testrepo.Must(t, err)
	is(t, Lock(journal.CheckLock(loop.Dir(dir))), Fail, "in use by wavex process 4711 on here since 1970-01-01T00:00:00Z")
	testrepo.Must(t, l.Unlock())
	is(t, Lock(journal.CheckLock(loop.Dir(dir))), OK, "no other") // an ended holder has released the lock
}

func TestGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" +
		filepath.Dir(dir)}
	is(t, Git(t.Context(), dir, env, long), Warn, "in no git repository")
	is(t, Git(t.Context(), dir, []string{"PATH="}, long), Warn, "git is not there")
	repo := filepath.Join(dir, "repo")
	testrepo.Must(t, os.MkdirAll(repo, 0o700))
	run := exec.CommandContext(t.Context(), "git", "init", "-q")
	run.Dir, run.Env = repo, env
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	is(t, Git(t.Context(), repo, env, long), OK, "clean")
	another := append(slices.Clone(env), "GIT_TEST_ASSUME_DIFFERENT_OWNER=1") // as if another user had made it
	is(t, Git(t.Context(), repo, another, long), Warn, "of another user")
	sub := filepath.Join(repo, "sub")
	testrepo.Must(t, os.Mkdir(sub, 0o700))
	if c := Git(t.Context(), sub, another, long); c.Fix != "git config --global --add safe.directory "+repo {
		t.Errorf("the advice in a folder of the repository is %q", c.Fix)
	}
	testrepo.Must(t, os.Remove(sub))
	for i, words := range []string{"1 uncommitted change", "2 uncommitted changes"} {
		testrepo.Must(t, os.WriteFile(filepath.Join(repo, string(rune('a'+i))), nil, 0o600))
		is(t, Git(t.Context(), repo, env, long), Warn, words)
	}
	entries, err := os.ReadDir(repo)
	if err != nil || len(entries) != 3 { // .git and the two files: the check left no file
		t.Errorf("%v, %v", entries, err)
	}
}
