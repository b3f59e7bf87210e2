package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"wavex/budget"
	"wavex/cmd"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/agent"
	"wavex/internal/doctor"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/runner"
)

// This file knows the machine of a worker: whether it can make attempts, how many, and when it must not. It makes them
// as a run makes them on its own machine.

// workerHost is the machine of a worker.
type workerHost struct {
	fleet
	opts    workerOptions
	std     cmd.Stdio
	mark    string
	key     *wire.Key
	agent   agent.Agent
	wall    *proc.Wall
	cli     string // the version of the CLI; "": none
	login   string // its kind
	secrets *secret.Redactor
	lister  filetree.Lister
}

// look checks whether the machine can make attempts: the CLI and its login, git, the disk.
func (h *workerHost) look(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return usererr.Blocked(errors.New("git is not there; install it"))
	}
	if c := doctor.Disk(h.opts.dir); c.Status == doctor.Fail {
		return usererr.Blocked(errors.New(c.Text + "; " + c.Fix))
	}
	env := proc.Inherit(os.Environ(), h.opts.pass).With(nil)
	var err error
	if h.agent, h.cli, err = cmd.FindAgent(ctx, h.opts.agent, h.opts.claude, h.opts.dir, env, h.std); err != nil {
		return err
	}
	if h.agent.IsRehearsal() {
		h.login = "rehearsal"
		return nil
	}
	h.login = doctor.LoginKind(env)
	h.wall, _ = proc.TryWall(ctx, h.opts.dir, env) // without one only the changes of an attempt are looked at
	return nil
}

// defaultSlots returns the number of attempts for which a machine has memory, at most four for each processor.
func defaultSlots(free int64, processors int) int {
	if free <= 0 {
		return processors
	}
	return int(max(1, min(free/cmd.MemoryPerAttempt, int64(4*processors))))
}

// Limits below which a worker takes no attempts, in bytes.
const (
	workerMemory = 500 << 20
	workerDisk   = 1 << 30
)

// full says why this machine must not take attempts now.
func (h *workerHost) full() string {
	if free := cmd.FreeMemory(); free > 0 && free < workerMemory {
		return proc.FormatSize(uint64(free)) + " of memory free, less than " + proc.FormatSize(workerMemory)
	}
	if free, _, known := proc.DiskFree(h.opts.dir); known && free < workerDisk {
		return proc.FormatSize(free) + " free in " + h.opts.dir + ", less than " + proc.FormatSize(workerDisk)
	}
	return ""
}

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
	host := runner.Host{Env: proc.Inherit(os.Environ(), h.opts.pass), Lister: &h.lister,
		ExtraEnv:  a.Env(dir.Run(req.Attempt.Run, loop.Sessions)),
		Rehearsal: req.Rehearsal, Redactor: h.secrets, Observe: func(o runner.Observation) {
			o.Text = h.secrets.String(o.Text)
			observe(o)
		}}
	if !req.NoWall && !req.Rehearsal {
		host.Wall = h.wall
	}
	// Without a Person, calls that one would decide on are denied.
	return &runner.Local{Host: host, Agent: a.New(agent.Setup{Host: host, Run: h.mark, Prices: prices})}, nil
}

// redact removes the secrets of this machine from a result.
func (h *workerHost) redact(res runner.Result) runner.Result {
	clean := h.secrets.Value(res).(runner.Result)
	if clean.Signature != "" && (clean.Reason != res.Reason || clean.Detail != res.Detail) {
		clean.Signature = runner.Signature(clean.Reason, clean.Detail)
	}
	return clean
}

// say shows an event of the worker.
func (h *workerHost) say(e worker.Event) {
	e.Time, e.Text = time.Now().UTC().Truncate(time.Millisecond), h.secrets.String(textfmt.Line(e.Text))
	if h.opts.output == "json" {
		_ = json.NewEncoder(h.std.Out).Encode(e) // attempts go on without a reader
		return
	}
	line := cmp.Or(e.Text, e.Type)
	if e.ID != "" {
		line = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Type, e.ID, e.Outcome, e.Text))
	}
	fmt.Fprintf(h.std.Err, "%s wavex worker: %s\n", e.Time.Format(time.RFC3339), line)
}
