package wall

import (
	"net"
	"os"
	"strings"
	"testing"

	"wavex/runner"
)

// A program behind a strict wall can write only its tree, its caches and its own directory for temporary files. Without
// a network it has only its own loopback. Each case works without the wall.
func TestStrict(t *testing.T) {
	t.Parallel()
	outside, err := os.MkdirTemp("/var/tmp", "outside")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(outside)) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	port := l.Addr().String()[strings.LastIndexByte(l.Addr().String(), ':')+1:]
	others := func(dir string) (command string) {
		seen, err := os.CreateTemp(dir, "seen")
		must(t, err)
		must(t, seen.Close())
		t.Cleanup(func() { must(t, os.Remove(seen.Name())) })
		return "test -f " + seen.Name()
	}
	connects := `node -e 'require("net").connect(` + port + `, "127.0.0.1").on("connect", () => process.exit(0))'`
	serves := `node -e 'const s = require("net").createServer(() => process.exit(0)).listen(0, "127.0.0.1", () =>
		require("net").connect(s.address().port, "127.0.0.1"))'`
	for _, c := range []struct {
		name, command    string
		offline, network bool // whether it works behind the wall
	}{
		{"tree", "echo x > src/new && rm src/a", true, true},
		{"cache", "echo x > " + cacheDir + "/$$", true, true},
		{"temporary file", `f=$(mktemp) && echo x > "$f"`, true, true},
		{"protected", "echo x > prot/f", false, false},
		{"outside", "echo x > " + outside + "/f", false, false},
		{"home", `f=$HOME/.wavex-strict && echo x > "$f" && rm "$f"`, false, false},
		{"above the tree", `f=../strict.$$ && echo x > "$f" && rm "$f"`, true, true}, // in the private /tmp
		{"files of others in /tmp", others("/tmp"), false, false},
		{"files of others in /dev/shm", others("/dev/shm"), false, false},
		{"a write by /proc", `echo x > /proc/$PPID/root` + outside + `/f`, false, false},
		{"shared memory", "echo x > /dev/shm/wavex.$$ && rm /dev/shm/wavex.$$", true, true},
		{"null device", "echo x > /dev/null", true, true},
		{"a terminal", "script -qec 'echo x > /dev/tty' /dev/null", false, false},
		{"network", connects, false, true},
		{"a server of its own", serves, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, wrapper := range []string{"none", "offline", "network"} {
				dir, _ := project(t)
				closed, want, argv := []string{dir + "/prot"}, true, []string(nil)
				switch wrapper {
				case "offline":
					want, argv = c.offline, strict.Offline(closed, dir)
				case "network":
					want, argv = c.network, strict.Wrapper(closed, dir)
				}
				said := sh(t, argv, dir, "("+c.command+") && echo worked")
				if got := strings.HasSuffix(said, "worked\n"); got != want {
					t.Errorf("%s: worked: %v; it said %s", wrapper, got, said)
				}
			}
		})
	}
}

// Checks and commands commit behind a strict wall, in a repository and in a linked working tree of it. They write
// neither the programs of git and the CLI, nor another directory that the tree names as its repository.
func TestStrictCommits(t *testing.T) {
	t.Parallel()
	dir, _ := project(t)
	linked := dir + "-linked"
	t.Cleanup(func() { must(t, os.RemoveAll(linked)) })
	outside, err := os.MkdirTemp("/var/tmp", "outside")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(outside)) })
	prepare(t, dir, `mkdir -p .claude/skills src/.claude && echo {} > .mcp.json && echo {} > .claude/settings.json &&
		echo x > .claude/skills/s && echo {} > src/.claude/settings.json &&
		git init -q . && git config user.name a && git config user.email a@example.com && git add . &&
		git commit -qm first && git worktree add -q -b other `+linked)
	repository, closed := runner.Repository(dir)
	w := strict.With([]string{repository}, closed)
	for _, tree := range []string{dir, linked} {
		said := sh(t, runner.CheckWrapper(w, tree, nil), tree,
			`echo x > src/a && git commit -qam done && git log -1 --format=%s`)
		if said != "done\n" {
			t.Errorf("%s: %s", tree, said)
		}
		for _, command := range []string{`echo x > "$G/hooks/pre-push"`, `echo x > "$G/config"`, `echo {} > .mcp.json`,
			`git config filter.x.clean y`, `echo {} > .claude/settings.json`, `echo x > .claude/skills/s`,
			`echo {} > src/.claude/settings.json`, `mv "$G" "$G.old"`, `rm -rf "$G/hooks"`,
			`echo ` + outside + ` > "$(git rev-parse --absolute-git-dir)/commondir" && test -f .git`,
			`echo gitdir: x > .git && test -f .git`} {
			said := sh(t, runner.CheckWrapper(w, tree, nil), tree, `G=`+repository+`; (`+command+`) && echo worked`)
			if strings.HasSuffix(said, "worked\n") {
				t.Errorf("%s: %s worked: %s", tree, command, said)
			}
		}
	}
	// Each plants a repository outside of the tree. Some fail.
	for _, command := range []string{`echo ` + outside + ` > .git/commondir`,
		`rm .git; echo gitdir: ` + outside + ` > .git`, `mv .git old; ln -s ` + outside + ` .git`} {
		must(t, os.WriteFile(outside+"/HEAD", []byte("ref: refs/heads/main\n"), 0o600))
		for _, tree := range []string{dir, linked} {
			prepare(t, tree, `(`+command+`) || true`)
			for _, file := range []string{outside + "/f", repository + "/config"} {
				said := sh(t, runner.CheckWrapper(w, tree, nil), tree, `(echo x > `+file+`) && echo worked; echo ran`)
				if strings.Contains(said, "worked\n") || !strings.HasSuffix(said, "ran\n") {
					t.Errorf("%s: after %s: %s is written, or nothing ran: %s", tree, command, file, said)
				}
			}
		}
	}
}
