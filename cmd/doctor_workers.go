package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/internal/doctor"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/remote"
	"wavex/internal/remote/wire"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
)

// This file looks whether a run could have its attempts made on other machines.

// settleWorkers gives the flags of workers that the user left out their values of the settings.
func settleWorkers(flags *pflag.FlagSet, of func(flag string) string) {
	names := &cobra.Command{}
	workersFlags(names, &event.Workers{})
	names.Flags().VisitAll(func(f *pflag.Flag) {
		if to := flags.Lookup(f.Name); !to.Changed && of(f.Name) != "" {
			_ = to.Value.Set(of(f.Name)) // valid there, so valid here
		}
	})
}

// withoutCLI says why a run on workers needs no CLI here; "" if it needs one, or may need one.
func (d *diagnosis) withoutCLI() string {
	p, only := d.plan, ""
	if d.opts.workers.Engine == "" {
		return ""
	}
	if p == nil {
		p = &plan.Plan{Tasks: []plan.Task{{}}}
		only = ", but for criteria without a check and tasks of reversibility 1"
	}
	if needsCLI(p, &d.opts.asks) {
		return ""
	}
	return "not needed here: workers make the attempts, and the run asks no model itself" + only
}

// refuseWorkers adds what workers cannot carry out to the checks of the plan.
func (d *diagnosis) refuseWorkers(ctx context.Context) {
	if d.opts.workers.Engine == "" || d.plan == nil {
		return
	}
	if err := refuseForWorkers(ctx, d.plan, d.dir, ""); err != nil {
		d.planChecks = append(d.planChecks, doctor.Check{Name: "plan", Status: doctor.Fail, Text: err.Error(),
			Fix: "see docs/workers.md, or run it without --workers"})
	}
}

// workers checks the engine, the git remote and the workers.
func (d *diagnosis) workers(ctx context.Context) []doctor.Check {
	w := d.opts.workers
	if w.Engine == "" {
		return nil
	}
	bad := func(name string, err error, fix string) []doctor.Check {
		return []doctor.Check{{Name: name, Status: doctor.Fail, Text: textfmt.Line(err.Error()), Fix: fix}}
	}
	named := func(flag string) string { return "--" + flag }
	checks := d.gitRemote(ctx, named("git"))
	e, o, server, err := openEngine(ctx, d.std, w, named)
	if err != nil {
		return append(checks, bad("engine", err, "see that "+w.Engine+" is up and has the namespace")...)
	}
	defer e.Close()
	queue := o.Key.Queue("")
	text := fmt.Sprintf("%s, version %s, protocol %d, queue %s", w.Engine, server.Version, wire.Protocol, queue)
	checks = append(checks, doctor.Check{Name: "engine", Status: doctor.OK, Text: text})
	if why := shortRetention(server); why != "" {
		checks = append(checks, doctor.Check{Name: "retention", Status: doctor.Warn, Text: why, Fix: "temporal operator " +
			"namespace update --retention 7d " + o.Namespace})
	}
	list, err := e.Workers(ctx, queue)
	if err != nil {
		return append(checks, bad("workers", err, "try again")...)
	}
	return append(checks, workersCheck(list, queue))
}

// gitRemote checks whether the git remote takes the refs of a run.
func (d *diagnosis) gitRemote(ctx context.Context, flag string) []doctor.Check {
	const name = "git remote"
	remote, address, err := gitRemote(ctx, d.dir, d.opts.workers.Git, flag)
	if err == nil {
		err = probeRemote(ctx, d.dir, remote, "doctor-"+runlog.NewID(time.Now()))
	}
	if err != nil {
		return []doctor.Check{{Name: name, Status: doctor.Fail, Text: textfmt.Line(err.Error()),
			Fix: "name another remote with --git"}}
	}
	return []doctor.Check{{Name: name, Status: doctor.OK, Text: address + " takes the refs of runs"}}
}

// workersCheck checks whether workers ask for attempts.
func workersCheck(list []remote.Worker, queue string) doctor.Check {
	const name = "workers"
	if len(list) == 0 {
		return doctor.Check{Name: name, Status: doctor.Warn, Text: "none asks for attempts of queue " + queue,
			Fix: "start one: wavex worker; with another key or wavex it asks for others"}
	}
	var lines []string
	for _, w := range list {
		lines = append(lines, fmt.Sprintf("%s: %s, wavex %s, claude %s, login: %s", w.Name,
			report.Plural(w.Slots, "slot", "slots"), cmp.Or(w.Release, "unknown"), cmp.Or(w.CLI, "none"),
			cmp.Or(w.Login, "unknown")))
	}
	return doctor.Check{Name: name, Status: doctor.OK, Text: textfmt.Block(strings.Join(lines, "\n"))}
}
