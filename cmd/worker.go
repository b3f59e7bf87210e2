package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/agent"
	"wavex/internal/async"
	"wavex/internal/claude/statement"
	"wavex/internal/doctor"
	"wavex/internal/event"
	"wavex/internal/exhaustion"
	"wavex/internal/lazyregexp"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/remote"
	"wavex/internal/remote/temporal"
	"wavex/internal/report"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/internal/wall"
	"wavex/internal/worker"
	"wavex/runner"
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

// engineTries bounds the time to reach the engine at the start, and enginePause the time between two tries.
const (
	engineTries = time.Minute
	enginePause = 2 * time.Second
)

// oldRuns is the age at which a worker removes a run.
const oldRuns = 7 * 24 * time.Hour

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

// defaultSlots returns the number of attempts for which a machine has memory, at most four for each processor.
func defaultSlots(free int64, processors int) int {
	if free <= 0 {
		return processors
	}
	return int(max(1, min(free/memoryPerAttempt, int64(4*processors))))
}

// workerHost is the machine of a worker.
type workerHost struct {
	opts    workerOptions
	std     Stdio
	mark    string
	agent   agent.Agent
	wall    *wall.Wall
	cli     string // the version of the CLI; "": none
	login   string // its kind
	secrets *secret.Redactor
}

// look checks whether the machine can make attempts: the CLI and its login, git, the disk.
func (h *workerHost) look(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return usererr.Blocked(errors.New("git is not there; install it"))
	}
	if c := doctor.Disk(h.opts.dir); c.Status == doctor.Fail {
		return preflightError(c)
	}
	h.agent = agent.Agent{Name: h.opts.agent}
	if h.agent.IsRehearsal() {
		h.login = "rehearsal"
		return nil
	}
	found, err := findClaude(h.opts.claude)
	if err != nil {
		return usererr.Blocked(fmt.Errorf("the claude CLI %q %s", found, claudeProblem(err)))
	}
	h.agent.Argv = []string{found}
	env := proc.EnvironPass(os.Environ(), h.opts.pass, nil)
	p, err := checkCLI(ctx, &h.agent, env, h.std)
	if err != nil {
		return err
	}
	h.cli = p.Version.String()
	login := doctor.Login(env, runtime.GOOS == "darwin")
	if login.Status != doctor.OK && (login.Status == doctor.Fail && p.Version.Less(minAuthStatus) ||
		!p.Version.Less(minAuthStatus) && doctor.LoggedOut(ctx, h.agent.Argv, env, h.opts.dir, answerTimeout)) {
		return preflightError(login)
	}
	h.login = doctor.LoginKind(env)
	h.wall, _ = wall.Try(ctx, h.opts.dir, env) // without one only the changes of an attempt are looked at
	return nil
}

// reach connects with the engine. It tries for a while, since both may have been started together.
func (h *workerHost) reach(ctx context.Context, eo temporal.Options, signals <-chan os.Signal) (engine, error) {
	for began := time.Now(); ; {
		e, server, err := reach(ctx, h.std, eo)
		if err == nil {
			if why := shortRetention(server); why != "" {
				h.say(worker.Event{Type: "warning", Text: why})
			}
			return e, nil
		}
		if time.Since(began) > engineTries || ctx.Err() != nil {
			return nil, err
		}
		h.say(worker.Event{Type: "waiting", Text: textfmt.OneLine(err.Error(), runner.ReasonMax)})
		select {
		case s := <-signals:
			return nil, exitCode(initialSignal(s).Code)
		default:
			_ = async.Sleep(ctx, enginePause)
		}
	}
}

// shortRetention says why a namespace may lose results before a run resumes; "": it keeps them long enough.
func shortRetention(s temporal.Server) string {
	const enough = 7 * 24 * time.Hour
	if s.Retention <= 0 || s.Retention >= enough {
		return ""
	}
	return fmt.Sprintf("the namespace keeps results for %s: a run that is resumed later finds those that workers have "+
		"pushed; set its retention to 7 days", report.FormatDuration(s.Retention))
}

// serve makes attempts until a signal, or --once.
func (h *workerHost) serve(ctx context.Context, e engine, eo temporal.Options, signals <-chan os.Signal) (err error) {
	if n, err := worker.RemoveOld(ctx, h.opts.dir, time.Now().Add(-oldRuns), os.Environ()); err != nil {
		h.say(worker.Event{Type: "warning", Text: "removing old runs: " + err.Error()})
	} else if n > 0 {
		h.say(worker.Event{Type: "cleaned", Text: "removed " + report.Plural(n, "old run", "old runs")})
	}
	warn := func(err error) { h.say(worker.Event{Type: "warning", Text: err.Error()}) }
	defer proc.Contain(ctx, h.std.watchdogArgv(), h.mark, filepath.Join(h.opts.dir, loop.WatchdogLock),
		proc.MemoryLimits{}, warn)()
	w := h.worker(warn)
	defer func() { err = errors.Join(err, w.Close(context.WithoutCancel(ctx))) }()
	queues := []string{eo.Key.Queue(""), eo.Key.Queue(h.opts.name)}
	h.say(worker.Event{Type: "worker", Text: fmt.Sprintf("%s at %s, namespace %s, queue %s: %s in %s",
		h.opts.name, h.opts.connect, h.opts.namespace, queues[0], report.Plural(h.opts.slots, "slot", "slots"), h.opts.dir)})
	s := worker.Server{Attempt: w.Attempt, Slots: h.opts.slots, Once: h.opts.once, Drain: h.opts.drain, Full: h.full,
		Look: 10 * time.Second, Say: h.say,
		Serve: func(ctx context.Context, slots int, work func(worker.Task)) error {
			return e.Serve(ctx, queues, slots, work)
		}}
	stops := make(chan struct{}, 2)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, stops) }()
	var first os.Signal
	for n := 1; ; n++ {
		select {
		case err := <-done:
			if err == nil && first != nil {
				return exitCode(initialSignal(first).Code)
			}
			if err != nil {
				return usererr.Blocked(err)
			}
			return nil
		case s := <-signals:
			if first == nil {
				first = s
			}
			if n > 2 {
				_, err := proc.Sweep(context.WithoutCancel(ctx), h.mark)
				return errors.Join(exitCode(initialSignal(first).Code), err)
			}
			stops <- struct{}{}
		}
	}
}

// Limits below which a worker takes no attempts, in bytes.
const (
	workerMemory = 500 << 20
	workerDisk   = 1 << 30
)

// full says why this machine must not take attempts now.
func (h *workerHost) full() string {
	if free := freeMemory(); free > 0 && free < workerMemory {
		return exhaustion.Size(uint64(free)) + " of memory free, less than " + exhaustion.Size(workerMemory)
	}
	if free, _, known := exhaustion.DiskFree(h.opts.dir); known && free < workerDisk {
		return exhaustion.Size(free) + " free in " + h.opts.dir + ", less than " + exhaustion.Size(workerDisk)
	}
	return ""
}

// say shows an event of the worker.
func (h *workerHost) say(e worker.Event) {
	e.Text = h.secrets.String(textfmt.Line(e.Text))
	if h.opts.output == "json" {
		if e.Time.IsZero() {
			e.Time = time.Now().UTC().Truncate(time.Millisecond)
		}
		_ = json.NewEncoder(h.std.Out).Encode(e) // attempts go on without a reader
		return
	}
	line := cmp.Or(e.Text, e.Type)
	if e.ID != "" {
		line = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Type, e.ID, e.Outcome, e.Text))
	}
	fmt.Fprintf(h.std.Err, "%s wavex worker: %s\n", time.Now().UTC().Format(time.RFC3339), line)
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

// standIn returns the rehearsal agent.
func standIn() (agent.Agent, error) {
	self, err := os.Executable()
	if err != nil {
		return agent.Agent{}, fmt.Errorf("finding wavex itself: %w", err)
	}
	return agent.Agent{Name: agent.Rehearsal, Argv: []string{self, "agent"}, Support: statement.StandIn()}, nil
}
