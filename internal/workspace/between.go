package workspace

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// This file tells what changed between the sessions of a run from what the run did: people
// work on the files meanwhile, and a later rollback must not take that for the run's.

// Begin keeps what is there when a session begins beside what was there when the one before
// ended. For the first session, and after one that was cut off, there is nothing to keep.
func (p *Points) Begin(ctx context.Context) error {
	refs, err := p.Commits(ctx)
	if err != nil {
		return err
	}
	end := refs[endRef(p.run)]
	if end == "" {
		return nil
	}
	now, err := p.snapshot(ctx, "The beginning of a session")
	if err != nil {
		return err
	}
	n := gapsIn(p.run, refs) + 1
	// Without an end of this session it cannot be told what came after it.
	return p.g.setRefs(ctx, gapRef(p.run, n, "from"), end, gapRef(p.run, n, "to"), now, endRef(p.run), "")
}

// gapRef names a side of the time before session n+1: "from" or "to".
func gapRef(run string, n int, side string) string {
	return fmt.Sprintf("%sbetween/%d/%s", pointPrefix(run), n, side)
}

// gapsIn counts the times between sessions.
func gapsIn(run string, refs map[string]string) int {
	n := 0
	for refs[gapRef(run, n+1, "to")] != "" {
		n++
	}
	return n
}

// gapTrailer says in a checkpoint after how many times between sessions it was made.
const gapTrailer = "Wavex-Between: "

// gapsBefore reads that; a checkpoint of a wavex that did not say so was made before all.
func (p *Points) gapsBefore(ctx context.Context, commit string) (int, error) {
	text, err := p.g.out(ctx, "show", "-s", "--format=%B", commit)
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, gapTrailer); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				return n, nil
			}
		}
	}
	return 0, nil
}

// parted is what changed from one checkpoint to a later one: ours in the run's sessions,
// theirs between them.
func (p *Points) parted(ctx context.Context, from, to string, refs map[string]string) (ours, theirs map[string]diffed, err error) {
	ours, theirs = map[string]diffed{}, map[string]diffed{}
	first, err := p.gapsBefore(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	last, err := p.gapsBefore(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	add := func(all map[string]diffed, a, b string) error {
		more, err := p.diff(ctx, a, b)
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
