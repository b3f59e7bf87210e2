package temporal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
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
	paths, err := filepath.Glob("../../../.tools/claude/" + statement.Newest() +
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

// installTemporal installs the development server, under the name of the temporal CLI.
func (m *machine) installTemporal() {
	m.t.Helper()
	server, err := serverProgram()
	testrepo.Must(m.t, err)
	proctest.Script(m.t, filepath.Join(m.dir, "bin", "temporal"), "#!/bin/sh\nexec "+server+` "$@"`+"\n")
}

// installClaude installs the CLI, whose model answers as the script for the task greet says.
func (m *machine) installClaude(steps ...fakeapi.Reply) *fakeapi.Server {
	m.t.Helper()
	m.install("claude", claudeCLI(m.t))
	api := fakeapi.NewOn(m.t, m.listen(), fakeapi.Script{Prices: fakeapi.Prices{
		"claude-sonnet-4-5": {Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}},
		Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("# Your task: greet\n"), Steps: steps}}})
	m.env = append(m.env, "ANTHROPIC_BASE_URL="+api.URL(), "ANTHROPIC_API_KEY=anything", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_MAX_RETRIES=1")
	return api
}

// newProject makes a project in /root/project, where further commands begin, and its git remote: a bare repository in a
// directory of this machine. It returns the directory of the project outside of the machine.
func (m *machine) newProject(remote, bare string) (project string) {
	m.t.Helper()
	project = filepath.Join(m.dir, "home", "project")
	testrepo.Files{".gitignore": ".loop\nwavex.key\n", ".wavex.yaml": "counsel: \"off\"\nreview: \"off\"\n",
		"plan.yaml": `tasks:
  - id: greet
    subject: Greet
    files: [{path: greeting, action: create}]
    verify: [grep hello greeting]
defaults: {model: claude-sonnet-4-5}
budget: {usd: 4}
`}.Write(m.t, project)
	m.must("git init -q --bare " + bare)
	m.cwd = "/root/project"
	m.must("git init -q && git add -A && git commit -qm first && git remote add origin " + remote)
	return project
}

// TestQuickStart does what docs/workers.md tells for two machines, with the real CLI on the worker, and none on the
// machine of the run. The first attempt fails, so the second continues its session there.
func TestQuickStart(t *testing.T) {
	t.Parallel()
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
	}
	trust(t, git, key)
	a.installTemporal()
	api := b.installClaude(fakeapi.Use(fakeapi.Write("greeting", "good bye\n")).WithUsage(used), reported(),
		fakeapi.Use(fakeapi.Write("greeting", "hello\n")).WithUsage(used), reported())
	project := a.newProject("git@host:team/project.git", git+"/team/project.git")

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

// attemptsOf returns the attempts on record with their workers, their sessions without repetitions, and their cost.
func attemptsOf(events []event.Event) (attempts string, sessions []string, cost budget.USD) {
	resumes := ""
	for _, e := range events {
		switch body := e.Body.(type) {
		case event.AttemptStarted:
			if resumes = ""; body.Resume {
				resumes = " resumes"
			}
		case event.AttemptEnded:
			attempts += fmt.Sprintf(", %d%s: %s on %s", body.Attempt, resumes, body.Result.Outcome, body.Result.Worker)
			sessions, cost = append(sessions, body.Result.Session), cost+body.Result.Cost
		}
	}
	return strings.TrimPrefix(attempts, ", "), slices.Compact(sessions), cost
}

// verifyQuickStart checks that machine a has everything of the run as if it had made the attempts.
func verifyQuickStart(t testing.TB, a *machine, project, said string, api *fakeapi.Server) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(project, "greeting")); string(text) != "hello\n" {
		t.Errorf("the greeting is %q, %v\n%s", text, err, said)
	}
	events, err := runlog.Read(loop.In(project))
	testrepo.Must(t, err)
	got, sessions, cost := attemptsOf(events)
	want := fmt.Sprintf("1: %s on B, 2 resumes: %s on B", runner.Wrong, runner.Done)
	if got != want || cost != api.Charged() || len(sessions) != 1 {
		t.Errorf("%s; sessions %q; cost %s of %s\nwant %s\n%s", got, sessions, cost, api.Charged(), want, said)
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

// TestSessionMovesWithTheCLI: if the worker that has the session of a task is gone, another one begins a session with
// the whole prompt, and with the files of the first.
func TestSessionMovesWithTheCLI(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "C", "", "")
	m.installTemporal()
	ready := fakeapi.NewLatch()
	api := m.installClaude(fakeapi.Use(fakeapi.Write("greeting", "good bye\n")).WithUsage(used),
		reported().WaitingFor(ready), fakeapi.Use(fakeapi.Read("greeting")).WithUsage(used),
		fakeapi.Use(fakeapi.Edit("greeting", "good bye", "hello")).WithUsage(used), reported())
	bare := filepath.Join(m.dir, "project.git")
	project := m.newProject(bare, bare)
	m.start("temporal server start-dev --ip 127.0.0.1", "127.0.0.1:")
	worker := "wavex worker --connect 127.0.0.1:7233 --allow-repo " + bare + " --dir /root/"
	m.start(worker+"w1 --name w1 --once 1", "takes attempts")
	type end struct {
		said string
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		said, err := m.run("wavex run plan.yaml --workers temporal://127.0.0.1:7233/default --queue-wait 30s")
		ended <- end{said, err}
	}()
	_, err := api.Wait(t.Context(), fakeapi.Prompt("# Your task: greet\n"))
	testrepo.Must(t, err)
	m.start(worker+"w2 --name w2", "takes attempts")
	ready.Open()
	run := <-ended
	if run.err != nil {
		logs, _ := m.run("wavex logs greet --attempt 2")
		t.Fatalf("%s%v\n%s", run.said, run.err, logs)
	}
	events, err := runlog.Read(loop.In(project))
	testrepo.Must(t, err)
	got, sessions, cost := attemptsOf(events)
	want := fmt.Sprintf("1: %s on w1, 2 resumes: %s on w2", runner.Wrong, runner.Done)
	if got != want || cost != api.Charged() || len(sessions) != 2 {
		t.Errorf("%s; sessions %q; cost %s of %s\nwant %s\n%s", got, sessions, cost, api.Charged(), want, run.said)
	}
	if text, err := os.ReadFile(filepath.Join(project, "greeting")); string(text) != "hello\n" {
		t.Errorf("the greeting is %q, %v", text, err)
	}
}
