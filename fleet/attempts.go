package fleet

import (
	"context"
	"errors"
	"os"

	"wavex/budget"
	"wavex/cmd"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/agent"
	"wavex/internal/claude"
	"wavex/internal/loop"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/runner"
)

// This file makes the attempts of a worker, as a run makes them on its own machine.

// worker returns the Worker of this machine.
func (h *workerHost) worker(warn func(error)) *worker.Worker {
	return worker.New(worker.Options{Name: h.opts.name, Dir: h.opts.dir, Mark: h.mark, Key: h.key, Release: cmd.Version(),
		Env: os.Environ(), Pass: h.opts.pass, Allow: h.opts.allow, Bypass: h.opts.bypass, Local: h.local, Redact: h.redact,
		Warn: warn})
}

// local returns the Runner of an attempt.
func (h *workerHost) local(req *wire.Request, dir loop.Dir, observe func(runner.Observation)) (*runner.Local, error) {
	a := h.agent
	var err error
	switch {
	case req.Rehearsal:
		a, _, err = cmd.FindAgent(context.Background(), agent.Rehearsal, "", "", nil, h.std)
	case a.IsRehearsal() && req.Attempt.Command == "":
		err = errors.New("it makes rehearsals only (see --agent)")
	}
	if err != nil {
		return nil, err
	}
	prices, err := budget.LoadPrices(nil)
	if err != nil {
		return nil, err
	}
	host := runner.Host{Env: proc.Inherit(os.Environ(), h.opts.pass), ExtraEnv: a.Env(dir, req.Attempt.Run),
		Rehearsal: req.Rehearsal, Redactor: h.secrets, Observe: func(o runner.Observation) {
			o.Text = h.secrets.String(o.Text)
			observe(o)
		}}
	if !req.NoWall && !req.Rehearsal {
		host.Wall = h.wall
	}
	// Without a Person, calls that one would decide on are denied.
	return &runner.Local{Host: host, Agent: &claude.Agent{Host: host, Name: a.Name, Argv: a.Argv, Find: a.Find,
		Run: h.mark, Prices: prices,
		Judge: func(t runner.TurnRequest) policy.Judge { return policy.New(t.Policy) }}}, nil
}

// redact removes the secrets of this machine from a result.
func (h *workerHost) redact(res runner.Result) runner.Result {
	clean := h.secrets.Value(res).(runner.Result)
	if clean.Signature != "" && (clean.Reason != res.Reason || clean.Detail != res.Detail) {
		clean.Signature = runner.Signature(clean.Reason, clean.Detail)
	}
	return clean
}
