// Package probe determines which statements of internal/claude/statement hold on a CLI.
//
// A probe runs the CLI itself, in a scratch folder with a scratch configuration, against a scripted
// Messages API on loopback. It needs no network, no login and no money. A verdict needs evidence:
// the requests to the API, the files left behind, the lines printed. If a probe is interrupted by
// its time limit or the end of the CLI, its statements stay unknown.
package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"wavex/budget"
	"wavex/internal/claude/statement"
	"wavex/internal/fakeapi"
)

// Target is the CLI to probe.
type Target struct {
	Argv []string // the program and the arguments before its flags
	Env  []string // wavex's own environment, of which the CLI gets a selection
	// Wrapper reports that the program is a script that starts the CLI. It keeps its home.
	Wrapper bool
	// Managed names the files of administrators' settings to look for; nil: those of the system.
	Managed []string
}

// Report holds the results of probes.
type Report struct {
	Support statement.SupportSet
	Why     map[statement.ID]string // observations for statements that fail
	Err     error                   // why some statements are unknown; nil: every probe was completed
}

// UrgentLimit bounds Urgent.
const UrgentLimit = 3 * time.Second

// errTimeout means that a probe reached its time limit.
var errTimeout = errors.New("no answer in time")

// Urgent probes the statements about money and permission, with at most three processes of the CLI
// and within limit. The report also has verdicts on other statements that the same probes observe.
func Urgent(ctx context.Context, t Target, limit time.Duration) Report {
	return run(ctx, t, limit-stopWait, func(ctx context.Context, b *prober, g *errgroup.Group) {
		g.Go(func() error { return errors.Join(b.probeTurns(ctx), b.probeResume(ctx)) })
		g.Go(func() error { return b.probeCap(ctx) })
	})
}

// All probes every statement within limit, with up to ten processes, at most three at once.
func All(ctx context.Context, t Target, limit time.Duration) Report {
	return run(ctx, t, limit-stopWait, func(ctx context.Context, b *prober, g *errgroup.Group) {
		g.Go(func() error {
			return errors.Join(b.probeTurns(ctx), b.probeResume(ctx), b.probeSessionID(ctx))
		})
		g.Go(func() error { return errors.Join(b.probeCap(ctx), b.probeSchema(ctx)) })
		g.Go(func() error { return b.probeTaskTools(ctx) })
	})
}

// probes starts the probes of a run.
type probes func(context.Context, *prober, *errgroup.Group)

// run prepares the probes, starts them, waits for them, and removes all their files.
func run(ctx context.Context, t Target, limit time.Duration, start probes) Report {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	sheet := &findings{support: statement.SupportSet{}, why: map[statement.ID]string{}}
	fail := func(err error) Report { return Report{Support: sheet.support, Why: sheet.why, Err: err} }
	if err := t.checkUnmanaged(); err != nil {
		return fail(err)
	}
	r, err := newSandbox()
	if err != nil {
		return fail(fmt.Errorf("making a folder for probes: %w", err))
	}
	defer r.remove()
	api, err := fakeapi.Start(script(r))
	if err != nil {
		return fail(err)
	}
	defer api.Close() // replies that were not requested are part of the verdicts
	b := &prober{findings: sheet, target: t, sandbox: r, api: api, session: uuid.NewString()}
	var g errgroup.Group
	start(ctx, b, &g)
	return fail(g.Wait())
}

// prober holds the state that the probes of one run share.
type prober struct {
	*findings
	target  Target
	sandbox sandbox
	api     *fakeapi.Server
	session string // of work and resumed
	// workCost is the cost of the session after work; 0: work did not finish. resumed reads it after
	// work.
	workCost budget.USD
}

// model is the model of all probes. Both tested versions know its price.
const model = "claude-sonnet-4-5"

// start starts a CLI process of a probe.
func (b *prober) start(more ...string) (*cliProcess, error) {
	return b.startWith(nil, append([]string{"--model", model}, more...)...)
}

func (b *prober) startWith(env []string, more ...string) (*cliProcess, error) {
	env = append(b.sandbox.environ(b.target.Env, b.target.Wrapper, b.api.URL()), env...)
	return startProcess(b.target.Argv, env, b.sandbox.project, more...)
}

// errNoRequest means that a turn ended without a request to the API, as with a program that only
// looks like the CLI.
var errNoRequest = errors.New("a turn ended without a request to the API")

// runTurn begins a turn and returns the first of its requests that matches. It returns an error if
// the turn ends before that.
func (b *prober) runTurn(ctx context.Context, t *cliProcess, prompt string,
	match fakeapi.Match) (*fakeapi.Request, error) {
	if err := t.sendPrompt(prompt); err != nil {
		return nil, t.writeError(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var r *fakeapi.Request
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, _ = b.api.Wait(ctx, match) // nil: the turn has ended, or ctx has
		cancel()
	}()
	_, err := t.await(ctx, isResult)
	cancel()
	<-done
	switch {
	case r != nil:
		return r, nil
	case err == nil:
		return nil, errNoRequest
	}
	return nil, err
}

// findings collects verdicts. It is safe for concurrent use until the probes have ended.
type findings struct {
	mu      sync.Mutex
	support statement.SupportSet
	why     map[statement.ID]string
}

// decide records an observation about a statement. One failure is final.
func (s *findings) decide(id statement.ID, holds bool, seen string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case holds && s.support[id] == statement.Unknown:
		s.support[id] = statement.Holds
	case !holds && s.support[id] != statement.Fails:
		s.support[id] = statement.Fails
		s.why[id] = fmt.Sprintf(seen, args...)
	}
}
