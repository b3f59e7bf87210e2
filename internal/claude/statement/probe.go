package statement

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	Support SupportSet
	Why     map[ID]string // observations for statements that fail
	Err     error         // why some statements are unknown; nil: every probe was completed
}

// ProbeLimit bounds a probe before the first run of a CLI.
const ProbeLimit = 3 * time.Second

// errTimeout means that a probe reached its time limit.
var errTimeout = errors.New("no answer in time")

// RunProbes probes every statement within limit, with two processes of the CLI, and removes all their files.
func RunProbes(ctx context.Context, t Target, limit time.Duration) Report {
	ctx, cancel := context.WithTimeoutCause(ctx, limit-stopWait, errTimeout)
	defer cancel()
	sheet := &findings{support: SupportSet{}, why: map[ID]string{}}
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
	b := &prober{findings: sheet, target: t, sandbox: r, api: api}
	var g errgroup.Group
	g.Go(func() error { return b.probeTurns(ctx) })
	g.Go(func() error { return b.probeCap(ctx) })
	return fail(g.Wait())
}

// prober holds the state that the probes of one run share.
type prober struct {
	*findings
	target  Target
	sandbox sandbox
	api     *fakeapi.Server
}

// model is the model of all probes. Both tested versions know its price.
const model = "claude-sonnet-4-5"

// start starts a CLI process of a probe.
func (b *prober) start(ctx context.Context, more ...string) (*cliProcess, error) {
	env := b.sandbox.environ(b.target.Env, b.target.Wrapper, b.api.URL())
	return startProcess(ctx, b.target.Argv, env, b.sandbox.project,
		append([]string{"--model", model, "--no-session-persistence", "--strict-mcp-config"}, more...)...)
}

// errNoRequest means that a turn ended without a request to the API, as with a program that only
// looks like the CLI.
var errNoRequest = errors.New("a turn ended without a request to the API")

// findings collects verdicts. It is safe for concurrent use until the probes have ended.
type findings struct {
	mu      sync.Mutex
	support SupportSet
	why     map[ID]string
}

// decide records an observation about a statement. One failure is final.
func (s *findings) decide(id ID, holds bool, seen string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case holds && s.support[id] == Unknown:
		s.support[id] = Holds
	case !holds && s.support[id] != Fails:
		s.support[id] = Fails
		s.why[id] = fmt.Sprintf(seen, args...)
	}
}
