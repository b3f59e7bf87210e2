package gitwork

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"wavex/internal/exhaustion"
	"wavex/internal/loop"
)

// This file compares the worktrees of a run with the free space of their disk. It reads the sizes of files from the
// index, and no files.

// Room is the space that the worktrees of a run need, and the free space of their disk.
type Room struct {
	Worktrees int    `json:"worktrees"` // one for each attempt at a time, and that of integrations
	Files     int    `json:"files"`     // in one worktree
	Bytes     uint64 `json:"bytes"`     // of one worktree, in whole blocks
	Free      uint64 `json:"free"`      // bytes that are free on their disk
}

// block is the usual unit of space on disks, in bytes.
const block = 4 << 10

// MeasureRoom returns the room that a new run with that many attempts at a time has in a project. known is false if
// the project is in no checkout, or if the free space is not known.
func MeasureRoom(ctx context.Context, project string, attempts int, env []string) (r Room, known bool, err error) {
	free, _, known := exhaustion.DiskFree(project)
	if !known || !HasRepository(project) {
		return r, false, nil
	}
	r, err = newGit(project, env).measureRoom(ctx, attempts, free)
	return r, err == nil, err
}

// measureRoom reads the sizes of all files of a checkout, as git last saw them.
func (g git) measureRoom(ctx context.Context, attempts int, free uint64) (Room, error) {
	r := Room{Worktrees: attempts + 1, Free: free}
	out, err := g.output(ctx, "ls-files", "--debug", "--", ":/")
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(line, "  size: ")
		digits, _, isSize := strings.Cut(rest, "\t")
		if n, err := strconv.ParseUint(digits, 10, 63); ok && isSize && err == nil {
			r.Files++
			r.Bytes += (n + block - 1) / block * block
		}
	}
	return r, err
}

// Attempts returns the number of attempts at a time for which there is room; 0: for none.
func (r Room) Attempts() int {
	if r.Bytes == 0 {
		return r.Worktrees - 1
	}
	return max(1, int(min(r.Free/r.Bytes, uint64(r.Worktrees)))) - 1
}

// Short reports whether there is less room than needed.
func (r Room) Short() bool { return r.Bytes > 0 && r.Free/r.Bytes < uint64(r.Worktrees) }

// String names the space that is needed, the free space, and the number of attempts at a time that have room if not all
// have it.
func (r Room) String() string {
	worktrees := "worktrees"
	if r.Worktrees == 1 {
		worktrees = "checkout"
	}
	text := fmt.Sprintf("%d %s of %s (%d files) need %s, and %s are free", r.Worktrees, worktrees,
		exhaustion.Size(r.Bytes), r.Files, exhaustion.Size(uint64(r.Worktrees)*r.Bytes), exhaustion.Size(r.Free))
	if n := r.Attempts(); r.Short() && n > 0 {
		text += fmt.Sprintf(", which suffices for -j %d", n)
	}
	return text
}

// Advice says what helps if there is too little room.
func (r Room) Advice() string {
	const advice = "make room on the disk of " + loop.Name + ", leave files out of the checkout (git sparse-checkout), " +
		"or run with --isolation shared"
	if n := r.Attempts(); n > 0 {
		return fmt.Sprintf("use -j %d, ", n) + advice
	}
	return advice
}

// probeRoom compares the worktrees of the run with the free space.
func (m *Manager) probeRoom(ctx context.Context) error {
	free, _, known := m.opts.DiskFree(string(m.opts.Loop))
	if !known {
		return nil
	}
	attempts := cmp.Or(m.opts.Attempts, max(1, m.opts.Width))
	if m.state.Overlay {
		attempts = 0 // all share one checkout
	}
	r, err := m.g.measureRoom(ctx, attempts, free)
	if err == nil && r.Short() {
		return &Error{NoRoom, r.String(), r.Advice()}
	}
	return err
}
