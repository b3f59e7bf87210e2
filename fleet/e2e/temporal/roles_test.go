package temporal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"wavex/budget"
	"wavex/fleet"
	"wavex/fleet/remote"
	"wavex/fleet/remote/temporal"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/run"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/runner"
	"wavex/scheduler"
)

// This file has the programs that the tests start, kill and freeze.

// place says where the engine and the git remote are.
type place struct {
	Address, Namespace string
	Key                []byte
	Bare               string // the git remote
	Dir                string // of a worker, or the project of a coordinator
	Name               string // of a worker, or the run of a coordinator
	Heartbeat          time.Duration
	Plan               string
	Budget             budget.USD // of a coordinator
	Parallel           int        // of a coordinator; 0: 8
}

func (p *place) key() *wire.Key {
	k, err := wire.NewKey(p.Key)
	if err != nil {
		panic(err)
	}
	return k
}

func (p *place) dial(ctx context.Context) (*temporal.Client, error) {
	return temporal.Dial(ctx, temporal.Options{Address: p.Address, Namespace: p.Namespace, Key: p.key(),
		Worker: remote.Worker{Name: p.Name, Slots: slots}})
}

// slots is the number of attempts that a worker makes at a time.
const slots = 4

// self returns the command line of this program in a role of wavex.
func self(role string) []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{path, role}
}

func warn(err error) { fmt.Fprintln(os.Stderr, "warning:", err) }

// newWorker returns a worker as `wavex worker` has one, that makes rehearsals and commands.
func newWorker(p *place, mark string, a runner.Agent) *worker.Worker {
	prices, err := budget.LoadPrices(nil)
	if err != nil {
		panic(err)
	}
	return worker.New(worker.Options{Name: p.Name, Key: p.key(), Dir: p.Dir, Mark: mark, Release: "test",
		Env: os.Environ(), Allow: []string{p.Bare}, Warn: warn,
		Local: func(_ *wire.Request, _ loop.Dir, observe func(runner.Observation)) (*runner.Local, error) {
			host := runner.Host{Env: proc.Inherit(os.Environ(), nil), Rehearsal: true, Observe: observe,
				Lister: &filetree.Lister{}}
			if a != nil {
				return &runner.Local{Host: host, Agent: a}, nil
			}
			a := agent.Agent{Name: agent.Rehearsal, Argv: self("agent")}
			return &runner.Local{Host: host, Agent: a.New(agent.Setup{Host: host, Run: mark, Prices: prices})}, nil
		}})
}

// work is a worker until SIGTERM, with its watchdog.
func work(ctx context.Context, text string) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	mark := worker.Mark(p.Name, os.Getpid())
	defer proc.Contain(ctx, self("guard"), mark, filepath.Join(p.Dir, "guard.lock"), warn)()
	client, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	w := newWorker(&p, mark, nil)
	err = client.Serve(ctx, []string{p.key().Queue(""), p.key().Queue(p.Name)}, slots,
		func(task worker.Task) { w.Attempt(ctx, task) })
	return errors.Join(err, w.Close(context.WithoutCancel(ctx)))
}

// noView is a ui.View that shows nothing.
type noView struct{}

func (noView) Event(event.Event, *scheduler.State) {}
func (noView) Observe(runner.Observation)          {}
func (noView) Close() error                        { return nil }

// coordinate runs or resumes a run whose attempts are made on workers. It says the status at its end.
func coordinate(ctx context.Context, text string) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	client, err := p.dial(ctx)
	if err != nil {
		return err
	}
	prices, err := budget.LoadPrices(nil)
	if err != nil {
		return err
	}
	pl, diags := plan.Parse("plan.json", []byte(p.Plan), plan.Options{})
	if pl == nil {
		return fmt.Errorf("the plan: %v", diags)
	}
	pl.Path = filepath.Join(p.Dir, "plan.json")
	c := event.DefaultConfig()
	c.Parallel, c.Run, c.Dir, c.Loop = cmp.Or(p.Parallel, 8), p.Name, p.Dir, loop.In(p.Dir)
	c.Workers = event.Workers{Engine: "temporal://" + p.Address + "/" + p.Namespace, QueueWait: time.Minute,
		Heartbeat: p.Heartbeat}
	c.Agent, c.Isolation, c.Counsel, c.Review, c.Judge = agent.Rehearsal, event.Isolated, false, "off", false
	c.Limits = budget.Limits{USD: p.Budget, NoIterations: true}
	o := run.Options{Plan: pl, Config: c, Agent: agent.Agent{Name: agent.Rehearsal, Argv: self("agent")},
		Prices: prices, Redactor: secret.New(os.Environ()), Err: os.Stderr, Notices: true,
		Fleet: fleet.On(client, p.key(), p.Bare)}
	if events, err := runlog.Read(c.Loop); err == nil && len(events) > 0 {
		o.Resume, o.JournalLen = true, len(events)
	}
	s, err := run.Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	out, err := s.Run(ctx, run.Console{View: noView{}})
	fmt.Println(out.End.Status)
	fmt.Fprintln(os.Stderr, out.End.Reason)
	if out.State != nil {
		for i := range out.State.Tasks {
			if last := out.State.Tasks[i].Last; last != nil && last.Outcome != runner.Done {
				fmt.Fprintf(os.Stderr, "the last attempt at task %d: %s %s\n", i, last.Outcome, last.Reason)
			}
		}
	}
	return err
}
