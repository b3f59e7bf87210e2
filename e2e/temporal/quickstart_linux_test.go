package temporal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/claude/statement"
	"wavex/internal/event"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/proc/proctest"
	"wavex/internal/runlog"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// quickStart returns the commands of the quick start in docs/workers.md, each with its machine.
func quickStart(t testing.TB) (machines, lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/workers.md")
	testrepo.Must(t, err)
	for line := range strings.Lines(string(text)) {
		if machine, line, is := strings.Cut(strings.TrimSpace(line), "$ "); is && len(machine) == 1 {
			machines, lines = append(machines, machine), append(lines, line)
		}
	}
	return machines, lines
}

// claudeCLI returns the path of the newest CLI that e2e tests. They install it.
func claudeCLI(t testing.TB) string {
	t.Helper()
	paths, err := filepath.Glob("../../.tools/claude/" + statement.Newest() +
		"/node_modules/@anthropic-ai/claude-code-*/claude")
	testrepo.Must(t, err)
	if len(paths) == 0 {
		t.Fatalf("claude %s is not installed; do it with: go test ./e2e -run TestStatements", statement.Newest())
	}
	path, err := filepath.Abs(paths[0])
	testrepo.Must(t, err)
	return path
}

// used is the usage of each answer.
var used = fakeapi.Usage{Input: 1_000, Output: 10, CacheRead: 10_000, CacheWrite: 400}

// reported is the last message of an agent.
func reported() fakeapi.Reply {
	return fakeapi.Text("All there.\n---LOOP_STATUS---\nEXIT_SIGNAL: true\nCRITERIA: {}\nSTUCK_COUNT: 0\nNEXT: none\n" +
		"---END_STATUS---").WithUsage(used)
}

// TestQuickStart does what docs/workers.md tells for two machines, with the real CLI on the worker, and none on the
// machine of the run. The first attempt fails, so the second continues its session there.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	server, err := serverProgram()
	testrepo.Must(t, err)
	wavex, err := os.Executable()
	testrepo.Must(t, err)
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	const hosts = "10.77.0.1 A host\n10.77.0.2 B\n"
	git := t.TempDir()
	a := newMachine(t, "A", hosts, "git:*:0:0::"+git+":/bin/sh\n")
	b := newMachine(t, "B", hosts, "")
	link(t, a, "10.77.0.1", b, "10.77.0.2")
	for _, m := range []*machine{a, b} {
		trust(t, m.dir+"/home", key)
		m.serveSSH(key)
		m.install("wavex", wavex)
	}
	trust(t, git, key)
	temporal := filepath.Join(t.TempDir(), "temporal")
	proctest.Script(t, temporal, "#!/bin/sh\nexec "+server+` "$@"`+"\n")
	a.install("temporal", temporal)
	b.install("claude", claudeCLI(t))
	api := fakeapi.NewOn(t, b.listen(), fakeapi.Script{Prices: fakeapi.Prices{
		"claude-sonnet-4-5": {Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}},
		Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("# Your task: greet\n"), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write("greeting", "good bye\n")).WithUsage(used), reported(),
			fakeapi.Use(fakeapi.Write("greeting", "hello\n")).WithUsage(used), reported(),
		}}}})
	b.env = append(b.env, "ANTHROPIC_BASE_URL="+api.URL(), "ANTHROPIC_API_KEY=anything", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_MAX_RETRIES=1")
	project := filepath.Join(a.dir, "home", "project")
	testrepo.Files{".gitignore": ".loop\nwavex.key\n", ".wavex.yaml": "counsel: \"off\"\nreview: \"off\"\n",
		"plan.yaml": `tasks:
  - id: greet
    subject: Greet
    files: [{path: greeting, action: create}]
    verify: [grep hello greeting]
defaults: {model: claude-sonnet-4-5}
budget: {usd: 4}
`}.Write(t, project)
	a.must("git init -q --bare " + git + "/team/project.git")
	a.cwd = "/root/project"
	a.must("git init -q && git add -A && git commit -qm first && git remote add origin git@host:team/project.git")

	machines, lines := quickStart(t)
	if got := strings.Join(machines, ""); got != "AABA" {
		t.Fatalf("docs/workers.md has lines of the machines %q", got)
	}
	var said string
	for i, line := range lines {
		m := map[string]*machine{"A": a, "B": b}[machines[i]]
		switch { // a person has a terminal for each of the first two
		case strings.HasPrefix(line, "temporal server "):
			m.start(line, "127.0.0.1:")
		case strings.HasPrefix(line, "wavex worker "):
			m.start(line, "takes attempts")
		default:
			said = m.must(line)
		}
	}
	verifyQuickStart(t, a, project, said, api)
}

// verifyQuickStart checks that machine a has everything of the run as if it had made the attempts.
func verifyQuickStart(t testing.TB, a *machine, project, said string, api *fakeapi.Server) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(project, "greeting")); string(text) != "hello\n" {
		t.Errorf("the greeting is %q, %v\n%s", text, err, said)
	}
	events, err := runlog.Read(loop.In(project))
	testrepo.Must(t, err)
	var attempts []string
	var session string
	var cost = api.Charged()
	for _, e := range events {
		switch body := e.Body.(type) {
		case event.AttemptStarted:
			attempts = append(attempts, fmt.Sprintf("start %d resume=%t", body.Attempt, body.Resume))
		case event.AttemptEnded:
			r := body.Result
			attempts = append(attempts, fmt.Sprintf("end %s on %s", r.Outcome, r.Worker))
			if cost -= r.Cost; session != "" && r.Session != session {
				t.Errorf("session %s after %s", r.Session, session)
			}
			session = r.Session
		}
	}
	want := fmt.Sprintf("start 1 resume=false, end %s on B, start 2 resume=true, end %s on B", runner.Wrong, runner.Done)
	if got := strings.Join(attempts, ", "); got != want || cost != 0 {
		t.Errorf("%s; %s of the charges are not on record\nwant %s\n%s", got, cost, want, said)
	}
	last := runlog.Last(events).Config
	for attempt := 1; attempt <= 2; attempt++ {
		for _, name := range []string{loop.PromptFile, loop.StreamFile, loop.ResultFile} {
			path := last.Loop.Task(last.Run, "greet", loop.Attempt(attempt), name)
			if info, err := os.Stat(strings.Replace(path, "/root/project", project, 1)); err != nil || info.Size() == 0 {
				t.Errorf("%s of attempt %d: %v", name, attempt, err)
			}
		}
	}
	for line, want := range map[string]string{"wavex logs greet": "All there.", "wavex logs greet | grep '^=='": " | on B",
		"wavex report --format json": `"worker": "B"`,
		"wavex status":               "complete",
		"wavex workers --workers temporal://A:7233/default --insecure --key-file wavex.key": statement.Newest()} {
		if out := a.must(line); !strings.Contains(out, want) {
			t.Errorf("%s: without %q\n%s", line, want, out)
		}
	}
}
