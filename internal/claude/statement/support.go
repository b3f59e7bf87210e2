package statement

import (
	"cmp"
	"context"
	"maps"
	"os"
	"time"
)

// Source is the source of verdicts.
type Source int

// These are the sources.
const (
	BuiltIn Source = iota // a tested version
	Cached                // stored verdicts of earlier probes
	Probed                // probes in this process
)

// CLI holds the verdicts on a program.
type CLI struct {
	Program
	Support SupportSet
	Source  Source
	Why     map[ID]string // observations for statements that fail
	Err     error         // why probes in this process left some unknown; may be nil
}

// maxTries bounds the number of runs before which statements that stay unknown are probed. After that only Probe does.
const maxTries = 3

// Lookup returns the known verdicts on a program without starting it.
func (s Store) Lookup(p Program) CLI {
	_, c := s.lookup(p)
	return c
}

// lookup is Look. It also returns the stored verdicts on the program, or nil if the verdicts are built
// in.
func (s Store) lookup(p Program) (*cacheEntry, CLI) {
	c := CLI{Program: p}
	release, tested := Tested(p.Version.String())
	if st, err := os.Stat(p.Path); tested && err == nil && st.Size() == release.Size {
		c.Support = release.Support()
		return nil, c
	}
	k := s.load(p)
	c.Source, c.Why, c.Support = Cached, k.Why, maps.Clone(k.Support)
	return k, c
}

// Ensure returns the verdicts on a program before a run. It probes the program if some are unknown, unless the known
// ones refuse it.
func (s Store) Ensure(ctx context.Context, p Program) CLI {
	k, c := s.lookup(p)
	why, _ := c.Refusal()
	if k == nil || k.Tries >= maxTries || len(c.Support.Select(Unknown)) == 0 || why != "" {
		return c
	}
	if s.probe != nil {
		return s.addReport(k, p, s.probe(ctx, p.target()))
	}
	return s.addReport(k, p, RunProbes(ctx, p.target(), cmp.Or(s.Limit, ProbeLimit)))
}

// patientLimit bounds Probe. If it is too short, as on a busy machine, verdicts are missing.
const patientLimit = 2 * time.Minute

// Probe probes a program, also a tested version.
func (s Store) Probe(ctx context.Context, p Program) CLI {
	return s.Add(p, RunProbes(ctx, p.target(), patientLimit))
}

// Add adds the report of a probe to the stored verdicts.
func (s Store) Add(p Program, r Report) CLI { return s.addReport(s.load(p), p, r) }

func (s Store) addReport(k *cacheEntry, p Program, r Report) CLI {
	k.add(r)
	k.Tries++
	s.save(k)
	_, c := s.lookup(p)
	// The cache may not be writable, and no verdicts are stored for a published version.
	maps.Copy(c.Support, k.Support)
	c.Why, c.Source, c.Err = k.Why, Probed, r.Err
	return c
}

func (p Program) target() Target {
	return Target{Argv: []string{p.Path}, Env: p.Env, Wrapper: p.Link || !native(p.Path)}
}
