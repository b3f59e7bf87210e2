//go:build unix

package e2e

// This file tests claude.Agent against the real CLI: one attempt for each possible ending, its
// cost, and its leftovers.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/fakeapi"
	"wavex/internal/jsonobject"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// fixture is the fixture of an attempt: an agent, and a request to vary.
type fixture struct {
	agent *claude.Agent
	env   []string // of wavex, for the agent
	req   runner.Request
}

// attempt makes the attempt of the request.
func (b *fixture) attempt(ctx context.Context) runner.Result {
	b.agent.Env = proc.Inherit(b.env, nil)
	return (&runner.Local{Host: b.agent.Host, Agent: b.agent}).Attempt(ctx, b.req, runner.Hooks{})
}

func newFixture(t *testing.T, srv *fakeapi.Server) *fixture {
	t.Helper()
	return newFixtureOn(t, shared.cli, srv)
}

func newFixtureOn(t *testing.T, c cli, srv *fakeapi.Server) *fixture {
	t.Helper()
	prices, err := budget.LoadPrices(nil)
	testrepo.Must(t, err)
	run := "e2e-" + uuid.NewString()
	logs := t.TempDir()
	return &fixture{
		agent: &claude.Agent{Name: "claude", Argv: []string{c.path}, Prices: prices},
		env:   Env(t, srv, proc.RunVar+"="+run),
		req: runner.Request{Run: run, Task: "T-001", Attempt: 1, Dir: t.TempDir(), LogDir: logs,
			Baseline: filepath.Join(logs, "base.json"), Prompt: "# Your task: T-001\nDo it.", Session: uuid.NewString(),
			Settings: plan.Settings{Model: model, Timeout: testLimit}},
	}
}

func has(path, text string) plan.Check { return plan.Check{File: path, Contains: text} }

func TestAttempts(t *testing.T) {
	t.Parallel()
	write := fakeapi.Use(fakeapi.Write("a.txt", "one\n")).WithUsage(use)
	said := fakeapi.Text("It is done.").WithUsage(use)
	reset := time.Now().Add(time.Hour).Truncate(time.Second)
	twice := func(r fakeapi.Reply) []fakeapi.Reply { return []fakeapi.Reply{r.Times(2)} } // MAX_RETRIES=1
	kill := func(signal string) fakeapi.Reply {
		return fakeapi.Use(fakeapi.Bash("kill -" + signal + " $PPID; sleep 20")).WithUsage(use)
	}
	for _, c := range []struct {
		name  string
		steps []fakeapi.Reply
		set   func(*fixture)
		want  runner.Outcome
		says  string // part of Reason
		free  bool   // nothing was charged, so any Priced is right
		ends  string // exit code, and of the result subtype, is_error, api_error_status; number of api_retry lines
		look  func(*testing.T, *fixture, runner.Result)
	}{
		{name: "done", steps: []fakeapi.Reply{write, said}, want: runner.Done,
			set: func(b *fixture) {
				b.req.Files = []plan.File{{Path: "a.txt", Action: "create"}}
				b.req.Checks = []plan.Check{has("a.txt", "one"), {Run: "grep -q one a.txt"}}
			},
			look: func(t *testing.T, b *fixture, r runner.Result) {
				if !slices.Equal(r.Changed, []string{"a.txt"}) || r.Session != b.req.Session || r.ClaudeVersion == "" ||
					r.Vacuous || len(r.Checks) != 2 || r.Report != "It is done." || r.Priced != "result" || r.Usage.Input == 0 {
					t.Errorf("%+v", r)
				}
			}},
		{name: "a failing check", steps: []fakeapi.Reply{write, said}, want: runner.Wrong,
			set: func(b *fixture) { b.req.Checks = []plan.Check{{Run: "echo because of this; exit 3"}} },
			look: func(t *testing.T, _ *fixture, r runner.Result) {
				if !strings.Contains(r.Detail, "because of this") || r.Checks[0].ExitCode != 3 || r.Signature == "" {
					t.Errorf("%+v", r)
				}
			}},
		{name: "the agent reports failure", steps: []fakeapi.Reply{report("false")}, want: runner.Wrong},
		{name: "max turns", ends: "1 error_max_turns true 0 0", steps: []fakeapi.Reply{write}, want: runner.OverTurns,
			set: func(b *fixture) { b.req.Settings.MaxTurns = 1 }},
		{name: "the cap", steps: []fakeapi.Reply{write, fakeapi.Use(fakeapi.Bash("pwd")).WithUsage(use)},
			want: runner.OverCap,
			set:  func(b *fixture) { b.req.Cap = 10_000 }},
		{name: "denied and not done", steps: []fakeapi.Reply{fakeapi.Use(fakeapi.Bash("make all")).WithUsage(use), said},
			want: runner.Denied, says: "Bash(make all)",
			set: func(b *fixture) { b.req.Checks = []plan.Check{has("a.txt", "one")} },
			look: func(t *testing.T, _ *fixture, r runner.Result) {
				denied := runner.Denial{Tool: "Bash", Rule: "Bash(make all)", Kind: runner.CommandTool}
				if !slices.Equal(r.Denials, []runner.Denial{denied}) {
					t.Errorf("denials %v", r.Denials)
				}
			}},
		{name: "denied and done all the same", steps: []fakeapi.Reply{fakeapi.Use(fakeapi.Bash("make all")).WithUsage(use),
			write, said},
			want: runner.Done, set: func(b *fixture) { b.req.Checks = []plan.Check{has("a.txt", "one")} }},
		{name: "401", ends: "1 success true 401 1",
			steps: twice(fakeapi.Fail(401, "invalid x-api-key")), want: runner.Unauthorised, free: true},
		{name: "403", ends: "1 success true 403 0",
			steps: []fakeapi.Reply{fakeapi.Fail(403, "no")}, want: runner.Unauthorised, free: true},
		{name: "out of credit", ends: "1 success true 400 0", want: runner.Unauthorised, free: true,
			steps: []fakeapi.Reply{fakeapi.Fail(400, "Your credit balance is too low to access the Anthropic API.")}},
		{name: "429", ends: "1 success true 429 1",
			steps: twice(fakeapi.Fail(429, "slow down")), want: runner.Throttled, free: true},
		{name: "500", ends: "1 success true 500 1",
			steps: twice(fakeapi.Fail(500, "oops")), want: runner.Throttled, free: true},
		{name: "529", ends: "1 success true 529 1",
			steps: twice(fakeapi.Fail(529, "overloaded")), want: runner.Throttled, free: true},
		{name: "a network that breaks", steps: []fakeapi.Reply{{Cut: true, Count: 2}}, want: runner.Throttled, free: true},
		{name: "a usage limit", ends: "1 success true 429 0", steps: []fakeapi.Reply{usageLimit("five_hour", reset)},
			want: runner.Limited, free: true,
			set: subscribe,
			look: func(t *testing.T, _ *fixture, r runner.Result) {
				if !r.ResetsAt.Equal(reset) || !r.Notional {
					t.Errorf("resets at %v, notional %v; want %v", r.ResetsAt, r.Notional, reset)
				}
			}},
		{name: "no such CLI", want: runner.Broken, free: true,
			set: func(b *fixture) { b.agent.Argv = []string{filepath.Join(b.req.Dir, "nowhere")} }},
		{name: "a flag that is refused", want: runner.Broken, free: true,
			set: func(b *fixture) { b.agent.Argv = append(b.agent.Argv, "--no-such-flag") }},
		{name: "killed by somebody", steps: []fakeapi.Reply{kill("KILL")}, want: runner.Truncated, set: allowBash,
			look: func(t *testing.T, _ *fixture, r runner.Result) {
				if r.Priced != "stream" || r.ExitCode == 0 {
					t.Errorf("priced %q, exit %d", r.Priced, r.ExitCode)
				}
			}},
		{name: "terminated by somebody", steps: []fakeapi.Reply{kill("TERM")}, want: runner.Truncated, set: allowBash},
		{name: "wall clock", steps: []fakeapi.Reply{write, said.WaitingFor(fakeapi.NewLatch())}, want: runner.TimedOut,
			set: func(b *fixture) { b.req.Settings.Timeout = time.Minute }},
		{name: "no sign of life", steps: []fakeapi.Reply{write, said.WaitingFor(fakeapi.NewLatch())}, want: runner.Stalled,
			set: func(b *fixture) { b.req.Settings.IdleTimeout = time.Minute }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, c.steps...)
			b := newFixture(t, srv)
			if c.set != nil {
				c.set(b)
			}
			reserveProcesses(t, 1)
			r := b.attempt(t.Context())
			if r.Outcome != c.want || !strings.Contains(r.Reason, c.says) || (r.Reason == "") != (c.want == runner.Done) {
				t.Errorf("outcome %s (%s), want %s %q\n%s", r.Outcome, r.Reason, c.want, c.says, logs(b))
			}
			if got := srv.Charged(); r.Cost != got && r.Priced == "result" || c.free && r.Cost != 0 {
				t.Errorf("cost %d (priced by %q), the API charged %d", r.Cost, r.Priced, got)
			}
			if !r.Contained {
				t.Error("something of the attempt was still alive")
			}
			if got := endOf(t, b, r); c.ends != "" && got != c.ends {
				t.Errorf("the CLI ended with %s, want %s", got, c.ends)
			}
			if c.look != nil {
				c.look(t, b, r)
			}
		})
	}
}

// endOf returns the end of the CLI as ends of a case of TestAttempts.
func endOf(t *testing.T, b *fixture, r runner.Result) string {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join(b.req.LogDir, loop.StreamFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	end, retries := "", 0
	for l := range strings.Lines(string(stream)) {
		line := jsonobject.Value(l)
		switch {
		case line.Get("type").Text() == "result":
			end = fmt.Sprint(r.ExitCode, " ", line.Get("subtype").Text(), " ", line.Get("is_error").Bool(), " ",
				line.Get("api_error_status").Int())
		case line.Get("subtype").Text() == "api_retry":
			retries++
		}
	}
	return fmt.Sprint(end, " ", retries)
}

// logs returns the files in the attempt's log folder, shortened.
func logs(b *fixture) string {
	var s strings.Builder
	files, _ := filepath.Glob(filepath.Join(b.req.LogDir, "*"))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		s.WriteString(filepath.Base(f) + ": " + string(data[max(0, len(data)-1500):]) + "\n")
	}
	return s.String()
}

func subscribe(b *fixture) {
	b.env = slices.DeleteFunc(b.env, func(s string) bool { return strings.HasPrefix(s, "ANTHROPIC_API_KEY=") })
	b.env = append(b.env, "CLAUDE_CODE_OAUTH_TOKEN=anything")
}

func allowBash(b *fixture) { b.req.Settings.AllowedTools = []string{"Bash"} }

// The agent can run the checks of its task without any permission line, in any shell syntax.
func TestChecksAreAllowed(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, checksAreAllowed)
}

func checksAreAllowed(t *testing.T, c cli) {
	checks := []string{"./a && ./a | tail -1", `test "$(./a x)" = out`, `./a "(x)" 'y)' \(z\)`, "./a 'a, b'; ./a",
		`for i in 1 2; do ./a $i; done`, `! ./a --false`, `X=1 ./a`, `[ "$(./a | wc -l)" -eq 1 ]`}
	steps := []fakeapi.Reply{}
	for _, check := range checks {
		steps = append(steps, fakeapi.Use(fakeapi.Bash(check)))
	}
	srv := serve(t, append(steps, fakeapi.Use(fakeapi.Bash("./a of my own")), fakeapi.Text("done"))...)
	b := newFixtureOn(t, c, srv)
	script := "#!/bin/sh\necho out\n[ \"$1\" != --false ]\n"
	testrepo.Must(t, os.WriteFile(filepath.Join(b.req.Dir, "a"), []byte(script), 0o755))
	for _, check := range checks {
		b.req.Checks = append(b.req.Checks, plan.Check{Run: check})
	}
	reserveProcesses(t, 1)
	r := b.attempt(t.Context())
	denied := runner.Denial{Tool: "Bash", Rule: "Bash(./a of my own)", Kind: runner.CommandTool}
	if r.Outcome != runner.Done || !slices.Equal(r.Denials, []runner.Denial{denied}) {
		t.Errorf("%s (%s), denials %v", r.Outcome, r.Reason, r.Denials)
	}
}

func TestAttemptWithAPromptOf400KB(t *testing.T) {
	t.Parallel()
	srv := serve(t, fakeapi.Text("read it"))
	b := newFixture(t, srv)
	b.req.Prompt = strings.Repeat("a long prompt ", 30_000) + "with an end"
	reserveProcesses(t, 1)
	if r := b.attempt(t.Context()); r.Outcome != runner.Done {
		t.Errorf("%s (%s)", r.Outcome, r.Reason)
	}
	if got := srv.Messages(nil)[0].Users(); !strings.Contains(got, b.req.Prompt) {
		t.Errorf("the model got %d bytes and not the prompt", len(got))
	}
}

// An interrupted attempt reports its cost and leaves no live process.
func TestAttemptInterrupted(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, attemptInterrupted)
}

func attemptInterrupted(t *testing.T, c cli) {
	life := newTool(t)
	srv := serve(t, fakeapi.Use(fakeapi.Bash(life.command)).WithUsage(use))
	b := newFixtureOn(t, c, srv)
	allowBash(b)
	// Only the interrupt can end it in time: the later steps come much later.
	b.agent.StopWait = claude.StopWait{Interrupt: testLimit, Close: testLimit, Terminate: testLimit}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reserveProcesses(t, 1)
	done := make(chan runner.Result, 1)
	go func() { done <- b.attempt(ctx) }()
	life.started(t)
	asked := time.Now()
	cancel()
	r := <-done
	if r.Outcome != runner.Interrupted || r.Cost != srv.Charged() || r.Cost != 7_650 || r.Priced != "result" {
		t.Errorf("%s (%s), cost %d by %q, charged %d", r.Outcome, r.Reason, r.Cost, r.Priced, srv.Charged())
	}
	if d := time.Since(asked); d > toolTime {
		t.Errorf("stopping took %v", d)
	}
	if !r.Contained || !life.dies(toolTime) {
		t.Error("the tool lives on")
	}
}

// A second attempt in the same session knows the first one, and costs only its own part.
func TestAttemptResumes(t *testing.T) {
	t.Parallel()
	eachCLI(t, attemptResumes)
}

func attemptResumes(t *testing.T, c cli) {
	srv := serve(t, fakeapi.Text("one").WithUsage(use), fakeapi.Text("two").WithUsage(use))
	b := newFixtureOn(t, c, srv)
	reserveProcesses(t, 1)
	first := b.attempt(t.Context())
	b.req.Attempt, b.req.Resume, b.req.Prompt, b.req.LogDir = 2, true, "Go on.", t.TempDir()
	second := b.attempt(t.Context())
	if first.Outcome != runner.Done || second.Outcome != runner.Done || second.Cost != 7_650 || first.Cost+
		second.Cost != srv.Charged() {
		t.Errorf("%s then %s (%s), costs %d and %d", first.Outcome, second.Outcome, second.Reason, first.Cost, second.Cost)
	}
	if got := srv.Messages(nil)[1]; got.Turn() != 1 || !strings.Contains(got.Users(), "T-001") ||
		!strings.Contains(got.LastUser(), "Go on.") {
		t.Errorf("turn %d, last user text %q", got.Turn(), got.LastUser())
	}
}
