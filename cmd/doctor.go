package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/claude/statement"
	"wavex/internal/doctor"
	"wavex/internal/event"
	"wavex/internal/forecast"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/run"
	"wavex/internal/runlog"
)

type doctorOptions struct {
	run    *runOptions // those of a run here, with the settings
	probe  bool
	output string
}

func newDoctor(std Stdio) *cobra.Command {
	o := doctorOptions{run: newRunOptions(std.Fleet)}
	ofRun := &cobra.Command{}
	runFlags(ofRun, o.run)
	c := &cobra.Command{
		Use:   "doctor [PLAN]",
		Short: "Check whether a run can start here, and what is missing",
		Long: `doctor looks at what a run needs: the claude CLI and its version, how it is
logged in (which variables and files there are, never what is in them), whether
permissions may be bypassed, git, disk, memory, the run lock, and the plan
itself when one is given. It starts nothing that costs and changes nothing.
--probe tries everything that wavex relies on of the CLI against a
scripted API of its own, which costs nothing, and asks the model one question,
for a cent at most in most cases. run looks at the CLI, its login and its
permissions by itself.

Exit status: 0 nothing but warnings, 2 the plan cannot run as it is or the
settings are wrong, 5 a person must put something right.`,
		Example: "  wavex doctor\n  wavex doctor plan.json --probe\n  wavex doctor --output json",
		Args:    optionalArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := projectDir("")
			if err != nil {
				return err
			}
			if o.run.settings, err = runSettings(ofRun, o.run); err != nil {
				return err
			}
			if err := cmp.Or(o.run.readUser(), o.run.readProject(dir)); err != nil {
				return err
			}
			if o.run.want.Workers.Engine != "" && std.Fleet == nil {
				return run.ErrNoFleet
			}
			o.run.want.Judge = o.run.judge != "off"
			return runDoctor(c.Context(), args, dir, o, std)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.probe, "probe", false,
		"test the CLI's behaviour that wavex relies on, and ask the model one question, which costs money")
	outputFlag(c, &o.output)
	f.AddFlag(ofRun.Flags().Lookup("parallel"))
	for _, row := range workersTable(&event.Workers{}) {
		if s := ofRun.Flags().Lookup(row.name); s != nil {
			f.AddFlag(s)
		}
	}
	return c
}

// doctorReport is the JSON output of `wavex doctor`.
type doctorReport struct {
	OK       bool           `json:"ok"` // nothing worse than a warning
	ExitCode event.ExitCode `json:"exit_code"`
	Checks   []doctor.Check `json:"checks"`
	ProbeUSD *float64       `json:"probe_cost_usd,omitempty"` // only with --probe
	// Statements holds the results of the probes; only with --probe.
	Statements []statementResult `json:"statements,omitempty"`
}

// answerTimeout bounds how long a program may take to print its version or a state. A cold CLI takes
// 0.2 s (observed on 2.1.330); a busy machine may take many times that. Tests shorten it.
var answerTimeout = 30 * time.Second

func runDoctor(ctx context.Context, args []string, dir string, o doctorOptions, std Stdio) (err error) {
	d := &diagnosis{opts: o, std: std, env: proc.Environ(os.Environ(), nil), dir: dir}
	if len(args) == 1 {
		if err := d.readPlan(args[0]); err != nil {
			return err
		}
	}
	std.tellPlace(d.dir)
	r := d.report(ctx)
	if o.output == "json" {
		err = json.NewEncoder(std.Out).Encode(r)
	} else {
		_, err = fmt.Fprint(std.Out, r.text())
	}
	if err != nil {
		return err
	}
	return exitStatus(r.ExitCode)
}

// diagnosis holds the state of one call of doctor.
type diagnosis struct {
	opts             doctorOptions
	std              Stdio
	env              []string // environment of the attempts
	dir              string   // the project directory
	plan             *plan.Plan
	planChecks       []doctor.Check // about the plan
	probeUSD         *float64
	statementResults []statementResult
}

// readPlan checks the plan. It reports a plan with mistakes, and doctor continues without it.
func (d *diagnosis) readPlan(path string) error {
	p, diags, err := planfile.Load(path, "")
	if err != nil {
		return err
	}
	if p == nil {
		d.planChecks = append(d.planChecks, doctor.Check{Name: "plan", Status: doctor.Fail,
			Text: strings.TrimSpace(planfile.NewPlanError(diags).Error()), Fix: "correct what is named, and see `wavex check`"})
		return nil
	}
	d.plan = p
	if d.dir, err = projectOf(p); err != nil {
		return err
	}
	good := doctor.Check{Name: "plan", Status: doctor.OK, Text: fmt.Sprintf("%s, in %s",
		report.Plural(len(p.Tasks), "task", "tasks"),
		report.Plural(len(waveIDs(p)), "wave", "waves"))}
	if len(diags) > 0 {
		var b strings.Builder
		for _, w := range diags {
			b.WriteString(w.String() + "\n")
		}
		good.Status, good.Text, good.Fix = doctor.Warn, strings.TrimSpace(b.String()), "see `wavex check`"
	}
	d.planChecks = append(d.planChecks, good)
	if agent.NeedsAgent(p) {
		d.planChecks = append(d.planChecks, modelPrices(p))
	}
	if w := forecast.InsufficientLimits(p, forecast.Limits(p)); len(w) > 0 {
		d.planChecks = append(d.planChecks, doctor.Check{Name: "limits", Status: doctor.Fail, Text: w[0].Message,
			Fix: "raise the limit; run refuses this without --allow-short"})
	}
	return nil
}

// modelPrices checks that the models that a plan names for its agents have list prices.
func modelPrices(p *plan.Plan) doctor.Check {
	var models []string
	for t := range p.AllTasks() {
		if t.Command == "" {
			s := p.SettingsOf(t)
			models = append(models, s.Model, s.FallbackModel)
		}
	}
	prices, err := budget.LoadPrices(nil)
	if err != nil {
		return doctor.Check{Name: "prices", Status: doctor.Fail, Text: err.Error()}
	}
	return doctor.Prices(models, func(model string) bool {
		_, listed := prices.Price(model, budget.Tokens{})
		return listed
	})
}

func (d *diagnosis) report(ctx context.Context) doctorReport {
	workers := d.workers(ctx)
	checks, argv := d.agent(ctx)
	checks = append(checks, d.planChecks...)
	checks = append(checks, doctor.Git(ctx, d.dir, d.env, answerTimeout), doctor.Disk(d.dir),
		doctor.Memory(FreeMemory(), d.parallel()),
		doctor.Lock(journal.CheckLock(loop.In(d.dir))), d.journal())
	checks = append(checks, workers...)
	switch d.opts.run.want.Sandbox.Mode {
	case event.SandboxAuto:
		_, err := proc.TryWall(ctx, d.dir, d.env)
		checks = append(checks, doctor.Wall(err))
	case event.SandboxStrict:
		_, err := proc.TryStrictWall(ctx, d.dir, d.env, nil)
		checks = append(checks, doctor.StrictWall(err))
	}
	if d.opts.probe && argv != nil {
		checks = append(checks, d.probe(ctx, argv))
	}
	r := doctorReport{Checks: checks, ProbeUSD: d.probeUSD, Statements: d.statementResults}
	switch {
	case doctor.Worst(d.planChecks) == doctor.Fail:
		r.ExitCode = exitUsage
	case doctor.Worst(checks) == doctor.Fail:
		r.ExitCode = event.ExitBlocked
	}
	r.OK = r.ExitCode == 0
	return r
}

// agent checks the CLI, its login and its permissions. argv is nil if there is nothing to probe.
func (d *diagnosis) agent(ctx context.Context) (checks []doctor.Check, argv []string) {
	if d.plan != nil && !agent.NeedsAgent(d.plan) {
		return []doctor.Check{{Name: "cli", Status: doctor.OK, Text: "not needed: every task of the plan is a command"}}, nil
	}
	if why := d.withoutCLI(); why != "" {
		return []doctor.Check{{Name: "cli", Status: doctor.OK, Text: why}}, nil
	}
	path, err := findClaude(d.opts.run.claude)
	cli := doctor.Check{Name: "cli", Status: doctor.Fail, Text: fmt.Sprintf("the claude CLI %q is not there", path),
		Fix: "install it with: " + statement.Install}
	if d.opts.run.want.Workers.Engine != "" {
		cli.Fix += "; workers make the attempts, so it is for panels, reviews and judgements (see fleet/docs/workers.md)"
	}
	var p statement.Program
	if err == nil {
		p, cli = doctor.CLI(ctx, path, d.env, answerTimeout)
	}
	checks = []doctor.Check{cli}
	if cli.Status != doctor.Fail {
		argv = []string{p.Path}
		found := d.statements(ctx, p)
		checks = append(checks, doctor.Statements(found))
	}
	return append(checks, doctor.Login(d.env, runtime.GOOS == "darwin"), doctor.Bypass(bypassTasks(d.plan), isRoot(),
		d.env)), argv
}

// parallel returns the number of attempts that a run would make in parallel.
func (d *diagnosis) parallel() int {
	o, planned := d.opts.run, 0
	if d.plan != nil && !o.forced("parallel") {
		planned = d.plan.Parallel
	}
	return cmp.Or(planned, o.want.Parallel, defaultParallel(agent.Claude))
}

// journal checks whether there is a run here, and whether it can be read.
func (d *diagnosis) journal() doctor.Check {
	const name = "journal"
	events, err := runlog.Read(loop.In(d.dir))
	if err != nil {
		return doctor.Check{Name: name, Status: doctor.Fail, Text: err.Error(),
			Fix: "--fresh starts over and keeps the old journal"}
	}
	last := runlog.Last(events)
	text := "no run here yet"
	switch {
	case last == nil:
	case last.Ended != nil && last.Ended.Status == event.RunComplete:
		text = "run " + last.Config.Run + " is complete"
	case last.Final():
		text = "run " + last.Config.Run + " was cancelled"
	default:
		text = "run " + last.Config.Run + " of " + last.Plan + " is unfinished; `wavex resume` continues it"
	}
	return doctor.Check{Name: name, Status: doctor.OK, Text: text}
}

// text returns the report for people.
func (r doctorReport) text() string {
	var b strings.Builder
	failed, warned := 0, 0
	for _, c := range r.Checks {
		switch c.Status {
		case doctor.Fail:
			failed++
		case doctor.Warn:
			warned++
		}
		fmt.Fprintf(&b, "%-5s %-12s %s\n", c.Status, c.Name, strings.ReplaceAll(c.Text, "\n", "\n"+strings.Repeat(" ", 19)))
		if c.Fix != "" {
			fmt.Fprintf(&b, "%19s-> %s\n", "", c.Fix)
		}
	}
	b.WriteString(statementTable(r.Statements))
	switch {
	case failed > 0:
		fmt.Fprintf(&b, "\n%s must be fixed before a run\n", report.Plural(failed, "problem", "problems"))
	case warned > 0:
		fmt.Fprintf(&b, "\na run can start; %s\n", report.Plural(warned, "warning", "warnings"))
	default:
		b.WriteString("\na run can start\n")
	}
	return b.String()
}
