//go:build unix

package e2e

// This file tests the hooks and the plugin in the real CLI: which sessions are held, until when,
// which messages they get, and that other sessions are not affected.

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/jsonobject"
	"wavex/internal/testrepo"
)

// shop is a plan of three commands, of which the second kills wavex, once.
const shop = `-- plan.json --
{"name": "shop", "tasks": [
  {"id": "1", "subject": "Lay the floor", "command": "true"},
  {"id": "2", "subject": "Hang the door", "blockedBy": "1", "command": "test -e hung || { touch hung; kill -KILL $(cat wavex.pid); sleep 30; }"},
  {"id": "3", "subject": "Paint", "blockedBy": "2", "command": "touch painted"}
]}
`

// hookedRepo returns the shop with wavex's hooks in the project's settings.
func hookedRepo(t *testing.T) repo {
	t.Helper()
	r := newRepo(t, shop)
	r.tool("hook", "install")
	return r
}

// tool runs a wavex command that starts no CLI, which must succeed.
func (r repo) tool(args ...string) {
	r.t.Helper()
	cmd := exec.Command(shared.wavex, args...)
	cmd.Dir, cmd.Env = r.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("wavex %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (r repo) has(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

// withWavex returns an environment with wavex on PATH, as the plugin requires.
func withWavex(t *testing.T, srv *fakeapi.Server, more ...string) []string {
	t.Helper()
	return Env(t, srv, append(more, "PATH="+filepath.Dir(shared.wavex)+string(os.PathListSeparator)+os.Getenv("PATH"))...)
}

// cutOff returns the command of the session's tool: a run that is killed at its second task. The
// shell becomes wavex, so that its pid is known. The command ends when the guard of that wavex
// has swept, because the guard sweeps by the run's mark and would also sweep a resume's
// processes.
func cutOff() fakeapi.Reply {
	return fakeapi.Use(fakeapi.Bash(`bash -c 'echo $$ > wavex.pid; exec ` + shared.wavex +
		` run plan.json --agent rehearse --plain'
lines() { if [ -d /proc/self ]; then cat /proc/[0-9]*/cmdline; else ps -A -o args=; fi 2> /dev/null | tr '\0' ' '; }
run=$(ls .loop/runs); while lines | grep -q "[g]uard $run"; do sleep 0.05; done`))
}

// A session that started a run is held until the tasks are completed, then released. It gets the
// messages of a held session, and knows of the run when it starts.
func TestStopHookBlocks(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("Run the shop."),
		Steps: []fakeapi.Reply{
			cutOff(),
			fakeapi.Text("I started it."), // held
			fakeapi.Text("I really did."), // and held
			fakeapi.Use(fakeapi.Bash(shared.wavex + " resume --plain")),
			fakeapi.Text("All tasks are completed."), // released
		}}}})
	r := hookedRepo(t)
	e := call(t, srv, setup{stdin: "Run the shop.", dir: r.dir, env: withWavex(t, srv), args: []string{"--allowedTools",
		"Bash", "--session-id", session}})
	if got := e.result(t); e.exit != 0 || got.Result != "All tasks are completed." {
		t.Fatalf("exit %d, result %q\n%s", e.exit, got.Result, e.stderr)
	}
	asked := srv.Messages(nil)
	if !r.has("painted") {
		t.Errorf("the last task is not done: %+v", asked[len(asked)-1].ToolResults())
	}
	if len(asked) != 5 {
		t.Fatalf("%d requests, want 5", len(asked))
	}
	for n, want := range map[int]string{
		2: "Stop hook feedback:|## Loop Continue|**Pipeline**: shop|**Progress**: [1/3] completed|**Current task**: #2 Hang the door|## Task Content|**Execution requirements**:|wavex resume",
		3: "Stop hook feedback:|[1/3] completed",
	} {
		for part := range strings.SplitSeq(want, "|") {
			if !strings.Contains(asked[n].LastUser(), part) {
				t.Errorf("request %d lacks %q: %s", n+1, part, asked[n].LastUser())
			}
		}
	}
	owner := jsonobject.Value(read(t, r, ".loop/hook.json")).Get("owner").String()
	if owner != session {
		t.Errorf("the run belongs to session %q", owner)
	}

	t.Run("complete, it is nobody's", func(t *testing.T) {
		srv := serve(t, fakeapi.Text("hello"))
		e := call(t, srv, setup{stdin: "Hello.", dir: r.dir, env: withWavex(t, srv)})
		if e.exit != 0 || strings.Contains(srv.Messages(nil)[0].Users(), "LOOP RESUME") {
			t.Errorf("exit %d, told %s", e.exit, srv.Messages(nil)[0].Users())
		}
	})
}

// A session that keeps stopping is released. Another one in the same folder gets a message about
// the run, and is never held.
func TestStopHookAllowsStop(t *testing.T) {
	t.Parallel()
	r := hookedRepo(t)
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("Run the shop."),
		Steps: []fakeapi.Reply{
			cutOff(), fakeapi.Text("no").Times(4), // once, and three times with a hook that holds it already
		}}}})
	e := call(t, srv, setup{stdin: "Run the shop.", dir: r.dir, env: withWavex(t, srv),
		args: []string{"--allowedTools", "Bash"}})
	if e.exit != 0 || len(srv.Messages(nil)) != 5 {
		t.Fatalf("exit %d after %d requests", e.exit, len(srv.Messages(nil)))
	}

	other := serve(t, fakeapi.Text("Nothing to do with me."))
	e = call(t, other, setup{stdin: "What is the weather?", dir: r.dir, env: withWavex(t, other)})
	if e.exit != 0 || len(other.Messages(nil)) != 1 {
		t.Fatalf("exit %d after %d requests", e.exit, len(other.Messages(nil)))
	}
	told := other.Messages(nil)[0].Users()
	for _, part := range []string{"[LOOP RESUME] Active loop detected", "Progress: 1/3 tasks", "Next: ", "wavex resume"} {
		if !strings.Contains(told, part) {
			t.Errorf("the session is not told %q: %.2000s", part, told)
		}
	}
}

// A child of wavex is released, with the same hooks in its project, even if its id is that of the
// session that owns the run. It gets no messages.
func TestStopHookIgnoresChildren(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("Your task: 1"),
		Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write("floor", "laid\n")),
			// From here on the run belongs to the session that runs this command.
			fakeapi.Use(fakeapi.Bash(`sed -i "s/\"owner\": \"[^\"]*\"/\"owner\": \"$CLAUDE_CODE_SESSION_ID\"/" ` +
				`.loop/hook.json; grep -q "$CLAUDE_CODE_SESSION_ID" .loop/hook.json && echo it is mine`)),
			fakeapi.Text("Laid."),
		}}}})
	r := newRepo(t, `-- plan.json --
{"name": "shop", "defaults": {"model": "`+model+
		`"}, "tasks": [{"id": "1", "subject": "Lay the floor", "allowedTools": ["Bash"], "verify": ["test -e floor"]}]}
`)
	r.tool("hook", "install")
	e := r.wavexEnv(withWavex(t, srv, "CLAUDE_CODE_SESSION_ID=somebody"), "run", "plan.json", "--output", "json",
		"--counsel", "off", "--sandbox", "off").end()
	if e.exit != 0 {
		t.Fatalf("exit %d\n%s\n%s", e.exit, e.stderr, e.stdout)
	}
	first := srv.Messages(nil)[0]
	if strings.Contains(first.Users(), "LOOP RESUME") {
		t.Error("the child was told of the run it is part of")
	}
	asked := srv.Messages(nil)
	if got := asked[2].ToolResults(); len(got) == 0 || !strings.Contains(got[len(got)-1].Text, "it is mine") {
		t.Fatalf("the run was not made the child's: %+v", got)
	}
}

// A session that does the tasks of a task list itself is held until it has completed them.
func TestStopHookBlocksForTaskList(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("Plan the shop."),
		Steps: []fakeapi.Reply{
			fakeapi.Use(taskCreate("Lay the floor", "Oak."), taskCreate("Paint", "White.")),
			change("1", "status", "completed"),
			fakeapi.Text("Half of it is enough."), // held
			change("2", "status", "completed"),
			fakeapi.Text("All of it."), // released
		}}}})
	r := hookedRepo(t)
	e := call(t, srv, setup{stdin: "Plan the shop.", dir: r.dir, env: withWavex(t, srv, "CLAUDE_CODE_TASK_LIST_ID=shop")})
	if got := e.result(t); e.exit != 0 || got.Result != "All of it." {
		t.Fatalf("exit %d, result %q\n%s", e.exit, got.Result, e.stderr)
	}
	told := srv.Messages(nil)[3].LastUser()
	for _, part := range []string{"**Progress**: [1/2] completed", "pending tasks: Paint", "**Current task**: #2 Paint",
		"White.", "TaskUpdate"} {
		if !strings.Contains(told, part) {
			t.Errorf("the session is not told %q: %s", part, told)
		}
	}
}

// read reads a file of the project.
func read(t *testing.T, r repo, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	testrepo.Must(t, err)
	return b
}

// The plugin loads, its commands reach the model with their arguments, and its hooks hold a
// session like those of the settings.
func TestPlugin(t *testing.T) {
	t.Parallel()
	plugin, err := filepath.Abs("../plugin")
	testrepo.Must(t, err)
	r := newRepo(t, shop)
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{When: fakeapi.Prompt(
		"Run a plan with wavex: plan.json --budget 3"), Steps: []fakeapi.Reply{
		cutOff(),
		fakeapi.Text("Started."),
		fakeapi.Use(fakeapi.Bash(shared.wavex + " resume --plain")),
		fakeapi.Text("Done."),
	}}}})
	e := call(t, srv, setup{stdin: "/wavex:run plan.json --budget 3", dir: r.dir, env: withWavex(t, srv),
		args: []string{"--plugin-dir", plugin, "--allowedTools", "Bash"}})
	asked := srv.Messages(nil)
	if got := e.result(t); e.exit != 0 || got.Result != "Done." || !r.has("painted") {
		t.Fatalf("exit %d, result %q\n%s\n%+v", e.exit, got.Result, e.stderr, asked[len(asked)-1].ToolResults())
	}
	if len(asked) != 4 || !strings.Contains(asked[2].LastUser(), "## Loop Continue") {
		t.Fatalf("%d requests", len(asked))
	}
	var init struct {
		Commands []string `json:"slash_commands"`
	}
	for _, l := range e.of("system", "init") {
		testrepo.Must(t, json.Unmarshal(l.raw, &init))
	}
	for _, name := range []string{"run", "status", "plan", "resume", "cancel"} {
		if !strings.Contains(strings.Join(init.Commands, " ")+" ", "wavex:"+name+" ") {
			t.Errorf("there is no /wavex:%s among %v", name, init.Commands)
		}
	}
}

// The manifests have the form that the CLI requires, and the checkout is a marketplace.
func TestPluginInstalls(t *testing.T) {
	t.Parallel()
	release := reserveProcesses(t, 1)
	defer release()
	top, err := filepath.Abs("..")
	testrepo.Must(t, err)
	env := Env(t, serve(t))
	for _, c := range []struct{ args, says string }{
		{"validate plugin", "passed"}, {"validate .", "passed"}, {"marketplace add " + top, "added"},
		{"install wavex@wavex", "installed"}, {"list", "enabled"},
	} {
		cmd := exec.CommandContext(t.Context(), shared.cli.path, append([]string{"plugin"}, strings.Fields(c.args)...)...)
		cmd.Dir, cmd.Env = top, env
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.says) {
			t.Errorf("claude plugin %s: %v\n%s", c.args, err, out)
		}
	}
}
