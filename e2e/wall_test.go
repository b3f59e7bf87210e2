//go:build unix

package e2e

// This file tests the wall around agents. Where bubblewrap is missing, the same agents get through and are found out.

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
)

// An agent writes a protected file by a command that the CLI lets run. The wall stops it, and the task is done;
// without one the attempt is wrong. The report says which it was. Git works behind it, also in a linked working tree.
func TestWall(t *testing.T) {
	t.Parallel()
	for _, way := range [][]string{{"shared", "auto"}, {"worktree", "auto"}, {"shared", "off"}} {
		t.Run(strings.Join(way, " "), func(t *testing.T) {
			t.Parallel()
			testWall(t, shared.cli, way[0], way[1])
		})
	}
}

func testWall(t *testing.T, c cli, isolation, sandbox string) {
	// Without $w the CLI would deny the whole command.
	const command = "w=$(echo); echo new > $w./prot/f; echo new > $w.claude/settings.json; " +
		"echo x >> $w.git/hooks/pre-push; git$w config core.pager evil; echo evil > $w$HOME/.zshenv; " +
		"echo work > work.txt && git add work.txt && git commit -qm work && echo committed"
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{When: task("T-001"),
		Steps: []fakeapi.Reply{fakeapi.Use(fakeapi.Bash(command)).WithUsage(use), report("true")}}}})
	r := newRepo(t, "-- .gitignore --\n.loop\nplan.json\n-- prot/f --\nold\n-- .claude/settings.json --\n{}\n"+
		"-- plan.json --\n"+`{"protect": ["prot"], "budget": {"usd": 4}, "isolation": "`+isolation+
		`", "defaults": {"model": "claude-sonnet-4-5", "allowedTools": ["Bash"], "maxRetries": 0}, `+
		`"tasks": [{"id": "T-001", "subject": "Work", "files": [{"path": "work.txt", "action": "create"}]}]}`+"\n").on(c)
	commitAll(t, r.dir)
	config, err := os.ReadFile(filepath.Join(r.dir, ".git", "config"))
	testrepo.Must(t, err)
	env := Env(t, srv)
	_, none := proc.TryWall(t.Context(), r.dir, env)
	if sandbox == "off" {
		none = proc.ErrNoBwrap
	}
	e := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--counsel", "off", "--accept-assumptions",
		"--sandbox", sandbox, "--report", "md=report.md").end()
	if none != nil {
		if e.exit != 1 || !strings.Contains(e.stdout, "changed what the plan protects: prot/f") {
			t.Errorf("exit %d without a wall\n%s\n%s", e.exit, e.stdout, e.stderr)
		}
		return
	}
	said, err := os.ReadFile(filepath.Join(r.dir, "report.md"))
	if e.exit != 0 || err != nil || !strings.Contains(string(said), "Wall: up") ||
		!strings.Contains(e.stdout, `"wall":true`) {
		t.Errorf("exit %d, %v\n%s\n%s\n%s", e.exit, err, said, e.stdout, e.stderr)
	}
	if now, err := os.ReadFile(filepath.Join(r.dir, ".git", "config")); err != nil || string(now) != string(config) {
		t.Errorf("the configuration of git is %q (%v), was %q", now, err, config)
	}
	if got := gitIn(t, r.dir, "log", "--format=%s", "main", "--", "work.txt"); got == "" {
		t.Errorf("the agent's commit is not on main\n%s", e.stdout)
	}
	// No wall can close a file that does not exist.
	if _, err := os.Stat(filepath.Join(proc.Getenv(env, "HOME"), ".zshenv")); err == nil ||
		!strings.Contains(e.stdout, ".zshenv: it outlives the run; put back") {
		t.Errorf("the agent made ~/.zshenv (%v)\n%s", err, e.stdout)
	}
	if _, err := os.Stat(filepath.Join(r.dir, ".git", "hooks", "pre-push")); err == nil {
		t.Error("the agent made a hook")
	}
}

// ordinary is a command of an agent that uses tools, sockets, ports and caches of the machine.
// It names go by its path: where claude 2.1.258 gives up reading the user's shell settings, on a slow machine, its
// commands run in a login shell, whose PATH may lack go.
const ordinary = `{ "$GO" build -o "$TMPDIR/prog" . && "$TMPDIR/prog"; "$GO" env -w GOFLAGS=-v && echo env
npm install --offline --no-audit --no-fund ./dep >/dev/null && node -e 'console.log(require("dep"))'
node -e 'const h = require("http"), p = +process.env.WAVEX_PORT_BASE
h.createServer((_, r) => r.end("served")).listen(p, "127.0.0.1", () => h.get({host: "127.0.0.1", port: p}, r =>
	r.on("data", d => { console.log(""+d); process.exit() })))'
for s in "$SSH_AUTH_SOCK" "$GNUPGHOME/S.gpg-agent" "${DOCKER_HOST#unix://}"; do
	S=$s node -e 'require("net").connect(process.env.S).on("data", d => process.stdout.write(""+d))'
done
git add . && git commit -qm work && git branch other && git gc -q && echo git
mkdir -p "$HOME/.cache/x" && echo x > "$HOME/.cache/x/f" && echo cache; kill -0 $PPID && echo parent; } >out.txt 2>&1`

// Go, npm, git, a server on a port, sockets of daemons, caches and signals work behind the wall.
func TestOrdinaryWorkBehindWall(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{When: task("T-001"),
			Steps: []fakeapi.Reply{fakeapi.Use(fakeapi.Bash(ordinary)).WithUsage(use), report("true")}}}})
		r := newRepo(t, "-- .gitignore --\n.loop\nplan.json\nout.txt\nnode_modules\n-- go.mod --\nmodule m\n\ngo 1.24\n"+
			"-- main.go --\npackage main\n\nfunc main() { println(\"built\") }\n"+
			"-- dep/package.json --\n{\"name\": \"dep\", \"version\": \"1.0.0\"}\n"+
			"-- dep/index.js --\nmodule.exports = \"required\"\n"+
			"-- plan.json --\n"+`{"budget": {"usd": 4}, "isolation": "shared", "defaults": {"model": "claude-sonnet-4-5", `+
			`"allowedTools": ["Bash"], "maxRetries": 0}, "tasks": [{"id": "T-001", "subject": "Work", "verify": ["true"]}]}`+
			"\n").on(c)
		commitAll(t, r.dir)
		dir := listen(t, "ssh", "S.gpg-agent", "docker")
		goPath, err := exec.LookPath("go")
		testrepo.Must(t, err)
		env := append(Env(t, srv), "SSH_AUTH_SOCK="+dir+"/ssh", "GNUPGHOME="+dir, "GO="+goPath,
			"DOCKER_HOST=unix://"+dir+"/docker", "GOFLAGS=") // go env -w warns of a variable that is set
		e := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--counsel", "off", "--accept-assumptions",
			"--sandbox", "auto").end()
		said, err := os.ReadFile(filepath.Join(r.dir, "out.txt"))
		const want = "built\nenv\nrequired\nserved\nhere is ssh\nhere is S.gpg-agent\nhere is docker\ngit\ncache\nparent\n"
		if e.exit != 0 || err != nil || string(said) != want {
			t.Errorf("exit %d, %v: %q\nwant %q\n%s\n%s", e.exit, err, said, want, e.stdout, e.stderr)
		}
	})
}

// listenTCP listens on a port of the loopback, and returns it.
func listenTCP(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testrepo.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// says returns a function that reports whether the result of a tool begins with a text.
func says(text string) func(fakeapi.ToolResult) bool {
	return func(r fakeapi.ToolResult) bool { return strings.HasPrefix(r.Text, text) }
}

// commitAll makes a directory a repository with a commit of all its files.
func commitAll(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Some One"},
		{"config", "user.email", "one@example.com"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		gitIn(t, dir, args...)
	}
}

// listen makes sockets that greet with their names, and returns their directory.
func listen(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // the path of a socket has 107 bytes at most
	testrepo.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range names {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		testrepo.Must(t, err)
		served := make(chan struct{})
		go func() {
			defer close(served)
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				fmt.Fprintln(c, "here is "+name)
				_ = c.Close()
			}
		}()
		t.Cleanup(func() { _ = l.Close(); <-served })
	}
	return dir
}

// Agents of both versions work, commit and go on in their sessions behind a strict wall. They write nothing outside of
// their tree; checks and command tasks have no network.
func TestStrictWall(t *testing.T) {
	t.Parallel()
	for i, c := range shared.clis {
		isolation := []string{"shared", "worktree"}[i%2]
		t.Run(c.name+" "+isolation, func(t *testing.T) { t.Parallel(); testStrictWall(t, c, isolation) })
	}
}

func testStrictWall(t *testing.T, c cli, isolation string) {
	outside, err := os.MkdirTemp("/var/tmp", "wavex-outside")
	testrepo.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(outside) })
	port := listenTCP(t)
	// It exits 0 if it cannot connect.
	offline := fmt.Sprintf("! node -e 'require(\"net\").connect(%d, \"127.0.0.1\").on(\"connect\", "+
		"() => process.exit(0))'", port)
	bash := func(command string) fakeapi.Reply { return fakeapi.Use(fakeapi.Bash(command)).WithUsage(use) }
	_, none := proc.TryStrictWall(t.Context(), t.TempDir(), os.Environ(), nil)
	agents := []*fakeapi.Agent{{When: task("T-001"),
		Steps: []fakeapi.Reply{bash("w=$(echo); echo x > $w" + outside + "/f; echo x >> $w$HOME/.claude/CLAUDE.md; " +
			"echo half > work.txt"), report("true"),
			bash("echo whole > work.txt && git add work.txt && git commit -qm work && echo committed"), report("true")}}}
	if none != nil {
		agents = nil
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	r := newRepo(t, "-- .gitignore --\n.loop\nplan.json\n-- plan.json --\n"+
		fmt.Sprintf(`{"budget": {"usd": 4}, "isolation": %q, "defaults": {"model": "claude-sonnet-4-5",
"allowedTools": ["Bash"]}, "tasks": [{"id": "T-001", "subject": "Work", "files": [{"path": "work.txt", "action": "create"}],
  "verify": [{"run": %q}, {"run": "echo x > made.txt && grep -qx whole work.txt"}]},
 {"id": "T-002", "subject": "Command", "command": %q, "blockedBy": ["T-001"]}]}`,
			isolation, offline, offline+" && echo x > command.txt && ! touch "+outside+"/g")+"\n").on(c)
	commitAll(t, r.dir)
	env := Env(t, srv)
	home := proc.Getenv(env, "HOME")
	const rules = "Answer briefly.\n"
	repo{t: t, dir: home}.write(".claude/CLAUDE.md", rules)
	e := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--counsel", "off", "--accept-assumptions",
		"--sandbox", "strict", "--report", "md=report.md").end()
	if none != nil {
		if e.exit != 5 || !strings.Contains(e.stderr, "there is no wall") {
			t.Errorf("exit %d without a wall\n%s", e.exit, e.stderr)
		}
		return
	}
	said, err := os.ReadFile(filepath.Join(r.dir, "report.md"))
	if e.exit != 0 || err != nil || !strings.Contains(string(said), "Wall: strict") {
		t.Fatalf("exit %d, %v\n%s\n%s\n%s", e.exit, err, said, e.stdout, e.stderr)
	}
	// The second attempt has the replies of the first, so the CLI wrote its session behind the wall; and it commits.
	if asked := srv.Messages(task("T-001")); len(asked) != 4 || asked[3].Turn() != 3 ||
		!slices.ContainsFunc(asked[3].ToolResults(), says("committed")) {
		last := asked[len(asked)-1]
		t.Errorf("%d requests; the last has %d replies before it and %v", len(asked), last.Turn(), last.ToolResults())
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside are %v, %v", left, err)
	}
	if now, err := os.ReadFile(filepath.Join(home, ".claude", "CLAUDE.md")); err != nil || string(now) != rules {
		t.Errorf("the user's rules for the CLI are %q, %v", now, err)
	}
	if got := gitIn(t, r.dir, "log", "--format=%s", "main", "--", "work.txt"); got == "" {
		t.Errorf("the agent's commit is not on main\n%s", e.stdout)
	}
}
