package cmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/proc"
)

// runOptions holds the flags of the commands that run a plan: want has the flags that a run keeps, and the other fields
// have the rest. runconfig.go makes the configuration of a run from them.
type runOptions struct {
	*settings
	fleet Fleet
	want  event.Config
	rows  []setting // bound to these options

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
	c.Agent = agent.Claude
	c.Deliver = "auto"
	c.Mode = "yolo"
	c.Isolation = "auto"
	c.Precheck = true
	c.Sandbox.Mode = event.SandboxAuto
	return c
}

// newRunOptions returns the options of a run without flags.
func newRunOptions(fleet Fleet) *runOptions {
	o := &runOptions{fleet: fleet, want: flagDefaults(), judge: "auto", onSignal: "auto"}
	o.output = "text"
	o.rows = slices.DeleteFunc(o.table(&plan.Plan{}), func(s setting) bool { return s.fleet && fleet == nil })
	return o
}

func newRun(std Stdio) *cobra.Command {
	o := newRunOptions(std.Fleet)
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
	groupFlags(c, "Work")
	return c
}

func newResume(std Stdio) *cobra.Command {
	o := newRunOptions(std.Fleet)
	o.resuming = true
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

// runFlags adds the flags that run, resume, retry, start and verify share.
func runFlags(c *cobra.Command, o *runOptions) {
	bindSettings(c, o.rows)
	c.PreRunE = func(c *cobra.Command, _ []string) (err error) {
		o.settings, err = runSettings(c, o)
		return err
	}
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
