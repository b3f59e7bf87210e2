package gitwork

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// This file distinguishes the run's own changes from changes that people make between the sessions of
// a run, so that a later rollback does not undo the changes of people.

// StartSession is called when a session begins. It keeps two commits: the checkout at the end of the
// previous session and the checkout now. It keeps nothing for the first session, and nothing if the
// previous session was cut off.
func (p *Checkpoints) StartSession(ctx context.Context) error {
	refs, err := p.Refs(ctx)
	if err != nil {
		return err
	}
	n := p.setGaps(refs)
	end := refs[endRef(p.run)]
	if end == "" {
		return nil
	}
	now, err := p.snapshot(ctx, "The beginning of a session", p.MaxNew)
	if err != nil {
		return err
	}
	n++
	// Remove the old end, so that a session that is cut off has none: later changes could not be
	// told from its own.
	err = p.g.updateRefs(ctx, gapRef(p.run, n, "from"), end, gapRef(p.run, n, "to"), now, endRef(p.run), "")
	if err != nil {
		n = -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps = n
	return err
}

// setGaps counts the gaps between sessions in refs.
func (p *Checkpoints) setGaps(refs map[string]string) int {
	n := 0
	for refs[gapRef(p.run, n+1, "to")] != "" {
		n++
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps = n
	return n
}

// gapRef returns the ref of one side, "from" or "to", of the n-th gap between sessions.
func gapRef(run string, n int, side string) string {
	return fmt.Sprintf("%sbetween/%d/%s", checkpointPrefix(run), n, side)
}

// countGaps returns the number of gaps between sessions. Only StartSession adds one.
func (p *Checkpoints) countGaps(ctx context.Context) (int, error) {
	p.mu.Lock()
	n := p.gaps
	p.mu.Unlock()
	if n >= 0 {
		return n, nil
	}
	refs, err := p.Refs(ctx)
	if err != nil {
		return 0, err
	}
	return p.setGaps(refs), nil
}

// gapTrailer is the trailer of a checkpoint's commit that gives the number of gaps before it.
const gapTrailer = "Wavex-Between: "

// gapCountOf returns the number of gaps before a checkpoint. It returns 0 for a checkpoint of an
// older wavex, which has no trailer.
func (p *Checkpoints) gapCountOf(ctx context.Context, commit string) (n int, err error) {
	text, err := p.g.output(ctx, "show", "-s", "--format=%B", commit)
	if _, rest, ok := strings.Cut(text, "\n"+gapTrailer); ok {
		_, _ = fmt.Sscan(rest, &n) // by wavex
	}
	return n, err
}

// splitChanges returns the changes between two checkpoints: ours were made in the run's sessions, theirs
// between sessions.
func (p *Checkpoints) splitChanges(ctx context.Context, from, to string,
	refs map[string]string) (ours, theirs map[string]change, err error) {
	ours, theirs = map[string]change{}, map[string]change{}
	first, err := p.gapCountOf(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	last, err := p.gapCountOf(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	add := func(all map[string]change, a, b string) error {
		more, err := p.g.diff(ctx, a, b)
		maps.Copy(all, more)
		return err
	}
	for n := first + 1; n <= last && refs[gapRef(p.run, n, "to")] != ""; n++ {
		away, back := refs[gapRef(p.run, n, "from")], refs[gapRef(p.run, n, "to")]
		if err := add(ours, from, away); err != nil {
			return nil, nil, err
		}
		if err := add(theirs, away, back); err != nil {
			return nil, nil, err
		}
		from = back
	}
	return ours, theirs, add(ours, from, to)
}
