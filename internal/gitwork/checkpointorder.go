package gitwork

import (
	"context"
	"strings"
	"time"
)

// This file numbers checkpoints, and tells which of several was made first. Only one is made at a time, and an attempt
// begins after its own, so the first one has the files from before all of these attempts. The journal cannot tell: the
// records of their beginnings are older than the checkpoints.

// orderTrailer is the trailer of a checkpoint's commit that gives its number. Numbers rise, also from session to
// session.
const orderTrailer = "Wavex-Order: "

// nextNumber returns the number of the checkpoint that is being made.
func (p *Checkpoints) nextNumber() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made = max(p.made+1, time.Now().UnixNano())
	return p.made
}

// FirstOf returns the task, of some, whose checkpoint before it was made first. It returns "" if that is not known,
// because one has no checkpoint or that of an older wavex.
func (p *Checkpoints) FirstOf(ctx context.Context, tasks []string) (string, error) {
	out, err := p.g.output(ctx, "for-each-ref", "--format=%(refname)%00%(contents)%00", checkpointPrefix(p.run)+"task/")
	if err != nil {
		return "", err
	}
	numbers := map[string]int64{} // by ref
	for parts := splitNUL(out); len(parts) > 1; parts = parts[2:] {
		numbers[strings.TrimSpace(parts[0])] = numberIn(parts[1], orderTrailer)
	}
	first, least := "", int64(0)
	for _, task := range tasks {
		n := numbers[beforeRef(p.run, task)]
		if n == 0 {
			return "", nil
		}
		if first == "" || n < least {
			first, least = task, n
		}
	}
	return first, nil
}
