// Package probe finds out which statements of internal/claude/statement hold on a CLI.
//
// A probe runs the CLI itself, in a scratch folder with a scratch configuration, against a scripted
// Messages API on loopback: it needs no network, no login and no money. A verdict needs
// evidence: what was asked of the API, which files were left, which lines were printed. Where
// a probe was cut short, by its time limit or because the CLI ended, its statements
// stay unknown.
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
	Argv []string // the program, and what precedes its flags
	Env  []string // wavex's own environment; what the CLI has of it is chosen here
	// Wrapper says that the program is a script that starts the CLI. It keeps its home.
	Wrapper bool
	// Managed names the files of administrators' settings to look for; nil: those of the system.
	Managed []string
}

// Report holds what probes found.
type Report struct {
	Verdicts statement.Verdicts
	Why      map[statement.ID]string // of what does not hold: what was seen
	Err      error                   // why some are unknown; nil: every probe came to its end
}

// UrgentLimit bounds Urgent.
const UrgentLimit = 3 * time.Second

// errSlow says that a probe's time was over.
var errSlow = errors.New("no answer in time")

// Urgent probes the statements about money and permission, with at most three processes of the CLI
// and within limit. Statements of another kind that show themselves on the way have a verdict too.
func Urgent(ctx context.Context, t Target, limit time.Duration) Report {
	return run(ctx, t, limit-stopWait, func(ctx context.Context, b *bench, g *errgroup.Group) {
		g.Go(func() error { return errors.Join(b.work(ctx), b.resumed(ctx)) })
		g.Go(func() error { return b.capped(ctx) })
	})
}

// All probes every statement within limit, with up to ten processes, at most three at once.
func All(ctx context.Context, t Target, limit time.Duration) Report {
	return run(ctx, t, limit-stopWait, func(ctx context.Context, b *bench, g *errgroup.Group) {
		g.Go(func() error {
			return errors.Join(b.work(ctx), b.resumed(ctx), b.taken(ctx), b.snapshot(ctx))
		})
		g.Go(func() error { return errors.Join(b.capped(ctx), b.schema(ctx)) })
		g.Go(func() error { return errors.Join(b.taskTools(ctx), b.sections(ctx)) })
	})
}

// probes starts what is to be tried.
type probes func(context.Context, *bench, *errgroup.Group)

// run makes everything ready, has the probes started, waits for them, and leaves nothing.
func run(ctx context.Context, t Target, limit time.Duration, start probes) Report {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	sheet := &sheet{verdicts: statement.Verdicts{}, why: map[statement.ID]string{}}
	fail := func(err error) Report { return Report{Verdicts: sheet.verdicts, Why: sheet.why, Err: err} }
	if err := t.free(); err != nil {
		return fail(err)
	}
	r, err := newRoom()
	if err != nil {
		return fail(fmt.Errorf("making a folder for probes: %w", err))
	}
	defer r.remove()
	api, err := fakeapi.Start(script(r))
	if err != nil {
		return fail(err)
	}
	defer api.Close() // what was not asked for is part of the verdicts
	b := &bench{sheet: sheet, target: t, room: r, api: api, session: uuid.NewString()}
	var g errgroup.Group
	start(ctx, b, &g)
	return fail(g.Wait())
}

// bench is what the probes of one run share.
type bench struct {
	*sheet
	target  Target
	room    room
	api     *fakeapi.Server
	session string // of work and resumed
	// before is what the session cost when work had ended; 0: it did not end. resumed reads it
	// after work.
	before budget.USD
}

// model is the one that probes ask for: both tested versions know its price.
const model = "claude-sonnet-4-5"

// begin starts a CLI process of a probe.
func (b *bench) begin(more ...string) (*talk, error) {
	return b.beginWith(nil, append([]string{"--model", model}, more...)...)
}

func (b *bench) beginWith(env []string, more ...string) (*talk, error) {
	env = append(b.room.environ(b.target.Env, b.target.Wrapper, b.api.URL()), env...)
	return begin(b.target.Argv, env, b.room.project, more...)
}

// errUnasked says that a turn ended that the API knows nothing of, as of a program that only looks like
// the CLI.
var errUnasked = errors.New("a turn ended without a request to the API")

// asked begins a turn and returns the first of its requests that matches. It is an error when the
// turn ends before.
func (b *bench) asked(ctx context.Context, t *talk, prompt string, match fakeapi.Match) (*fakeapi.Request, error) {
	if err := t.say(prompt); err != nil {
		return nil, t.silent(ctx, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var r *fakeapi.Request
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, _ = b.api.Wait(ctx, match) // nil: the turn has ended, or the time is over
		cancel()
	}()
	_, err := t.await(ctx, isResult)
	cancel()
	<-done
	switch {
	case r != nil:
		return r, nil
	case err == nil:
		return nil, errUnasked
	}
	return nil, err
}

// sheet collects verdicts. It is safe for concurrent use until the probes have ended.
type sheet struct {
	mu       sync.Mutex
	verdicts statement.Verdicts
	why      map[statement.ID]string
}

// decide notes what one observation says of a statement. A statement that failed once fails.
func (s *sheet) decide(id statement.ID, holds bool, seen string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case holds && s.verdicts[id] == statement.Unknown:
		s.verdicts[id] = statement.Holds
	case !holds && s.verdicts[id] != statement.Fails:
		s.verdicts[id] = statement.Fails
		s.why[id] = fmt.Sprintf(seen, args...)
	}
}
