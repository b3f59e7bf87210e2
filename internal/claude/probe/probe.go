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
	Verdicts statement.Verdicts
	Why      map[statement.ID]string // observations for statements that fail
	Err      error                   // why some statements are unknown; nil: every probe was completed
}

// UrgentLimit bounds Urgent.
const UrgentLimit = 3 * time.Second

// errSlow means that a probe reached its time limit.
var errSlow = errors.New("no answer in time")

// Urgent probes the statements about money and permission, with at most three processes of the CLI
// and within limit. The report also has verdicts on other statements that the same probes observe.
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

// probes starts the probes of a run.
type probes func(context.Context, *bench, *errgroup.Group)

// run prepares the probes, starts them, waits for them, and removes all their files.
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
	defer api.Close() // replies that were not requested are part of the verdicts
	b := &bench{sheet: sheet, target: t, room: r, api: api, session: uuid.NewString()}
	var g errgroup.Group
	start(ctx, b, &g)
	return fail(g.Wait())
}

// bench holds the state that the probes of one run share.
type bench struct {
	*sheet
	target  Target
	room    room
	api     *fakeapi.Server
	session string // of work and resumed
	// before is the cost of the session after work; 0: work did not finish. resumed reads it after
	// work.
	before budget.USD
}

// model is the model of all probes. Both tested versions know its price.
const model = "claude-sonnet-4-5"

// begin starts a CLI process of a probe.
func (b *bench) begin(more ...string) (*talk, error) {
	return b.beginWith(nil, append([]string{"--model", model}, more...)...)
}

func (b *bench) beginWith(env []string, more ...string) (*talk, error) {
	env = append(b.room.environ(b.target.Env, b.target.Wrapper, b.api.URL()), env...)
	return begin(b.target.Argv, env, b.room.project, more...)
}

// errUnasked means that a turn ended without a request to the API, as with a program that only
// looks like the CLI.
var errUnasked = errors.New("a turn ended without a request to the API")

// asked begins a turn and returns the first of its requests that matches. It returns an error if
// the turn ends before that.
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

// decide records an observation about a statement. One failure is final.
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
