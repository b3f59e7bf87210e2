// Package known tells which statements hold on the CLI of this machine.
//
// On a tested version, as it was published, the verdicts are built in. Of another program those about
// money and permission are probed before its first run. What probes found is kept in the
// user's cache by the digest of the file and the version that it tells.
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

// Program is the CLI as a file.
type Program struct {
	Path    string // absolute, behind links
	Link    bool   // Path is a link of a version manager, which starts what its name says
	Version statement.Version
	Env     []string // wavex's own environment
}

// Source says where verdicts come from.
type Source int

// The sources.
const (
	BuiltIn Source = iota // a tested version
	Kept                  // earlier probes
	Probed                // probes of now
)

// CLI is what is known of a program.
type CLI struct {
	Program
	Verdicts statement.Verdicts
	Source   Source
	Why      map[statement.ID]string // what was seen of statements that fail
	Err      error                   // why probes of now left some unknown; nil: they did not
}

// tries is how often statements about money and permission that stayed unknown are probed
// before a run. After that only All probes them.
const tries = 3

// Look returns what is known of a program without starting it.
func (s Store) Look(p Program) CLI {
	_, c := s.look(p)
	return c
}

// look is Look, with what is kept of the program. It is nil where the verdicts are built in.
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
	for id, v := range table { // a flag that is missing costs an attempt, and no money
		if st, _ := statement.Find(id); !st.Kind.Urgent() {
			c.Verdicts[id] = v
		}
	}
	maps.Copy(c.Verdicts, k.Verdicts)
	return k, c
}

// Ready returns what is known of a program before a run. It probes the statements about money and
// permission where they are not known yet.
func (s Store) Ready(ctx context.Context, p Program) CLI {
	k, c := s.look(p)
	if k == nil || k.Tries >= tries || !c.urgent() {
		return c
	}
	if s.urgent != nil {
		return s.probed(k, p, s.urgent(ctx, p.target()))
	}
	return s.probed(k, p, probe.Urgent(ctx, p.target(), probe.UrgentLimit))
}

// allLimit bounds All: ten processes of the CLI, which take a minute in all on a busy machine.
const allLimit = 3 * time.Minute

// All probes every statement, also of a tested version.
func (s Store) All(ctx context.Context, p Program) CLI {
	return s.probed(s.load(p), p, probe.All(ctx, p.target(), allLimit))
}

// probed adds what probes found to what is kept.
func (s Store) probed(k *kept, p Program, r probe.Report) CLI {
	k.add(r)
	k.Tries++
	s.save(k)
	_, c := s.look(p)
	// The cache may be out of reach, and of a published version nothing is kept.
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
