package cmd

import (
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/policy"
)

// This file has the table of the settings of a run: their flags, keys of settings files, variables and fields of the
// configuration.

// setting is a setting of a run.
type setting struct {
	name  string
	class class
	value pflag.Value // bound to a field
	help  string
	plan  any    // the field of the plan, for planText
	group string // of the flag in the help; "": there is no flag
	short string // another name of the flag, of one letter
	bare  string // the value of the flag alone
	fleet bool   // only the whole wavex has it
}

// table returns the settings, bound to the fields of o, with the values of p.
func (o *runOptions) table(p *plan.Plan) (rows []setting) {
	workers := "Work"
	set(o.fleet == nil, &workers, "")
	for _, part := range []struct {
		group string
		rows  []setting
	}{
		{"Work", o.workTable(p)}, {"Limits", o.limitTable(p)}, {"Checks and review", o.reviewTable()},
		{"Result", o.resultTable(p)}, {"Output", o.outputTable()}, {"", o.otherTable(p)},
		{"", policyTable(&o.want.Policy, p.Defaults)}, {workers, workersTable(&o.want.Workers)},
	} {
		for _, row := range part.rows {
			row.group = part.group
			rows = append(rows, row)
		}
	}
	return rows
}

func (o *runOptions) workTable(p *plan.Plan) []setting {
	want := &o.want
	return []setting{
		{name: "agent", class: userOnly, value: choice(&want.Agent, agent.Names()...),
			help: "the agent: claude, or a rehearsal without an account"},
		{name: "scenario", class: userOnly, value: text(&o.scenario), help: "a scenario file for the rehearsal agent"},
		{name: "sandbox", class: userOnly, value: choice(&want.Sandbox.Mode, event.SandboxAuto, event.SandboxStrict, "off"),
			help: "auto: agents cannot write protected paths, where bubblewrap works; strict: tasks write nothing but " +
				"their tree, and only agents have a network"},
		{name: "mode", class: told, value: choice(&want.Mode, event.Interactive, "yolo"),
			help: "ask before each retry and about findings of reviews (on a terminal only), or go on"},
		{name: "yes", class: userOnly, value: truth(&o.yes), help: "continue at every gate without asking, and keep .loop"},
		{name: "trust", class: userOnly, value: truth(&o.trust),
			help: "take a plan from outside the repository without a question"},
		{name: "accept-plan", class: once, value: truth(&o.acceptPlan),
			help: "resume with a plan that an attempt has changed"},
		{name: "parallel", class: told, short: "j", value: number(&want.Parallel, 1), plan: p.Parallel,
			help: "attempts in parallel (default: the plan's, else 4, fewer if memory is short)"},
		{name: "isolation", class: told, value: choice(&want.Isolation, "auto", "shared", "worktree"),
			plan: p.Isolation, help: "where attempts work"},
		{name: "schedule", class: free, value: choice(&want.Schedule, "waves", "eager"), plan: p.Schedule,
			help: "wait for each wave to end, or start tasks as soon as their blockers are done"},
		{name: "max-retries", class: told, value: number(&want.MaxRetries, 0),
			plan: p.Defaults.MaxRetries, help: "retries of a task after its first attempt"},
		{name: "fail-fast", class: free, value: truth(&want.FailFast), help: "the first failed task stops the run"},
	}
}

func (o *runOptions) limitTable(p *plan.Plan) []setting {
	l, of := &o.want.Limits, p.Budget
	iterations := any(of.Iterations)
	set(of.Iterations != nil && *of.Iterations == plan.NoIterations, &iterations, any("unlimited"))
	parse := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
	return []setting{
		{name: "budget", class: told, plan: of.USD,
			value: limit(&l.USD, &l.NoUSD, "dollars, +N, or none", 0, budget.ParseUSD),
			help:  "dollars for the whole run, +N more, or none (default: the plan's, else 25)"},
		{name: "prices", class: userOnly, value: text(&o.want.Prices),
			help: "a price table (JSON) that overrides the built-in one, for attempts whose cost the CLI did not report"},
		{name: "max-iterations", class: told, plan: iterations,
			value: limit(&l.Iterations, &l.NoIterations, "a number, +N, or unlimited", 0, strconv.Atoi),
			help:  "attempts, +N more, or unlimited (default: by the number of tasks)"},
		{name: "max-tokens", class: told, value: limit(&l.Tokens, nil, "a number from 1, +N, or unlimited", 1, parse),
			help: "tokens for the whole run, +N more, or unlimited (default: unlimited)"},
		{name: "wall-clock", class: told, value: duration(&l.Wall, 1, "2h"), plan: of.WallClock,
			help: "time for this session of the run"},
		{name: "allow-short", class: told, value: truth(&o.allowShort), help: "start even if the limits cannot suffice"},
		{name: "wait-for-reset", class: told, bare: "24h", value: duration(&o.want.WaitForReset, 0, "6h"),
			help: "at a usage limit, wait for its reset, at most this long"},
	}
}

func (o *runOptions) reviewTable() []setting {
	want := &o.want
	return []setting{
		{name: "counsel", class: told, value: onOff(&want.Counsel), help: "a panel of experts for stuck tasks"},
		{name: "precheck", class: told, value: onOff(&want.Precheck),
			help: "let experts challenge tasks of reversibility 1 before their wave"},
		{name: "review", class: told, value: choice(&want.Review, "off", "light", "thorough", "auto"),
			help: "reviews: light after each wave, thorough before the end"},
		{name: "accept-assumptions", class: userOnly, value: truth(&want.AcceptAssumptions),
			help: "complete even if some criteria or tasks have no evidence"},
	}
}

func (o *runOptions) resultTable(p *plan.Plan) []setting {
	return []setting{
		{name: "deliver", class: told, value: delivery(&o.want.Deliver), plan: p.Deliver,
			help: "how to deliver isolated work"},
		{name: "track", class: userOnly, value: text(&o.track),
			help: "tracking directory, or its slug (default: the one with the plan, see wavex init)"},
		{name: "report", class: userOnly, value: list(&o.reports),
			help: "KIND=FILE: also write a report when the run ends, however it ends (html, junit, json, md; repeatable)"},
	}
}

func (o *runOptions) outputTable() []setting {
	return []setting{
		{name: "output", class: free, value: choice(&o.output, "text", "json"),
			help: "text for people, or NDJSON events on stdout"},
		{name: "plain", class: free, value: truth(&o.plain), help: "timestamped lines, also on a terminal"},
		{name: "ascii", class: free, value: truth(&o.ascii), help: "use only ASCII characters"},
		{name: "status-block", class: free, value: truth(&o.status),
			help: "print the status block on stdout after each iteration (default: unless stdout is a terminal)"},
	}
}

// otherTable returns the settings that no command line has: they are for more than one run.
func (o *runOptions) otherTable(p *plan.Plan) []setting {
	want := &o.want
	return []setting{
		{name: "claude", class: userOnly, value: text(&o.claude),
			help: "path of the claude CLI (default: WAVEX_CLAUDE, else claude in PATH)"},
		{name: "counsel-threshold", class: told, value: number(&want.Threshold, 1),
			help: "stuckCount at which the panel is asked"},
		{name: "grace", class: told, value: duration(&o.grace, 0, "10s"),
			help: "time for the agent to exit after its result, and for each step of stopping it " +
				"(default: 10s; 3s after its input is closed, 5s after SIGTERM)"},
		{name: "judge", class: told, value: choice(&o.judge, "on", "off", "auto"),
			help: "let a model judge criteria in prose; auto: if the plan needs an agent"},
		{name: "max-review-rounds", class: told, value: number(&want.ReviewRounds, 1),
			help: "maximum number of thorough reviews; then the run pauses with the remaining blockers"},
		{name: "no-verify", class: userOnly, value: truth(&want.NoVerify),
			help: "commit isolated work without the repository's hooks"},
		{name: "on-signal", class: told, value: choice(&o.onSignal, "auto", "drain", "interrupt"),
			help: "the first Ctrl-C or SIGTERM lets running attempts finish, or not (auto: only Ctrl-C at a terminal does)"},
		{name: "retry-session", class: free, value: choice(&want.RetrySession, "auto", "same", "fresh"),
			plan: p.Defaults.RetrySession, help: "session of a retry"},
		{name: "sandbox-cache", class: userOnly, value: list(&want.Sandbox.Caches),
			help: "a `directory` that tasks may write with sandbox strict, like ~/.cache/go-build"},
		{name: "share-task-list", class: told, value: truth(&o.shareList),
			help: "agents use the run's task list instead of lists of their own"},
		{name: "webhook", class: userOnly, value: list(&o.webhooks),
			help: "URL or slack=URL to notify of a breaker and of the end"},
	}
}

// policyTable returns the settings of a policy on tool calls.
func policyTable(to *event.Policy, of plan.Settings) []setting {
	return []setting{
		{name: "policy-allow", class: userOnly, value: list(&to.Allow),
			help: "a `call` of policy-ask that needs no answer"},
		{name: "policy-ask", class: userOnly, value: list(&to.Ask), plan: of.PolicyAsk,
			help: "a `call` that a person decides on, a command or a tool"},
		{name: "policy-ask-timeout", class: userOnly, value: duration(&to.AskTimeout, time.Second, "5m"),
			plan: of.PolicyAskTimeout, help: "how long such a call waits for the answer; then it is denied (default: 5m)"},
		{name: "policy-deny", class: userOnly, value: list(&to.Deny), plan: of.PolicyDeny,
			help: "a `call` that agents are denied, a command or a tool (replaces the default list)"},
		{name: "policy-edits", class: userOnly, plan: of.PolicyEdits,
			value: choice(&to.Edits, policy.EditsWorktree, policy.EditsFiles, policy.EditsOff),
			help:  "where editing tools may write: the project, the files of the task, or anywhere"},
		{name: "policy-repeat", class: userOnly, value: optionalNumber(&to.Repeat, 0), plan: of.PolicyRepeat,
			help: "equal calls in a row after which the next is denied, or 0 (default: 5)"},
	}
}

// workersTable returns the settings of a run on workers.
func workersTable(to *event.Workers) []setting {
	return []setting{
		{name: "workers", class: userOnly, value: text(&to.Engine),
			help: "make the attempts on the workers of this engine: temporal://HOST:PORT/NAMESPACE (in the whole wavex only)"},
		{name: "git", fleet: true, class: userOnly, value: text(&to.Git),
			help: "the git remote between this machine and the workers, by name or `URL` (default: origin)"},
		{name: "queue-wait", fleet: true, class: userOnly, value: duration(&to.QueueWait, 0, "10m"),
			help: "time for a worker to take an attempt (default: 10m)"},
		{name: "heartbeat", fleet: true, class: userOnly, value: duration(&to.Heartbeat, 0, "1m"),
			help: "a worker that is silent for this time is lost (default: 1m)"},
		{name: "same-version", fleet: true, class: userOnly, value: truth(&to.SameVersion),
			help: "refuse workers with another version of wavex"},
		{name: "key-file", fleet: true, class: userOnly, value: text(&to.KeyFile),
			help: "a `file` of 32 random bytes, the same for the run and its workers"},
		{name: "insecure", fleet: true, class: userOnly, value: truth(&to.Insecure),
			help: "reach an engine on another machine without TLS"},
		{name: "tls-cert", fleet: true, class: userOnly, value: text(&to.TLSCert),
			help: "a `file` with the certificate of this client (PEM)"},
		{name: "tls-key", fleet: true, class: userOnly, value: text(&to.TLSKey),
			help: "a `file` with the key of --tls-cert (PEM)"},
		{name: "tls-ca", fleet: true, class: userOnly, value: text(&to.TLSCA),
			help: "a `file` with the authorities of the engine's certificate (PEM)"},
	}
}

// findSetting returns the setting with a name, also one that only the whole wavex has, or a setting without a name.
func findSetting(name string, fleet Fleet) setting {
	for _, row := range (&runOptions{fleet: fleet}).table(&plan.Plan{}) {
		if row.name == name {
			return row
		}
	}
	return setting{}
}

// flagName returns the flag of a setting, or the name of one without a flag.
func flagName(name string, fleet Fleet) string {
	if row := findSetting(name, fleet); row.name != "" && row.group == "" && !row.fleet {
		return name
	}
	return "--" + name
}

// bindSettings adds the flags of rows to c: those with a group of the help, or with one of the names.
func bindSettings(c *cobra.Command, rows []setting, names ...string) {
	for _, row := range rows {
		if len(names) > 0 && !slices.Contains(names, row.name) || len(names) == 0 && row.group == "" {
			continue
		}
		f := c.Flags().VarPF(row.value, row.name, row.short, row.help)
		f.NoOptDefVal = row.bare
		f.Annotations = map[string][]string{groupKey: {row.group}}
		if v, ok := row.value.(*value); ok && v.kind == "bool" {
			f.NoOptDefVal = "true"
		} else if ok && v.choices != nil {
			completeChoices(c, f, v)
		}
	}
}
