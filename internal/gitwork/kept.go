package gitwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// This file hands worktrees from a run to the next one of the same .loop, so that a large checkout is made once. Only
// the files of git stay: others may contain the path of the worktree, or be of an agent. Clean removes them.

const (
	largeIndex = 100 << 10 // bytes of git's index, of about 1,000 files: a checkout of fewer takes no time worth keeping
	mostKept   = 8         // worktrees that the runs of a .loop keep
)

// isLarge reports whether a checkout of the repository takes long.
func (m *Manager) isLarge() bool {
	info, err := os.Stat(m.checkout.index)
	return err == nil && info.Size() >= largeIndex
}

// keepsTrees reports whether the worktrees of the run stay for the next one. A sparse checkout has files of its own.
func (m *Manager) keepsTrees() bool {
	free, _, known := proc.DiskFree(string(m.opts.Loop))
	return m.isLarge() && !isTrue(m.settings.value("core.sparsecheckout")) && (!known || free > m.opts.SpareDisk)
}

// filesKey identifies how the files of a commit are made: the settings and attributes of git.
func (m *Manager) filesKey() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.settings)) {
		for _, part := range []string{"core.", "filter.", "lfs.", "working-tree"} {
			if strings.HasPrefix(name, part) {
				fmt.Fprintf(sum, "%s %q\n", name, m.settings[name])
			}
		}
	}
	text, _ := safefile.Read(filepath.Join(m.checkout.common, "info", "attributes"), maxState) // usually there are none
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// keepTrees removes the worktrees that belong to no task and that no later run gets.
func (m *Manager) keepTrees(ctx context.Context) error {
	if !m.keepsTrees() {
		return m.removeUnusedTrees(ctx)
	}
	room := mostKept - Kept(m.opts.Loop, m.opts.Run)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.removeTrees(ctx, func(t *tree) bool {
		if t.Task == "" && t.Admin != "" {
			room--
		}
		return t.Task == "" && (t.Admin == "" || room < 0 || t.hasModules())
	})
}

// Kept returns the number of worktrees that the runs of a .loop except one keep for the next run.
func Kept(in loop.Dir, except string) (n int) {
	states, _ := listStates(in)
	for _, path := range states {
		if s, err := readState(path); err == nil && s != nil && s.Run != except {
			n += len(keptTrees(s))
		}
	}
	return n
}

// keptTrees lists the worktrees that no task of a run needs.
func keptTrees(s *savedState) (all []*tree) {
	for _, t := range s.Trees {
		if s.Mode == Worktree && t.Task == "" && t.Admin != "" {
			all = append(all, t)
		}
	}
	return all
}

// takeKept makes a worktree that an earlier run of the .loop has kept the worktree t, as it is, and forgets those that
// cannot be had. It reports false if there is none.
func (m *Manager) takeKept(ctx context.Context, t *tree) bool {
	m.taking.Lock()
	defer m.taking.Unlock()
	states, _ := listStates(m.opts.Loop) // by the times in their names
	for _, path := range slices.Backward(states) {
		run := strings.TrimSuffix(filepath.Base(path), ".json")
		s, err := readState(path)
		if run == m.opts.Run || err != nil || s == nil || len(keptTrees(s)) == 0 {
			continue
		}
		unlock, err := Lock(m.opts.Loop, run)
		if err != nil || unlock == nil {
			continue // a wavex works on that run
		}
		taken := m.takeFrom(ctx, run, t)
		if unlock() == nil && taken {
			return true
		}
	}
	return false
}

// takeFrom is takeKept for one run, which is locked.
func (m *Manager) takeFrom(ctx context.Context, run string, t *tree) bool {
	s, err := readState(m.opts.Loop.Worktree(run, "json"))
	if err != nil || s == nil || s.Run != run {
		return false
	}
	for _, k := range keptTrees(s) {
		from, to := m.opts.Loop.Worktree(run, strconv.Itoa(k.ID)), m.treePathOf(t)
		s.Trees = slices.DeleteFunc(s.Trees, func(other *tree) bool { return other == k })
		if _, err := os.Lstat(to); err == nil && m.lockAndRemoveTree(ctx, to) != nil {
			return false
		}
		own := m.ownAdminDir(from) == k.Admin
		if own && s.FilesKey != m.filesKey() {
			_ = m.lockAndRemoveTree(ctx, from) // else clean does it
			continue
		}
		if !own || safefile.Rename(from, to) != nil {
			continue
		}
		t.Admin, t.Base = k.Admin, k.Base
		if m.namePath(t) == nil && m.forgetFlags(ctx, t) == nil && s.save(m.opts.Loop) == nil {
			return true
		}
	}
	_ = s.save(m.opts.Loop) // else the next run tries them again
	return false
}

// forgetFlags makes git look at all files of a worktree again, if an agent has told it not to look at some.
func (m *Manager) forgetFlags(ctx context.Context, t *tree) error {
	all, err := m.gitIn(t).output(ctx, "ls-files", "-v", "-z")
	for _, entry := range splitNUL(all) {
		if tag := entry[:1]; tag == "S" || tag != strings.ToUpper(tag) {
			return safefile.Remove(filepath.Join(t.Admin, "index"))
		}
	}
	return err
}
