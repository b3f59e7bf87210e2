package wall

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/runner"
)

// files writes files below a directory, by their slash-separated names.
func files(t *testing.T, dir string, list map[string]string) {
	t.Helper()
	for name, text := range list {
		at := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(text), 0o600))
	}
}

// prepare runs a command outside of the wall, and returns its output.
func prepare(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// short returns a new directory with a short path: that of a socket has 107 bytes at most.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "w")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// Programs that use caches, compilers, daemons' sockets and the network work in a project behind the wall as without
// it: with an ssh-agent, a gpg-agent, an SSH server and a server of Docker's API that run outside. The user's files
// are closed as by the automatic wall. TestOrdinaryWorkBehindWall has those of an agent.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, tool := range []struct {
		name  string
		needs []string
		setup func(t *testing.T, dir string) // outside of the wall
		run   string
		want  string
	}{
		{"go", []string{"go"}, goSetup, `go vet ./... && go test ./... | cut -f1 && go mod vendor && ls vendor`,
			"ok  \nexample.com\nmodules.txt"},
		{"gofmt", []string{"gofmt"}, goSetup, `gofmt -l . && gofmt -w a.go && gofmt -l .`, "a.go"},
		{"node", []string{"node"}, nodeSetup, `node --test 2>&1 | grep -o 'pass 1'`, "pass 1"},
		{"npm", []string{"npm"}, nodeSetup, `npm install -s --offline --no-audit --no-fund ./dep &&
			npm run -s says && npx --offline tool`, "required\ntool"},
		{"unittest", []string{"python3"}, pythonSetup, `python3 -m unittest 2>&1 | tail -1`, "OK"},
		{"venv", []string{"python3"}, nil, `python3 -m venv --without-pip env && env/bin/python -c 'print("own")'`, "own"},
		{"sqlite", []string{"python3"}, nil, `python3 -c 'import sqlite3; c = sqlite3.connect("d.db"); x = c.execute
x("create table t (x)"); x("insert into t values (7)"); c.commit(); print(x("select x from t").fetchone()[0])'`, "7"},
		{"pip", []string{"python3", "pip3"}, pipSetup, `export PIP_ROOT_USER_ACTION=ignore
			python3 -m pip install -q --no-index --target lib ./dep-1.0-py3-none-any.whl &&
			PYTHONPATH=lib python3 -c 'import dep; print(dep.text)'`, "imported"},
		{"cargo", []string{"cargo", "cc"}, cargoSetup, `cargo build -q --offline && target/debug/main`, "linked"},
		{"cargo test", []string{"cargo", "cc"}, cargoSetup, `cargo test -q --offline 2>&1 | grep -o '1 passed'`, "1 passed"},
		{"make", []string{"make", "cc"}, makeSetup, `make -s -j2 && ./prog && make -s clean && ls *.c`, "compiled\nmain.c"},
		{"branches", []string{"git"}, nil, `git commit -qm one && git checkout -qb side && echo s >s && git add s &&
			git commit -qm two && git checkout -q - && echo m >m && git add m && git commit -qm three &&
			git rebase -q HEAD side && git checkout -q - && git merge -q side && git tag v1 &&
			git log --format=%s`, "two\nthree\none"},
		{"stash", []string{"git"}, nil, `git commit -qm one && echo x >src/a && git stash -q && cat src/a &&
			git stash pop -q && cat src/a`,
			"other\nx"},
		{"worktree", []string{"git"}, nil, `git commit -qm one && git worktree add -q other && cat other/src/a &&
			git worktree remove other && git gc -q && git status --short --untracked-files=no`, "other"},
		{"bisect", []string{"git"}, nil, `for i in 1 2 3 4; do echo $i >n; git add n; git commit -qm $i; done
			git bisect start HEAD HEAD~3 >out && git bisect run sh -c '[ $(cat n) -lt 3 ]' >out &&
			git log -1 --format=%s bisect/bad`,
			"3"},
		{"gpg", []string{"git", "gpg"}, gpgSetup, `export GNUPGHOME=$(cat gnupg) && git commit -q -S -m signed &&
			git verify-commit --raw HEAD 2>&1 | grep -o GOODSIG`, "GOODSIG"},
		{"ssh", []string{"git", "ssh", "ssh-agent", "/usr/sbin/sshd"}, sshSetup, `git commit -qm work && . ./env &&
			git push -q "$REMOTE" HEAD:refs/heads/main && git ls-remote --heads "$REMOTE" | cut -f2`, "refs/heads/main"},
		{"docker", []string{"docker"}, dockerSetup,
			`docker -H "unix://$(cat docker)/s" version --format '{{.Server.Version}}' &&
			docker -H "unix://$(cat docker)/s" ps -q`, "26.0.0\n0123456789ab"},
		{"docker build", []string{"docker"}, dockerSetup, `echo FROM scratch >Dockerfile
			DOCKER_BUILDKIT=0 docker -H "unix://$(cat docker)/s" build --network none . 2>/dev/null | tail -1`, "built"},
		{"shell", []string{"flock", "mkfifo"}, nil, `t=$(mktemp -d) && mkfifo $t/p &&
			{ (flock 9; echo through >$t/p) 9>$t/l & } && cat $t/p && wait && rm -r $t && kill -0 $PPID &&
			(trap 'echo trapped' TERM; sh -c 'kill $PPID'; :)`, "through\ntrapped"},
	} {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range tool.needs {
				if _, err := exec.LookPath(name); err != nil {
					t.Skip(err)
				}
			}
			for _, walled := range []bool{true, false} {
				dir, _ := project(t)
				prepare(t, dir, `git init -q . && git config user.name a && git config user.email a@example.com && git add src`)
				if tool.setup != nil {
					tool.setup(t, dir)
				}
				var wrapper []string
				if walled {
					wrapper = wall0.With(nil, runner.UserPaths(os.Environ(), dir)).Wrapper(
						[]string{dir + "/prot", dir + "/.git/hooks", dir + "/.git/config"}, "")
				}
				if said := sh(t, wrapper, dir, tool.run); strings.TrimSpace(said) != tool.want {
					t.Errorf("walled %v: %q, want %q", walled, said, tool.want)
				}
			}
		})
	}
}

// goSetup makes a module with another one, and a file that gofmt changes.
func goSetup(t *testing.T, dir string) {
	files(t, dir, map[string]string{
		"go.mod": "module m\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n\nreplace example.com/dep => ./dep\n",
		"a.go":   "package m\nimport \"example.com/dep\"\n\nfunc Text() string { return dep.Text }\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestText(t *testing.T) {\n\tif Text() != \"x\" {\n" +
			"\t\tt.Fail()\n\t}\n}\n",
		"dep/go.mod": "module example.com/dep\n\ngo 1.24\n",
		"dep/dep.go": "package dep\n\nconst Text = \"x\"\n",
	})
}

// nodeSetup makes a package with a test, a script, and a dependency with a program.
func nodeSetup(t *testing.T, dir string) {
	files(t, dir, map[string]string{
		"package.json":     `{"name": "m", "scripts": {"says": "node -e 'console.log(require(\"dep\"))'"}}`,
		"a.test.js":        `require("node:test")("t", () => {})`,
		"dep/package.json": `{"name": "dep", "version": "1.0.0", "bin": {"tool": "tool.js"}}`,
		"dep/index.js":     `module.exports = "required"`,
		"dep/tool.js":      "#!/usr/bin/env node\nconsole.log(\"tool\")\n",
	})
}

// pythonSetup makes a test.
func pythonSetup(t *testing.T, dir string) {
	files(t, dir, map[string]string{"test_a.py": "import unittest\n\nclass A(unittest.TestCase):\n" +
		"    def test_a(self):\n        self.assertEqual(1, 1)\n"})
}

// makeSetup makes a program of C.
func makeSetup(t *testing.T, dir string) {
	files(t, dir, map[string]string{"Makefile": "prog: main.o\n\tcc -o prog main.o\nclean:\n\trm prog main.o\n",
		"main.c": "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n"})
}

// pipSetup makes a wheel.
func pipSetup(t *testing.T, dir string) {
	f, err := os.Create(filepath.Join(dir, "dep-1.0-py3-none-any.whl"))
	must(t, err)
	z := zip.NewWriter(f)
	for name, text := range map[string]string{
		"dep.py":                     "text = 'imported'\n",
		"dep-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"dep-1.0.dist-info/RECORD":   "dep.py,,\ndep-1.0.dist-info/WHEEL,,\ndep-1.0.dist-info/METADATA,,\n",
		"dep-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: dep\nVersion: 1.0\n",
	} {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	must(t, z.Close())
	must(t, f.Close())
}

// cargoSetup makes a program with a library.
func cargoSetup(t *testing.T, dir string) {
	files(t, dir, map[string]string{
		"Cargo.toml": "[package]\nname = \"main\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\n" +
			"dep = { path = \"dep\" }\n",
		"src/main.rs":    "fn main() { println!(\"{}\", dep::text()); }\n",
		"dep/Cargo.toml": "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
		"dep/src/lib.rs": "pub fn text() -> &'static str { \"linked\" }\n",
		"tests/main.rs":  "#[test]\nfn linked() { assert_eq!(dep::text(), \"linked\"); }\n",
	})
}

// gpgSetup starts an agent outside of the wall, and makes a key in it. The agent is the child of a program that runs
// until the test ends: one that gpg starts would be an orphan, and the end of a command of another test would end it.
func gpgSetup(t *testing.T, dir string) {
	home := short(t)
	files(t, dir, map[string]string{"gnupg": home})
	serve(t, []string{"gpg-agent", "--homedir", home, "--daemon", "/bin/sh", "-c",
		"echo >" + home + "/ready; exec sleep infinity"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if !rig.Until(ctx, func() bool { _, err := os.Lstat(home + "/ready"); return err == nil }) {
		t.Fatal("no gpg-agent")
	}
	prepare(t, home, `gpg --homedir . --no-autostart -q --batch --passphrase '' \
		--quick-gen-key 'a <a@example.com>' ed25519 sign never`)
	t.Cleanup(func() { must(t, exec.Command("gpgconf", "--homedir", home, "--kill", "gpg-agent").Run()) })
}

// sshSetup starts an SSH server for a bare repository, and an agent with the key for it.
func sshSetup(t *testing.T, dir string) {
	home := short(t)
	if os.Getuid() == 0 {
		must(t, os.MkdirAll("/run/sshd", 0o755)) // its home; the init system makes it elsewhere
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	must(t, l.Close())
	prepare(t, home, `ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key &&
		cp key.pub allowed && git init -q --bare -b main r.git && echo "[127.0.0.1]:`+fmt.Sprint(port)+` $(cat host.pub)" > hosts`)
	files(t, home, map[string]string{"config": fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\n"+
		"AuthorizedKeysFile %s/allowed\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\n",
		port, home, home)})
	files(t, dir, map[string]string{"env": fmt.Sprintf("REMOTE=ssh://127.0.0.1:%d%s/r.git\nexport SSH_AUTH_SOCK=%s/agent "+
		"GIT_SSH_COMMAND='ssh -F none -o BatchMode=yes -o UserKnownHostsFile=%s/hosts'\n", port, home, home, home)})
	for _, argv := range [][]string{{"/usr/sbin/sshd", "-D", "-e", "-f", home + "/config"},
		{"ssh-agent", "-D", "-a", home + "/agent"}} {
		serve(t, argv)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var said []byte
	if !rig.Until(ctx, func() bool {
		cmd := exec.CommandContext(ctx, "ssh-add", "-q", home+"/key")
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+home+"/agent")
		said, err = cmd.CombinedOutput()
		c, refused := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if refused == nil {
			_ = c.Close()
		}
		return err == nil && refused == nil
	}) {
		t.Fatalf("no server or no agent: %v: %s", err, said)
	}
}

// serve runs a program until the test ends.
func serve(t *testing.T, argv []string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// dockerSetup serves a part of Docker's API.
func dockerSetup(t *testing.T, dir string) {
	home := short(t)
	files(t, dir, map[string]string{"docker": home})
	l, err := net.Listen("unix", home+"/s")
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		var answer any = map[string]any{"Version": "26.0.0", "ApiVersion": "1.45", "MinAPIVersion": "1.24", "Os": "linux"}
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			answer = []any{map[string]any{"Id": "0123456789abcdef", "Names": []string{"/c"}, "State": "running"}}
		}
		if strings.HasSuffix(r.URL.Path, "/build") {
			_, _ = io.Copy(io.Discard, r.Body) // the project
			answer = map[string]any{"stream": "built\n"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // a client that went away
	}), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
}
