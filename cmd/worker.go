package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/lazyregexp"
	"wavex/internal/proc"
	"wavex/internal/remote"
	"wavex/internal/secret"
	"wavex/internal/usererr"
	"wavex/internal/worker"
)

type workerOptions struct {
	connect   string
	namespace string
	event.Connection
	allow   []string
	bypass  bool
	pass    []string
	name    string
	slots   int
	dir     string
	drain   time.Duration
	once    int
	salvage string
	agent   string
	claude  string
	output  string
}

func newWorker(std Stdio) *cobra.Command {
	o := workerOptions{namespace: "default", name: workerName(), drain: 30 * time.Minute}
	c := &cobra.Command{
		Use:   "worker",
		Short: "Make attempts for runs of other machines",
		Long: `worker takes attempts from a Temporal server and makes them here: in worktrees
of the repository that the run names, with the claude CLI, the login and the
git access of this machine. It takes no plan; wavex run --workers sends it work.
Any program with the key may run commands here, for the git remotes that
--allow-repo names, so each worker should have an account of its own.
docs/workers.md tells more.

SIGTERM and Ctrl-C drain: the worker takes nothing more and lets attempts go on
for the time of --drain. A second one interrupts them, a third leaves at once.

Exit status: 0 --once is over, 2 usage, 5 a person must act (no login, the
engine cannot be reached, the directory is in use), 130 and 143 stopped.`,
		Example: "  wavex worker --connect temporal.example:7233 --key-file wavex.key \\\n" +
			"      --tls-ca ca.pem --allow-repo git@git.example:team/\n" +
			"  wavex worker --salvage 20260314-091500-k3fd",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			in := make(chan os.Signal, 4)
			signal.Notify(in, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer signal.Stop(in)
			return runWorker(c.Context(), o, std, in)
		},
	}
	f := c.Flags()
	text := func(to *string, takes string, ok func(string) bool) *value {
		return parsed(to, "string", takes, func(s string) (string, bool) { return s, ok(s) })
	}
	f.Var(text(&o.connect, "HOST:PORT", isAddress), "connect", "address of the Temporal server, `HOST:PORT`")
	f.Var(text(&o.namespace, "a name", isNamespace), "namespace", "namespace of the server")
	connectionFlags(c, &o.Connection)
	f.StringArrayVar(&o.allow, "allow-repo", nil,
		"the `beginning` of git remotes that this worker works for, like git@HOST:TEAM/ (repeatable)")
	f.BoolVar(&o.bypass, "allow-bypass", false, "make attempts that bypass permissions, too")
	f.StringArrayVar(&o.pass, "pass", nil, "a `variable` that agents, checks and setups get from this worker (repeatable)")
	f.Var(text(&o.name, "letters, digits and . _ - (at most 64)",
		func(s string) bool { return validName().MatchString(s) }), "name",
		"name of this worker; no two have the same")
	f.Var(number(&o.slots, 1), "slots", "attempts at a time (default: by memory and processors)")
	f.StringVar(&o.dir, "dir", "", "directory for repositories and worktrees (default: wavex/worker in the user's cache)")
	f.Var(duration(&o.drain, 0, "30m"), "drain", "how long attempts may go on after the first signal")
	f.Var(number(&o.once, 1), "once", "end after this number of attempts")
	f.StringVar(&o.salvage, "salvage", "", "push the work of this `run` that could not be pushed, and end")
	choiceFlag(c, &o.agent, "agent", agent.Claude, []string{agent.Claude, agent.Rehearsal},
		"the agent; with rehearse the worker needs no CLI and makes rehearsals and commands only")
	f.StringVar(&o.claude, "claude", "", "path of the claude CLI (default: WAVEX_CLAUDE, else claude in PATH)")
	outputFlag(c, &o.output)
	return c
}

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// unfit matches what a host's name may have and a worker's not.
var unfit = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// workerName returns the name of the machine, as the name of a worker.
func workerName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	host = unfit().ReplaceAllString(host, "-")
	return cmp.Or(strings.Trim(host[:min(len(host), 60)], "-_"), "worker")
}

// check refuses wrong flags. It makes paths absolute.
func (o *workerOptions) check() (err error) {
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return usage("--dir is needed: %s", err)
		}
		o.dir = filepath.Join(cache, "wavex", "worker")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil || o.salvage != "" {
		return err
	}
	if o.connect == "" {
		return usage("--connect is needed: the HOST:PORT of the Temporal server")
	}
	if len(o.allow) == 0 {
		return usage("--allow-repo is needed: the beginning of the git remotes that this worker works for, like " +
			"git@HOST:TEAM/")
	}
	for _, prefix := range o.allow {
		if err := worker.CheckPrefix(prefix); err != nil {
			return usage("--allow-repo %s, not %q", err, prefix)
		}
	}
	for _, name := range o.pass {
		if name == "" || strings.ContainsAny(name, "= \x00") {
			return usage("--pass takes the name of a variable, not %q", name)
		}
	}
	return absolute(&o.Connection)
}

func runWorker(ctx context.Context, o workerOptions, std Stdio, signals <-chan os.Signal) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.salvage != "" {
		return runSalvage(ctx, o, std)
	}
	eo, err := engineOptions(o.connect, o.namespace, o.Connection, func(flag string) string { return "--" + flag })
	if err != nil {
		return err
	}
	_ = proc.Subreaper()
	h := &workerHost{opts: o, std: std, mark: worker.Mark(o.name, os.Getpid()), secrets: secret.New(os.Environ())}
	h.key = eo.Key
	if h.opts.slots == 0 {
		h.opts.slots = defaultSlots(freeMemory(), runtime.NumCPU())
	}
	release, err := worker.Own(ctx, o.dir, h.mark)
	if errors.Is(err, worker.ErrInUse) {
		return usererr.Blocked(fmt.Errorf("--dir: %w; give each worker its own", err))
	}
	if err != nil {
		return err
	}
	defer release()
	if err := h.look(ctx); err != nil {
		return err
	}
	eo.Worker = remote.Worker{Name: o.name, Slots: h.opts.slots, Release: Version(), CLI: h.cli, Login: h.login}
	e, err := h.reach(ctx, eo, signals)
	if err != nil {
		return err
	}
	defer e.Close()
	return h.serve(ctx, e, eo, signals)
}

// runSalvage pushes the work of a run that this worker could not push.
func runSalvage(ctx context.Context, o workerOptions, std Stdio) error {
	pushed, err := worker.Salvage(ctx, o.dir, o.salvage, os.Environ())
	for _, ref := range pushed {
		fmt.Fprintln(std.Out, "pushed "+ref)
	}
	if err != nil {
		return usererr.Blocked(err)
	}
	if len(pushed) == 0 {
		return usage("--salvage: %s has nothing of run %s", o.dir, o.salvage)
	}
	_, err = io.WriteString(std.Err, "wavex: to take the work over: wavex resume, where the run is\n")
	return err
}
