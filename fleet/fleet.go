// Package fleet makes attempts of runs on other machines, by an engine and a git remote, and traces of runs. Its New is
// the part of the whole wavex that the core lacks. It has the commands of workers, the flags of runs on them, and the
// other side of wavex/cmd.Fleet.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"wavex/cmd"
	"wavex/fleet/ferry"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/doctor"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/run"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
)

// New returns the workers and traces of the whole wavex.
func New() cmd.Fleet { return fleet{dialTemporal} }

// Extend adds the commands of workers to the root.
func (f fleet) Extend(c *cobra.Command, std cmd.Stdio) {
	c.AddGroup(&cobra.Group{ID: "Workers", Title: "Workers"})
	for _, made := range []*cobra.Command{newWorker(f, std), newWorkers(f, std)} {
		made.GroupID = "Workers"
		c.AddCommand(made)
	}
}

// Clean returns the number of refs of a run on the git remote of its workers, and removes them unless dry is set.
func (fleet) Clean(ctx context.Context, dir string, c event.Config, dry bool) (int, error) {
	return ferry.New(ctx, dir, cmp.Or(c.Workers.Git, "origin"), os.Environ()).Sweep(ctx, c.Run, dry)
}

// Connect looks at everything that a run on workers needs, and connects with the engine.
func (f fleet) Connect(ctx context.Context, r cmd.FleetRun) (run.Fleet, []doctor.Check, error) {
	s := &session{}
	if r.Config.Workers.Engine == "" {
		return s, nil, nil
	}
	var checks []doctor.Check
	var first error
	add := func(name, good, fix string, err error) {
		c := doctor.Check{Name: name, Status: doctor.OK, Text: good}
		if err != nil {
			first = cmp.Or(first, err)
			c = doctor.Check{Name: name, Status: doctor.Fail, Text: textfmt.Line(err.Error()), Fix: fix}
		}
		checks = append(checks, c)
	}
	options, err := engineOptionsOf(r.Config.Workers, r.Named)
	if err = cmp.Or(err, place(r)); err != nil {
		add("engine", "", "see fleet/docs/workers.md", err)
	} else if err = refusePlan(ctx, r.Plan, r.Config); err != nil {
		add("plan", "", "see fleet/docs/workers.md, or run it without --workers", err)
	} else if err = s.connect(ctx, f.dial, r, options, add); err == nil {
		found, err := s.look(ctx, r.Config)
		first, checks = cmp.Or(first, err), append(checks, found...)
	}
	if first != nil {
		s.Close(ctx)
		return nil, checks, first
	}
	return s, checks, nil
}

// connect connects a session with the git remote and the engine.
func (s *session) connect(ctx context.Context, dial dialer, r cmd.FleetRun, o options,
	add func(name, good, fix string, err error)) (err error) {
	w := r.Config.Workers
	s.git, s.url, err = gitRemote(ctx, r.Config.Dir, w.Git, r.Named("git"))
	if err == nil {
		err = probeRemote(ctx, r.Config.Dir, s.git, r.Config.Run)
	}
	add("git remote", s.url+" takes the refs of runs", "name another remote with --git", err)
	if err != nil {
		return err
	}
	s.engine, s.server, err = reach(ctx, dial, o)
	s.key = o.Key
	add("engine", fmt.Sprintf("%s, version %s, protocol %d, queue %s", w.Engine, s.server.Version, wire.Protocol,
		s.key.Queue("")), "see that "+w.Engine+" is up and has the namespace", err)
	return err
}

// look looks at the engine and its workers, and sets the parallel attempts of a run to those that they can make.
func (s *session) look(ctx context.Context, c *event.Config) (checks []doctor.Check, err error) {
	if why := shortRetention(s.server); why != "" {
		_, namespace, _ := parseEngine(c.Workers.Engine)
		checks = append(checks, doctor.Check{Name: "retention", Status: doctor.Warn, Text: why,
			Fix: "temporal operator namespace update --retention 7d " + namespace})
	}
	queue := s.key.Queue("")
	list, err := s.engine.Workers(ctx, queue)
	slots, lines := 0, []string{}
	for _, w := range list {
		slots += max(1, w.Slots) // 0: it does not say
		lines = append(lines, describe(w))
	}
	const unknown = 4
	c.Parallel = cmp.Or(c.Parallel, slots, unknown)
	found := doctor.Check{Name: "workers", Status: doctor.OK}
	switch {
	case err != nil:
		err = usererr.Blocked(err)
		found.Status, found.Text, found.Fix = doctor.Fail, textfmt.Line(err.Error()), "try again"
	case len(list) == 0:
		found.Status, found.Fix = doctor.Warn, "start one: wavex worker; with another key or wavex it asks for others"
		found.Text = fmt.Sprintf("none asks for attempts of queue %s; each attempt waits for one up to %s", queue,
			report.FormatDuration(queueWait(c.Workers)))
	default:
		found.Text = strings.Join(lines, "\n")
	}
	return append(checks, found), err
}

// describe describes a worker, in a line.
func describe(w remote.Worker) string {
	return textfmt.Line(fmt.Sprintf("%s: %s, wavex %s, claude %s, login: %s", w.Name,
		report.Plural(w.Slots, "slot", "slots"), cmp.Or(w.Release, "unknown"), cmp.Or(w.CLI, "none"),
		cmp.Or(w.Login, "unknown")))
}

// place completes the configuration of a run on workers: its tasks work in worktrees.
func place(r cmd.FleetRun) error {
	c := r.Config
	if c.Isolation == "auto" {
		c.Isolation = event.Isolated
	}
	switch {
	case c.Isolation != event.Isolated:
		return usage("%s: workers need worktrees; leave out isolation %s", r.Named("workers"), c.Isolation)
	case c.Sandbox.Mode == event.SandboxStrict:
		return usage("%s strict is for attempts on this machine, and workers make them; leave it out",
			r.Named("sandbox"))
	}
	return absolute(&c.Workers.Connection)
}
