// Package known returns the statements that hold on the CLI of this machine.
//
// The verdicts on tested versions, as published, are built in. For any other program, the
// statements about money and permission are probed before its first run. Their verdicts are stored
// in the user's cache by the digest of the file and the version that it prints.
package known

import (
	"cmp"
	"context"
	"maps"
	"os"
	"runtime"
	"time"

	"wavex/internal/claude/probe"
	"wavex/internal/claude/statement"
)

// Program identifies the CLI by its file.
type Program struct {
	Path    string // absolute, without links
	Link    bool   // Path is a link of a version manager, which starts a program by the link's name
	Version statement.Version
	Env     []string // wavex's own environment
}

// Source is the source of verdicts.
type Source int

// These are the sources.
const (
	BuiltIn Source = iota // a tested version
	Kept                  // stored verdicts of earlier probes
	Probed                // probes in this process
)

// CLI holds the verdicts on a program.
type CLI struct {
	Program
	Verdicts statement.Verdicts
	Source   Source
	Why      map[statement.ID]string // observations for statements that fail
	Err      error                   // why probes in this process left some unknown; may be nil
}

// tries bounds the number of runs before which statements about money and permission that stay
// unknown are probed. After that only All probes them.
const tries = 3

// Look returns the known verdicts on a program without starting it.
func (s Store) Look(p Program) CLI {
	_, c := s.look(p)
	return c
}

// look is Look. It also returns the stored verdicts on the program, or nil if the verdicts are built
// in.
func (s Store) look(p Program) (*kept, CLI) {
	c := CLI{Program: p}
	table, tested := statement.Tested(p.Version.String())
	size := statement.PublishedSize(p.Version.String(), cmp.Or(s.platform, runtime.GOOS+"/"+runtime.GOARCH))
	if st, err := os.Stat(p.Path); tested && err == nil && st.Size() == size {
		c.Verdicts = table
		return nil, c
	}
	k := s.load(p)
	c.Source, c.Why, c.Verdicts = Kept, k.Why, statement.Verdicts{}
	for id, v := range table { // a missing flag costs an attempt, but no money
		if st, _ := statement.Find(id); !st.Kind.Urgent() {
			c.Verdicts[id] = v
		}
	}
	maps.Copy(c.Verdicts, k.Verdicts)
	return k, c
}

// Ready returns the verdicts on a program before a run. It probes the statements about money and
// permission that are unknown, unless the known ones refuse the program.
func (s Store) Ready(ctx context.Context, p Program) CLI {
	k, c := s.look(p)
	if why, _ := c.Refusal(); k == nil || k.Tries >= tries || !c.urgent() || why != "" {
		return c
	}
	if s.urgent != nil {
		return s.probed(k, p, s.urgent(ctx, p.target()))
	}
	return s.probed(k, p, probe.Urgent(ctx, p.target(), cmp.Or(s.Limit, probe.UrgentLimit)))
}

// allLimit bounds All: ten processes of the CLI, which take a minute in total on a busy machine.
const allLimit = 3 * time.Minute

// All probes every statement, also on a tested version.
func (s Store) All(ctx context.Context, p Program) CLI {
	return s.probed(s.load(p), p, probe.All(ctx, p.target(), allLimit))
}

// probed adds a report to the stored verdicts.
func (s Store) probed(k *kept, p Program, r probe.Report) CLI {
	k.add(r)
	k.Tries++
	s.save(k)
	_, c := s.look(p)
	// The cache may not be writable, and no verdicts are stored for a published version.
	maps.Copy(c.Verdicts, k.Verdicts)
	c.Why, c.Source, c.Err = k.Why, Probed, r.Err
	return c
}

// urgent reports whether a statement about money or permission is unknown.
func (c CLI) urgent() bool {
	for _, s := range c.Verdicts.Select(statement.Unknown) {
		if s.Kind.Urgent() {
			return true
		}
	}
	return false
}

func (p Program) target() probe.Target {
	return probe.Target{Argv: []string{p.Path}, Env: p.Env, Wrapper: p.Link || !native(p.Path)}
}
