package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/agent"
	"wavex/internal/doctor"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/run"
	"wavex/internal/runlog"
)

// This file has the seam to the module in fleet, which makes attempts on other machines. The core has none.

// Fleet is the part of the whole wavex that the core lacks: workers and traces.
type Fleet interface {
	// Extend adds the commands of the fleet to the root.
	Extend(root *cobra.Command, std Stdio)
	// Connect looks whether a run can be made on workers, connects with them, and completes the configuration of the run.
	// It reports the same as checks: mistakes of the plan with the name "plan". A run without an engine needs no check.
	Connect(ctx context.Context, r FleetRun) (run.Fleet, []doctor.Check, error)
	// Clean returns the number of refs that a run has on the git remote of its workers, and removes them unless dry is
	// set.
	Clean(ctx context.Context, dir string, c event.Config, dry bool) (int, error)
}

// FleetRun is a run for a Fleet.
type FleetRun struct {
	Config *event.Config
	Plan   *plan.Plan               // nil: there is none yet
	Named  func(flag string) string // names a flag for an error
}

// connectFleet connects with the workers of the run.
func (r *invocation) connectFleet(ctx context.Context) error {
	if r.std.Fleet == nil {
		return nil
	}
	fleet, checks, err := r.std.Fleet.Connect(ctx, FleetRun{&r.config, r.plan, r.opts.named})
	if err != nil {
		return err
	}
	r.fleet = fleet
	for _, c := range checks {
		if c.Status == doctor.Warn {
			fmt.Fprintln(r.std.Err, "wavex: warning: "+c.Text)
		}
	}
	return nil
}

// closeUnused ends the connection of a run that cannot begin, as err says.
func closeUnused(ctx context.Context, r *invocation, err *error) {
	if *err != nil && r.fleet != nil {
		r.fleet.Close(ctx)
	}
}

// newNoWorkers returns a command of the whole wavex that says how to get that.
func newNoWorkers(name string) func(Stdio) *cobra.Command {
	return func(Stdio) *cobra.Command {
		return &cobra.Command{Use: name, Short: "In the whole wavex: attempts for runs of other machines",
			Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return run.ErrNoFleet }}
	}
}

// needsCLI reports whether a run needs the CLI on this machine: for the attempts at tasks of agents, or if workers make
// these, for panels, reviews and judgements.
func needsCLI(p *plan.Plan, c *event.Config) bool {
	switch {
	case !agent.NeedsAgent(p):
		return false
	case c.Workers.Engine == "":
		return true
	}
	isProse := func(c plan.Condition) bool { return c.Check == nil && c.Verification != event.Assumption }
	judged, irreversible := slices.ContainsFunc(p.Criteria, isProse), false
	for t := range p.AllTasks() {
		judged = judged || slices.ContainsFunc(t.Criteria, isProse)
		irreversible = irreversible || t.Reversibility == "1"
	}
	return c.Counsel || c.Review != event.ReviewOff || c.Judge && judged || c.Precheck && irreversible
}

// remoteName returns the git remote of a run on workers, as this machine names it.
func remoteName(c event.Config) string { return cmp.Or(c.Workers.Git, "origin") }

// FindAgent finds an agent for attempts outside of a run, and looks whether it can make them in dir. path is the value
// of the setting claude. version is that of the CLI, or "" for the rehearsal agent.
func FindAgent(ctx context.Context, name, path, dir string, env []string, std Stdio) (a agent.Agent, version string,
	err error) {
	a, err = findAgent(&runOptions{claude: path}, name, true)
	if err != nil || a.IsRehearsal() {
		return a, "", err
	}
	p, err := checkLogin(ctx, &a, env, dir, std)
	if err != nil {
		return a, "", err
	}
	return a, p.Version.String(), nil
}

// SignalError returns the error with the exit code of a command that a signal has ended.
func SignalError(s os.Signal) error { return exitCode(initialSignal(s).Code) }

// UserSettings gives the flags of c their values of the environment and of the user's settings file. named names a flag
// for an error.
func UserSettings(c *cobra.Command, std Stdio) (named func(flag string) string, err error) {
	s, err := newSettings(c.Flags(), std.Fleet)
	if err == nil {
		err = s.readUser()
	}
	return s.named, err
}

// WorkersFlags adds the flags of a run on workers that keep accepts to c, and returns their values.
func WorkersFlags(c *cobra.Command, keep func(name string) bool) *event.Workers {
	var w event.Workers
	for _, row := range workersTable(&w) {
		if keep(row.name) {
			bindSettings(c, []setting{row}, row.name)
		}
	}
	return &w
}

// withoutCLI says why a run on workers needs no CLI here; "" if it needs one, or may need one.
func (d *diagnosis) withoutCLI() string {
	p, only := d.plan, ""
	if d.opts.run.want.Workers.Engine == "" {
		return ""
	}
	if p == nil {
		p = &plan.Plan{Tasks: []plan.Task{{}}}
		only = ", but for criteria without a check and tasks of reversibility 1"
	}
	if needsCLI(p, &d.opts.run.want) {
		return ""
	}
	return "not needed here: workers make the attempts, and the run asks no model itself" + only
}

// workers adds the mistakes of a plan for workers to the checks of the plan, and returns the other checks of a run on
// workers.
func (d *diagnosis) workers(ctx context.Context) (others []doctor.Check) {
	if d.opts.run.want.Workers.Engine == "" {
		return nil
	}
	fleet, checks, _ := d.std.Fleet.Connect(ctx, FleetRun{&event.Config{Dir: d.dir, Workers: d.opts.run.want.Workers,
		Run: "doctor-" + runlog.NewID(time.Now()), Isolation: event.Isolated}, d.plan,
		func(flag string) string { return "--" + flag }})
	if fleet != nil {
		fleet.Close(ctx)
	}
	for _, c := range checks {
		if c.Name == "plan" {
			d.planChecks = append(d.planChecks, c)
		} else {
			others = append(others, c)
		}
	}
	return others
}
