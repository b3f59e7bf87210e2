package fleet

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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/cmd"
	"wavex/fleet/remote"
	"wavex/fleet/worker"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/proc"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
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

func newWorker(f fleet, std cmd.Stdio) *cobra.Command {
	var connection *event.Workers
	o := workerOptions{namespace: "default", name: workerName(), drain: 30 * time.Minute}
	c := &cobra.Command{
		Use:   "worker",
		Short: "Make attempts for runs of other machines",
		Long: `worker takes attempts from a Temporal server and makes them here: in worktrees
of the repository that the run names, with the claude CLI, the login and the
git access of this machine. It takes no plan; wavex run --workers sends it work.
Any program with the key may run commands here, for the git remotes that
--allow-repo names, so each worker should have an account of its own.
fleet/docs/workers.md tells more.

SIGTERM and Ctrl-C drain: the worker takes nothing more and lets attempts go on
for the time of --drain. A second one interrupts them, a third leaves at once.

Exit status: 0 --once is over, 2 usage, 5 a person must act (no login, the
engine cannot be reached, the directory is in use), 130 and 143 stopped.`,
		Example: "  wavex worker --connect temporal.example:7233 --key-file wavex.key \\\n" +
			"      --tls-ca ca.pem --allow-repo git@git.example:team/\n" +
			"  wavex worker --salvage 20260314-091500-k3fd",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Connection = connection.Connection
			if err := o.check(c.Flags()); err != nil {
				return err
			}
			in := make(chan os.Signal, 4)
			signal.Notify(in, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer signal.Stop(in)
			return runWorker(c.Context(), f, o, std, in)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.connect, "connect", "", "address of the Temporal server, `HOST:PORT`")
	flags.StringVar(&o.namespace, "namespace", o.namespace, "namespace of the server")
	connection = cmd.WorkersFlags(c, func(name string) bool {
		return name == "key-file" || name == "insecure" || strings.HasPrefix(name, "tls-")
	})
	flags.StringArrayVar(&o.allow, "allow-repo", nil,
		"the `beginning` of git remotes that this worker works for, like git@HOST:TEAM/ (repeatable)")
	flags.BoolVar(&o.bypass, "allow-bypass", false, "make attempts that bypass permissions, too")
	flags.StringArrayVar(&o.pass, "pass", nil,
		"a `variable` that agents, checks and setups get from this worker (repeatable)")
	flags.StringVar(&o.name, "name", o.name, "name of this worker; no two have the same")
	flags.IntVar(&o.slots, "slots", 0, "attempts at a time (default: by memory and processors)")
	flags.StringVar(&o.dir, "dir", "",
		"directory for repositories and worktrees (default: wavex/worker in the user's cache)")
	flags.DurationVar(&o.drain, "drain", o.drain, "how long attempts may go on after the first signal")
	flags.IntVar(&o.once, "once", 0, "end after this number of attempts")
	flags.StringVar(&o.salvage, "salvage", "", "push the work of this `run` that could not be pushed, and end")
	flags.StringVar(&o.agent, "agent", agent.Claude,
		"the agent: claude, or rehearse: then the worker needs no CLI and makes rehearsals and commands only")
	flags.StringVar(&o.claude, "claude", "", "path of the claude CLI (default: WAVEX_CLAUDE, else claude in PATH)")
	flags.StringVar(&o.output, "output", "text", "form of the output: text, json")
	return c
}

var validName = textfmt.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// unfit matches the characters of a host's name that a worker's may not have.
var unfit = textfmt.Pattern(`[^A-Za-z0-9_-]+`)

// workerName returns the name of the machine, as the name of a worker.
func workerName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	host = unfit().ReplaceAllString(host, "-")
	return cmp.Or(strings.Trim(host[:min(len(host), 60)], "-_"), "worker")
}

// check refuses wrong flags. It makes paths absolute.
func (o *workerOptions) check(flags *pflag.FlagSet) (err error) {
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
	if !isAddress(o.connect) {
		return usage("--connect is needed: the HOST:PORT of the Temporal server, not %q", o.connect)
	}
	for _, bad := range []struct {
		is         bool
		flag, want string
	}{
		{!isNamespace(o.namespace), "namespace", "a name"},
		{!validName().MatchString(o.name), "name", "letters, digits and . _ - (at most 64)"},
		{o.slots < 0 || flags.Changed("slots") && o.slots == 0, "slots", "a number from 1"},
		{o.once < 0 || flags.Changed("once") && o.once == 0, "once", "a number from 1"},
		{o.drain < 0, "drain", "a duration like 30m"},
		{!slices.Contains(agent.Names(), o.agent), "agent", strings.Join(agent.Names(), " or ")},
		{o.output != "text" && o.output != "json", "output", "text or json"},
	} {
		if bad.is {
			return usage("--%s takes %s, not %q", bad.flag, bad.want, flags.Lookup(bad.flag).Value)
		}
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

func runWorker(ctx context.Context, f fleet, o workerOptions, std cmd.Stdio, signals <-chan os.Signal) error {
	if o.salvage != "" {
		return runSalvage(ctx, o, std)
	}
	eo, err := engineOptions(o.connect, o.namespace, o.Connection, func(flag string) string { return "--" + flag })
	if err != nil {
		return err
	}
	_ = proc.Subreaper()
	h := &workerHost{fleet: f, opts: o, std: std, key: eo.Key, mark: worker.Mark(o.name, os.Getpid()),
		secrets: secret.New(os.Environ())}
	if h.opts.slots == 0 {
		h.opts.slots = defaultSlots(cmd.FreeMemory(), runtime.NumCPU())
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
	eo.Worker = remote.Worker{Name: o.name, Slots: h.opts.slots, Release: cmd.Version(), CLI: h.cli, Login: h.login}
	e, err := h.reach(ctx, eo, signals)
	if err != nil {
		return err
	}
	defer e.Close()
	return h.serve(ctx, e, eo, signals)
}

// runSalvage pushes the work of a run that this worker could not push.
func runSalvage(ctx context.Context, o workerOptions, std cmd.Stdio) error {
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
