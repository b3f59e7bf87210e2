package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/claude/statement"
	"wavex/internal/doctor"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/runner"
)

// These bounds limit the probe. A question and an answer of a few words cost far less with any
// model (observed: the request of a lean call is 1.2 KB).
const (
	probeCap     = budget.Dollar / 20
	probeTimeout = 2 * time.Minute
)

// probe asks the model one question, in the same way as wavex asks an expert.
func (d *diagnosis) probe(ctx context.Context, argv []string) doctor.Check {
	const name = "probe"
	bad := func(text, fix string) doctor.Check {
		return doctor.Check{Name: name, Status: doctor.Fail, Text: text, Fix: fix}
	}
	prices, err := budget.LoadPrices(nil)
	if err != nil {
		return bad(err.Error(), "")
	}
	logs, err := os.MkdirTemp("", "wavex-doctor-")
	if err != nil {
		return bad(err.Error(), "make room for temporary files")
	}
	defer func() { _ = os.RemoveAll(logs) }() // a leftover temporary folder is harmless
	q := runner.Question{Name: "doctor", Dir: d.dir, LogDir: logs, System: "Answer with one word.", Prompt: "Say: ready",
		Cap: probeCap, Timeout: probeTimeout}
	if d.plan != nil {
		q.Model = d.plan.Defaults.Model
	}
	a := agent.Agent{Argv: argv}.New(agent.Setup{Host: runner.Host{Env: proc.Inherit(os.Environ(), nil)},
		Run: "doctor-" + runlog.NewID(time.Now()), Prices: prices}).Ask(ctx, q)
	usd := a.Cost.Float()
	d.probeUSD = &usd
	cost := fmt.Sprintf("%s, %s", report.FormatDuration(a.Duration), a.Cost.Spent())
	switch a.Outcome {
	case runner.Done:
		return doctor.Check{Name: name, Status: doctor.OK, Text: "the model answered (" + cost + ")"}
	case runner.Limited, runner.Throttled:
		return doctor.Check{Name: name, Status: doctor.Warn, Text: fmt.Sprintf("%s: %s (%s)", a.Outcome, a.Reason, cost),
			Fix: "nothing is wrong here; try later"}
	case runner.Unauthorised:
		return bad(fmt.Sprintf("%s (%s)", a.Reason, cost),
			"log in with `claude`, or set ANTHROPIC_API_KEY to one that may spend")
	}
	return bad(fmt.Sprintf("%s: %s (%s)", a.Outcome, a.Reason, cost), "try by hand: "+argv[0]+" -p 'Say: ready'")
}

// statementResult is one result of the probes of statements.
type statementResult struct {
	statement.Statement
	Verdict statement.Support `json:"verdict"`
	Seen    string            `json:"seen,omitempty"` // set if it fails
}

// statements returns the known facts about the CLI, or probes it.
func (d *diagnosis) statements(ctx context.Context, p statement.Program) statement.CLI {
	if !d.opts.probe {
		return statement.UserStore().Lookup(p)
	}
	found := statement.UserStore().Probe(ctx, p)
	for _, s := range statement.All() {
		d.statementResults = append(d.statementResults, statementResult{s, found.Support[s.ID], found.Why[s.ID]})
	}
	return found
}

// statementTable returns the results of the probes for people.
func statementTable(list []statementResult) string {
	var b strings.Builder
	for i, s := range list {
		if i == 0 {
			b.WriteString("\nWhat wavex relies on of the CLI (docs/claude-cli.md):\n")
		}
		fmt.Fprintf(&b, "%-8s %-11s %s\n", s.Verdict, s.Kind, s.Text)
		if s.Seen != "" {
			fmt.Fprintf(&b, "%21sseen: %s\n", "", s.Seen)
		}
		if s.Verdict != statement.Holds {
			fmt.Fprintf(&b, "%21s-> %s\n", "", s.Fallback)
		}
	}
	return b.String()
}
