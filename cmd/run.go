package cmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/policy"
	"wavex/internal/proc"
)

// runOptions holds the flags of the commands that run a plan: those that a run keeps in want, the others by
// themselves. runconfig.go makes the configuration of a run of them.
type runOptions struct {
	*settings
	fleet Fleet
	want  event.Config

	planPath string
	resuming bool // the command is resume

	claude   string
	scenario string
	grace    time.Duration
	outputOptions

	fresh      bool
	params     paramFlags
	only       []string // tasks that the session is limited to, with their blockers; empty: all
	onSignal   string
	yes        bool
	allowShort bool
	trust      bool
	acceptPlan bool
	judge      string
	track      string
	taskList   string
	shareList  bool
	gates      event.Gates // when to ask the user, by the shape of the request
}

type outputOptions struct {
	output   string
	plain    bool
	ascii    bool
	status   bool
	reports  []string // KIND=FILE
	webhooks []string // URL or slack=URL
}

// flagDefaults returns the configuration of a run without flags and plan.
func flagDefaults() event.Config {
	c := event.DefaultConfig()
	c.Agent = "claude"
	c.Deliver = "auto"
	c.Mode = "yolo"
	c.Isolation = "auto"
	c.Precheck = true
	c.Sandbox.Mode = event.SandboxAuto
	return c
}

func newRun(std Stdio) *cobra.Command {
	o := &runOptions{fleet: std.Fleet, want: flagDefaults()}
	c := &cobra.Command{
		Use:   "run [PLAN]",
		Short: "Run a plan",
		Long: `run carries out a plan: wave by wave, each task by a headless claude process
of its own, within the budget, and verified by wavex itself. What happens is
kept in .loop/ of the project directory: the plan's defaults.dir, or where the
plan ran last, or its own directory if that is above, else the current one.
Above reaches to the repository's top, not to home. An unfinished run of the
same plan is continued. Tasks that an earlier run completed do not run again
while they are up to date; --fresh runs everything again. --only TASK runs a
task and its blockers, and leaves the rest for later. The first run in a project
says that .loop is written; the end of the first complete one asks on a terminal
whether to delete .loop, unless --yes is given.

Without PLAN it takes plan.json, plan.yaml or plan.yml, here or above.
Instead of a plan file it takes a task list of Claude Code: the one --task-list
names, or CLAUDE_CODE_TASK_LIST_ID. The list shows the run's progress.
` + codesHelp,
		Example: `  wavex run plan.json
  wavex run plan.json -j 8 --budget 10
  wavex run plan.json --agent rehearse      (no account, nothing real is asked)
  wavex run plan.json --output json > events.ndjson
  wavex run --task-list my-list`,
		Args: optionalArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if o.planPath, err = planOrListPath(args, o.taskList); err != nil {
				return err
			}
			return runPlan(c.Context(), o, std)
		},
	}
	runFlags(c, o)
	f := c.Flags()
	f.StringVar(&o.taskList, "task-list", "", "run this task list of Claude Code instead of a plan file")
	f.BoolVar(&o.fresh, "fresh", false, "start over: .loop is moved aside, never deleted")
	f.StringArrayVar(&o.only, "only", nil, "run this task and its blockers, and nothing else (repeatable)")
	o.params.add(c)
	groupFlags(c, "Work", "task-list", "fresh")
	return c
}

func newResume(std Stdio) *cobra.Command {
	o := &runOptions{fleet: std.Fleet, want: flagDefaults(), resuming: true}
	c := &cobra.Command{
		Use:   "resume [PLAN]",
		Short: "Continue the unfinished run",
		Long: `resume continues the run in .loop/ of the project directory: completed tasks
stay completed, interrupted ones start again; failed ones stay so until they
are edited in the plan, or named by wavex retry.
The plan is the one the run was started with, read again: after an edit only
the changed tasks and their dependents run again. Limits keep their values
unless given; +N raises one.
` + codesHelp,
		Example: `  wavex resume
  wavex resume --budget +10
  wavex resume --max-iterations +25`,
		Args: optionalArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkLoopOf(c.Context(), args); err != nil {
				return err
			}
			if o.planPath = strings.Join(args, ""); o.planPath == "" {
				under, err := requestPending()
				if err != nil {
					return err
				}
				if under {
					o.resuming = false
					return runRequest(c.Context(), requestOptions{run: o}, std)
				}
			}
			return runPlan(c.Context(), o, std)
		},
	}
	runFlags(c, o)
	o.params.add(c)
	groupFlags(c, "Work")
	return c
}

// runFlags adds the flags that run, resume, retry, start and verify share, by the groups of their help. Each call of
// groupFlags names the flags that the help shows without --all.
func runFlags(c *cobra.Command, o *runOptions) {
	f, want := c.Flags(), &o.want
	agentFlags(c, o)
	choicesFlag(c, choice(&want.Mode, event.Interactive, "yolo"), "mode",
		"ask before each retry and about findings of reviews (on a terminal only), or go on")
	f.BoolVar(&o.yes, "yes", false, "continue at every gate without asking, and keep .loop")
	f.BoolVar(&o.trust, "trust", false, "take a plan from outside the repository without a question")
	f.BoolVar(&o.acceptPlan, "accept-plan", false, "resume with a plan that an attempt has changed")
	f.VarP(number(&want.Parallel, 1), "parallel", "j",
		"attempts in parallel (default: the plan's, else 4, fewer if memory is short)")
	choicesFlag(c, choice(&want.Isolation, "auto", "shared", "worktree"), "isolation", "where attempts work")
	choicesFlag(c, choice(&want.Schedule, "waves", "eager"), "schedule",
		"wait for each wave to end, or start tasks as soon as their blockers are done")
	f.Var(number(&want.MaxRetries, 0), "max-retries", "retries of a task after its first attempt")
	f.BoolVar(&want.FailFast, "fail-fast", want.FailFast, "the first failed task stops the run")
	workersFlags(c, o.fleet, &want.Workers)
	groupFlags(c, "Work", "agent", "parallel", "isolation", "max-retries")
	limitFlags(c, o)
	groupFlags(c, "Limits", "budget", "max-iterations", "wall-clock")
	reviewFlags(c, o)
	groupFlags(c, "Checks and review", "counsel", "review")
	resultFlags(c, o)
	groupFlags(c, "Result", "deliver", "report")
	choiceFlag(c, &o.output, "output", "text", []string{"text", "json"}, "text for people, or NDJSON events on stdout")
	f.BoolVar(&o.plain, "plain", false, "timestamped lines, also on a terminal")
	f.BoolVar(&o.ascii, "ascii", false, "use only ASCII characters")
	f.BoolVar(&o.status, "status-block", false,
		"print the status block on stdout after each iteration (default: unless stdout is a terminal)")
	groupFlags(c, "Output", "output")
	allFlag(c, o)
}

// agentFlags adds the flags that say which agent is started.
func agentFlags(c *cobra.Command, o *runOptions) {
	f := c.Flags()
	choicesFlag(c, choice(&o.want.Agent, "claude", "rehearse"), "agent",
		"the agent: claude, or a rehearsal without an account")
	f.StringVar(&o.scenario, "scenario", "", "a scenario file for the rehearsal agent")
	choicesFlag(c, choice(&o.want.Sandbox.Mode, event.SandboxAuto, event.SandboxStrict, "off"), "sandbox",
		"auto: agents cannot write protected paths, where bubblewrap works; strict: tasks write nothing but their tree, "+
			"and only agents have a network")
}

func reviewFlags(c *cobra.Command, o *runOptions) {
	f, want := c.Flags(), &o.want
	choicesFlag(c, onOff(&want.Counsel), "counsel", "a panel of experts for stuck tasks")
	choicesFlag(c, onOff(&want.Precheck), "precheck",
		"let experts challenge tasks of reversibility 1 before their wave")
	choicesFlag(c, choice(&want.Review, "off", "light", "thorough", "auto"), "review",
		"reviews: light after each wave, thorough before the end")
	f.BoolVar(&want.AcceptAssumptions, "accept-assumptions", want.AcceptAssumptions,
		"complete even if some criteria or tasks have no evidence")
}

func resultFlags(c *cobra.Command, o *runOptions) {
	f, want := c.Flags(), &o.want
	f.Var(delivery(&want.Deliver), "deliver", "how to deliver isolated work: auto, branch, ff, push, pr, or patch FILE")
	f.StringVar(&o.track, "track", "", "tracking directory, or its slug (default: the one with the plan, see wavex init)")
	f.StringArrayVar(&o.reports, "report", nil,
		"KIND=FILE: also write a report when the run ends, however it ends (html, junit, json, md; repeatable)")
}

func limitFlags(c *cobra.Command, o *runOptions) {
	f, l := c.Flags(), &o.want.Limits
	moneyFlags(c, o, "dollars for the whole run, +N more, or none (default: the plan's, else 25)")
	f.Var(limit(&l.Wave, nil, "dollars, +N, or none", 1, budget.ParseUSD), "wave-budget",
		"dollars for each single wave, +N more, or none (default: the plan's, else none)")
	f.Var(limit(&l.Iterations, &l.NoIterations, "a number, +N, or unlimited", 0, strconv.Atoi),
		"max-iterations", "attempts, +N more, or unlimited (default: by the number of tasks)")
	parse := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
	f.Var(limit(&l.Tokens, nil, "a number from 1, +N, or unlimited", 1, parse), "max-tokens",
		"tokens for the whole run, +N more, or unlimited (default: unlimited)")
	f.Var(duration(&l.Wall, 1, "2h"), "wall-clock", "time for this session of the run")
	f.BoolVar(&o.allowShort, "allow-short", false, "start even if the limits cannot suffice")
	f.Var(duration(&o.want.WaitForReset, 0, "6h"), "wait-for-reset",
		"at a usage limit, wait for its reset, at most this long")
	f.Lookup("wait-for-reset").NoOptDefVal = "24h"
}

// moneyFlags adds --budget and --prices.
func moneyFlags(c *cobra.Command, o *runOptions, help string) {
	l := &o.want.Limits
	c.Flags().Var(limit(&l.USD, &l.NoUSD, "dollars, +N, or none", 0, budget.ParseUSD), "budget", help)
	c.Flags().StringVar(&o.want.Prices, "prices", o.want.Prices,
		"a price table (JSON) that overrides the built-in one, for attempts whose cost the CLI did not report")
}

// otherSettings returns the settings of a run that no command line has: they are for more than one run.
func otherSettings(o *runOptions) *pflag.FlagSet {
	c := &cobra.Command{}
	f, want := c.Flags(), &o.want
	f.StringVar(&o.claude, "claude", "", "path of the claude CLI (default: WAVEX_CLAUDE, else claude in PATH)")
	f.Var(number(&want.Threshold, 1), "counsel-threshold", "stuckCount at which the panel is asked")
	f.Var(duration(&o.grace, 0, "10s"), "grace",
		"time for the agent to exit after its result, and for each step of stopping it "+
			"(default: 10s; 3s after its input is closed, 5s after SIGTERM)")
	choiceFlag(c, &o.judge, "judge", "auto", []string{"on", "off", "auto"},
		"let a model judge criteria in prose; auto: if the plan needs an agent")
	f.Var(number(&want.ReviewRounds, 1), "max-review-rounds",
		"maximum number of thorough reviews; then the run pauses with the remaining blockers")
	f.BoolVar(&want.NoVerify, "no-verify", want.NoVerify, "commit isolated work without the repository's hooks")
	choiceFlag(c, &o.onSignal, "on-signal", "auto", []string{"auto", "drain", "interrupt"},
		"the first Ctrl-C or SIGTERM lets running attempts finish, or not (auto: only Ctrl-C at a terminal does)")
	policySettings(c, &want.Policy)
	choicesFlag(c, choice(&want.RetrySession, "auto", "same", "fresh"), "retry-session", "session of a retry")
	f.StringArrayVar(&want.Sandbox.Caches, "sandbox-cache", want.Sandbox.Caches,
		"a `directory` that tasks may write with sandbox strict, like ~/.cache/go-build")
	f.BoolVar(&o.shareList, "share-task-list", false, "agents use the run's task list instead of lists of their own")
	f.StringArrayVar(&o.webhooks, "webhook", nil, "URL or slack=URL to notify of a breaker and of the end")
	if o.fleet == nil { // else it has a flag
		workersFlag(c, &want.Workers)
	}
	return f
}

// isOther reports whether a setting has no flag.
func isOther(name string, fleet Fleet) bool {
	return otherSettings(&runOptions{fleet: fleet}).Lookup(name) != nil
}

// policySettings adds the settings of a policy on tool calls.
func policySettings(c *cobra.Command, to *event.Policy) {
	f := c.Flags()
	f.StringArrayVar(&to.Allow, "policy-allow", to.Allow, "a `call` of policy-ask that needs no answer")
	f.StringArrayVar(&to.Ask, "policy-ask", to.Ask, "a `call` that a person decides on, a command or a tool")
	f.Var(duration(&to.AskTimeout, time.Second, "5m"), "policy-ask-timeout",
		"how long such a call waits for the answer; then it is denied (default: 5m)")
	f.StringArrayVar(&to.Deny, "policy-deny", to.Deny,
		"a `call` that agents are denied, a command or a tool (replaces the default list)")
	choicesFlag(c, choice(&to.Edits, policy.EditsWorktree, policy.EditsFiles, policy.EditsOff), "policy-edits",
		"where editing tools may write: the project, the files of the task, or anywhere")
	f.Var(optionalNumber(&to.Repeat, 0), "policy-repeat",
		"equal calls in a row after which the next is denied, or 0 (default: 5)")
}

// runPlan runs run and resume.
func runPlan(ctx context.Context, o *runOptions, std Stdio) error {
	// Call this before the first process starts: without it, the sweep after each process scans the
	// whole machine. If the system does not support it, the run continues.
	_ = proc.Subreaper()
	r, err := prepare(ctx, o, std)
	if err != nil {
		return err
	}
	defer r.close(ctx)
	r.asks = r.mayDelete()
	return r.askToDelete(ctx, r.run(ctx))
}
