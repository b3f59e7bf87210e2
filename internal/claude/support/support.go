// Package support returns the statements that hold on the CLI of this machine.
//
// The verdicts on tested versions, as published, are built in. For any other program, the
// statements about money and permission are probed before its first run. Their verdicts are stored
// in the user's cache by the digest of the file and the version that it prints.
package support

import (
	"cmp"
	"context"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"wavex/internal/claude/probe"
	"wavex/internal/claude/statement"
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
	Support statement.SupportSet
	Source  Source
	Why     map[statement.ID]string // observations for statements that fail
	Err     error                   // why probes in this process left some unknown; may be nil
}

// maxTries bounds the number of runs before which statements about money and permission that stay
// unknown are probed. After that only All probes them.
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
	table, tested := statement.Tested(p.Version.String())
	size := statement.PublishedSize(p.Version.String(), cmp.Or(s.platform, runtime.GOOS+"/"+runtime.GOARCH))
	if st, err := os.Stat(p.Path); tested && err == nil && st.Size() == size {
		c.Support = table
		return nil, c
	}
	k := s.load(p)
	c.Source, c.Why, c.Support = Cached, k.Why, statement.SupportSet{}
	for _, st := range statement.All() { // a missing flag costs an attempt, but no money
		if v, known := table[st.ID]; known && !st.Kind.Urgent() {
			c.Support[st.ID] = v
		}
	}
	maps.Copy(c.Support, k.Support)
	return k, c
}

// Ensure returns the verdicts on a program before a run. It probes the statements about money and
// permission that are unknown, unless the known ones refuse the program.
func (s Store) Ensure(ctx context.Context, p Program) CLI {
	k, c := s.lookup(p)
	needsProbe := slices.ContainsFunc(c.Support.Select(statement.Unknown),
		func(s statement.Statement) bool { return s.Kind.Urgent() })
	if why, _ := c.Refusal(); k == nil || k.Tries >= maxTries || !needsProbe || why != "" {
		return c
	}
	if s.probeUrgent != nil {
		return s.addReport(k, p, s.probeUrgent(ctx, p.target()))
	}
	return s.addReport(k, p, probe.Urgent(ctx, p.target(), cmp.Or(s.Limit, probe.UrgentLimit)))
}

// probeAllLimit bounds All: ten processes of the CLI, which take a minute in total on a busy machine, and several on a
// slow one. If it is too short, verdicts are missing.
const probeAllLimit = 8 * time.Minute

// ProbeAll probes every statement, also on a tested version.
func (s Store) ProbeAll(ctx context.Context, p Program) CLI {
	return s.Add(p, probe.All(ctx, p.target(), probeAllLimit))
}

// Add adds the report of a probe to the stored verdicts.
func (s Store) Add(p Program, r probe.Report) CLI { return s.addReport(s.load(p), p, r) }

func (s Store) addReport(k *cacheEntry, p Program, r probe.Report) CLI {
	k.add(r)
	k.Tries++
	s.save(k)
	_, c := s.lookup(p)
	// The cache may not be writable, and no verdicts are stored for a published version.
	maps.Copy(c.Support, k.Support)
	c.Why, c.Source, c.Err = k.Why, Probed, r.Err
	return c
}

func (p Program) target() probe.Target {
	return probe.Target{Argv: []string{p.Path}, Env: p.Env, Wrapper: p.Link || !native(p.Path)}
}
