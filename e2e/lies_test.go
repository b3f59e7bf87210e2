//go:build unix

package e2e

// This file tests runs with a CLI that breaks one statement. wavex refuses the run, or takes the
// fallback and names the statement in one line. The ledger is never below the real charges.

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wavex/budget"
	"wavex/internal/claude/statement"
	"wavex/internal/doctor"
	"wavex/internal/fakeapi"
)

// scene is a run of one task with a CLI that lies.
type scene struct {
	env    []string
	more   string // further members of the plan
	tools  string // as in manyTasksPlan
	agents func() []*fakeapi.Agent
	held   bool // the test interrupts the run while the CLI waits for its second response
	exit   int
}

var (
	plain = scene{agents: func() []*fakeapi.Agent { return fileWriters(1) }}
	// lost has no successful attempt, so that its task is stopped.
	lost = scene{agents: plain.agents, exit: 4}
	// denied has a tool call without permission.
	denied = scene{agents: steps(fakeapi.Use(fakeapi.Bash("touch elsewhere")).WithUsage(use), writesSheep, report("true"))}
	// resumed has two attempts in one session.
	resumed = scene{env: []string{"WAVEX_OPT_RETRY_SESSION=same"},
		agents: steps(report("true"), writesSheep, report("true"))}
	// killed kills the CLI after three responses.
	killed = scene{tools: `"Bash"`, exit: 3, agents: steps(fakeapi.Use(fakeapi.Bash("true")).WithUsage(expensiveUsage),
		fakeapi.Use(fakeapi.Bash("true 2")).WithUsage(expensiveUsage),
		fakeapi.Use(fakeapi.Bash("kill -9 $PPID; sleep 5")).WithUsage(expensiveUsage))}
	stopped = scene{held: true, exit: 130, agents: func() []*fakeapi.Agent {
		return waitingAgents(fileWriters(1), 1, fakeapi.NewLatch())
	}}
	// judged has a criterion for the judge, which is a lean call.
	judged = scene{exit: 1, more: `"criteria": ["the file is about sheep"], `, agents: func() []*fakeapi.Agent {
		return append(plain.agents(), answers("judge", system("You judge whether statements"), yes))
	}}
)

// yes returns the answer of a judge.
func yes(*fakeapi.Request) map[string]any {
	return map[string]any{"rulings": []any{map[string]any{"id": "C-1", "verdict": "yes", "reason": "it is",
		"file": "f0.txt", "line": 1, "quote": "sheep"}}}
}

var writesSheep = fakeapi.Use(fakeapi.Write("f0.txt", "sheep\n")).WithUsage(use)

func steps(all ...fakeapi.Reply) func() []*fakeapi.Agent {
	return func() []*fakeapi.Agent { return []*fakeapi.Agent{{When: task("T-001"), Steps: all}} }
}

// liesTest is a lie and its expected effects.
type liesTest struct {
	lie   string
	scene scene
	// names is the statement that wavex names; "": wavex relies on none that the lie breaks.
	names statement.ID
	// also are the other statements that a probe finds broken.
	also []statement.ID
	// byTheRun leaves the probe to the run, because it hangs or ends at once: then no statement is known.
	byTheRun bool
	// over reports whether the ledger may be above the real charges.
	over func(c cli) bool
	// probes runs the test with probes, which take several seconds of CPU each, also without allCases.
	probes bool
}

func TestLies(t *testing.T) {
	t.Parallel()
	for _, test := range []liesTest{
		{lie: "half cost", scene: plain, names: statement.TotalCost, also: []statement.ID{statement.TurnCost}},
		{lie: "cumulative cost", scene: resumed, names: statement.TurnCost, over: func(c cli) bool { return !c.old() }},
		{lie: "no turn cost", scene: plain, names: statement.TurnCost},
		{lie: "half turn cost", scene: plain, names: statement.TurnCost},
		{lie: "no cap", probes: true, names: statement.Cap},
		{lie: "denied allowed", probes: true, names: statement.Denied},
		{lie: "disallowed stays", names: statement.DisallowedTools},
		{lie: "other tools", scene: plain},
		{lie: "no denials", scene: denied},
		{lie: "no final usage", scene: killed, names: statement.PartialUsage, over: func(cli) bool { return true }},
		{lie: "late result", scene: stopped, byTheRun: true},
		{lie: "two results", scene: plain, byTheRun: true},
		{lie: "no result", scene: lost, byTheRun: true, names: statement.TotalCost},
		{lie: "no interrupt", scene: stopped, byTheRun: true},
		{lie: "nothing stops it", scene: stopped, byTheRun: true},
		{lie: "another session", scene: resumed},
		{lie: "no structured answer", scene: judged},
	} {
		t.Run(test.lie, func(t *testing.T) {
			t.Parallel()
			onCLIs(t, test.probes && *allCases, test.run)
		})
	}
}

func (test liesTest) run(t *testing.T, c cli) {
	s := test.scene
	var broken statement.Statement
	if at := slices.IndexFunc(statement.All(), func(s statement.Statement) bool { return s.ID == test.names }); at >= 0 {
		broken = statement.All()[at]
	}
	script := fakeapi.Script{Prices: prices}
	if !broken.Required {
		script.Agents = s.agents()
	}
	srv, cache := fakeapi.New(t, script), t.TempDir()
	env := Env(t, srv, append(s.env, statement.EnvVar+"="+cache, "WAVEX_OPT_GRACE=1s")...)
	text := manyTasksPlan{n: 1, parallel: 1, model: model, tools: s.tools}.String()
	r := newRepo(t, strings.Replace(text, `"defaults"`, s.more+`"defaults"`, 1)).on(c.lying(t, test.lie))
	release := reserveProcesses(t, 2) // of probes
	if !test.byTheRun {
		test.keep(t, r.cli, env, statement.Store{Dir: filepath.Join(cache, "claude"), Limit: testLimit})
		release()
		release = reserveProcesses(t, 1)
	}
	w := r.wavexIn(release, env, "run", "plan.json", "--output", "json", "--budget", "3",
		"--counsel", "off")
	if broken.Required {
		refused(t, srv, w.end(), broken.Text, "npm install -g @anthropic-ai/claude-code@"+statement.Newest())
		return
	}
	var e wavexEnd
	if s.held {
		awaitAll(t, srv, 1, 1)
		release() // the CLI uses no more CPU
		e = w.interrupted(syscall.SIGINT)
	} else {
		e = w.end()
	}
	if broken.ID != "" && test.byTheRun { // else another start has told
		checkOutput(t, e, "wavex: warning: claude ", string(broken.ID), "wavex does without")
	}
	_, last := e.events(t)
	if e.exit != s.exit {
		t.Errorf("exit %d, want %d: %s\n%s", e.exit, s.exit, last.Data, e.stderr)
	}
	spent, charged := budget.FromFloat(last.CostUSD), srv.Charged()
	if spent < charged || spent > charged && (test.over == nil || !test.over(c)) || charged == 0 {
		t.Errorf("the ledger says %d, the API charged %d", spent, charged)
	}
	if len(s.env) > 0 { // the attempts are in one session
		asked := srv.Messages(nil)
		if first, last := asked[0].Session(), asked[len(asked)-1].Session(); first != last {
			t.Errorf("the first attempt has session %s, the last %s", first, last)
		}
	}
}

// keep writes the verdicts on a CLI into the store that the run reads. Without allCases it probes only for some
// lies. For the others it writes the verdicts that the probes find.
func (test liesTest) keep(t *testing.T, c cli, env []string, store statement.Store) {
	t.Helper()
	program, check := doctor.CLI(t.Context(), c.path, env, testLimit)
	if check.Status == doctor.Fail {
		t.Fatal(check.Text)
	}
	verdicts := c.verdicts()
	for _, id := range append(test.also, test.names) {
		if id != "" {
			verdicts[id] = statement.Fails
		}
	}
	if !test.probes && !*allCases {
		store.Add(program, statement.Report{Support: verdicts})
		return
	}
	found := store.Ensure(t.Context(), program)
	got, want := found.Support.Select(statement.Fails), verdicts.Select(statement.Fails)
	if statement.IDs(got) != statement.IDs(want) {
		t.Errorf("the probes find that %s fail, want %s", statement.IDs(got), statement.IDs(want))
	}
}
