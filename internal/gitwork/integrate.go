package gitwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file integrates a wave: it makes the wave's commit durable, records it, and moves tip and
// branch, in an order that survives an interruption at any moment. select.go decides which tasks
// are integrated, and merge.go merges trees.

// Integrate puts the commits of tasks on the tip, in the given order, checks the combined tree, and
// leaves out the tasks that make it fail. A second call with the same tasks and commits returns the
// same result, also if the first call was interrupted. In shared mode it does nothing. After an
// error the call may be repeated.
func (m *Manager) Integrate(ctx context.Context, wave int, done []VerifiedTask) (Integration, error) {
	m.integrating.Lock()
	defer m.integrating.Unlock()
	m.picks = map[pick]string{}
	m.treesOf.Clear()
	done = slices.Clone(done)
	for i := range done {
		if done[i].Dir == "" {
			done[i].Dir = m.opts.Project
		}
	}
	if m.state.Mode != Worktree {
		var in Integration
		for _, d := range done {
			in.Integrated = append(in.Integrated, d.Task)
		}
		return in, nil
	}
	cs, key, err := m.loadCandidates(ctx, wave, done)
	if err != nil {
		return Integration{}, err
	}
	if old := m.findIntegration(key); old != nil {
		return *old, m.publish(ctx, old.Integrated)
	}
	entry := savedIntegration{Key: key, Wave: wave, From: m.tip(), Tasks: map[string]string{}}
	cs, standing := m.splitIntegrated(cs)
	in, good, err := m.selectCandidates(ctx, &entry, cs)
	if err != nil {
		return Integration{}, err
	}
	for _, c := range good {
		entry.Tasks[c.Task] = c.commit
		entry.Checks = append(entry.Checks, c.VerifiedTask)
	}
	if len(standing) > 0 {
		in.Commits = maps.Clone(in.Commits)
		maps.Copy(in.Commits, standing)
	}
	for _, d := range done { // in the given order
		if _, ok := standing[d.Task]; ok || slices.ContainsFunc(good, func(c candidate) bool { return c.Task == d.Task }) {
			in.Integrated = append(in.Integrated, d.Task)
		}
	}
	entry.Result = in
	if err := m.record(ctx, entry); err != nil {
		return Integration{}, err
	}
	return in, m.publish(ctx, in.Integrated)
}

// publish frees the trees of the tasks of the recorded integration, and moves the tip to it, in one transaction if
// nothing is odd.
func (m *Manager) publish(ctx context.Context, tasks []string) error {
	move, err := m.tipMove(ctx)
	if err != nil {
		return err
	}
	moved, err := m.freeTrees(ctx, tasks, move...)
	if !moved {
		err = errors.Join(err, m.moveTip(ctx))
	}
	return err
}

// record makes the commit of an integration reachable, saves it in .loop, and records it, in this order.
func (m *Manager) record(ctx context.Context, entry savedIntegration) error {
	if err := m.g.updateRefs(ctx, waveRef(m.opts.Run, entry.Key), entry.Result.Commit); err != nil {
		return err
	}
	if err := m.saveBundle(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	m.state.Waves = append(m.state.Waves, entry)
	err := m.save()
	if err != nil {
		m.state.Waves = m.state.Waves[:len(m.state.Waves)-1]
	}
	m.mu.Unlock()
	return err
}

// loadCandidates returns the work of the tasks, and the key of this integration.
func (m *Manager) loadCandidates(ctx context.Context, wave int, done []VerifiedTask) ([]candidate, string, error) {
	var refs []string
	for _, d := range done {
		refs = append(refs, taskRef(m.opts.Run, d.Task))
	}
	commits, err := m.g.readCommits(ctx, refs)
	if err != nil {
		return nil, "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, wave)
	var cs []candidate
	for i, d := range done {
		text, err := json.Marshal(d)
		if err != nil {
			return nil, "", err
		}
		c := commits[refs[i]]
		m.treesOf.Store(c.id, c.tree)
		if note, passed := m.passed.LoadAndDelete(c.id); passed {
			note.(func(tree string))(c.tree)
		}
		fmt.Fprintln(h, c.id, string(text))
		cs = append(cs, candidate{VerifiedTask: d, commit: c.id, facts: c})
	}
	return cs, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// moveTip moves tip and branch to the commit of the last record.
func (m *Manager) moveTip(ctx context.Context) error {
	commit, tip, branch := m.tip(), tipRef(m.opts.Run), runBranch(m.opts.Run)
	refs, err := m.g.refIDs(ctx, tip, branch)
	if err != nil {
		return err
	}
	var pairs []string
	if refs[tip] != commit {
		pairs = append(pairs, tip, commit)
	}
	if commit != m.state.Base && refs[branch] != commit {
		why, err := m.branchObstacle(ctx, refs[branch], commit)
		if err != nil {
			return err
		}
		if why == "" {
			pairs = append(pairs, branch, commit)
		}
	}
	return m.g.updateRefs(ctx, pairs...)
}

// tipMove returns the commands of a transaction that moves tip and branch to the commit of the last record, and fails
// if the branch is not at the tip before; nil: nothing moves, or the branch is checked out.
func (m *Manager) tipMove(ctx context.Context) ([]string, error) {
	commit, branch := m.tip(), runBranch(m.opts.Run)
	n := m.tipNumber(commit)
	if taken, err := m.isCheckedOut(ctx, branch); n < 1 || taken || err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.state.Waves[n-1].From
	if from == m.state.Base {
		from = strings.Repeat("0", len(from)) // the branch must not exist
	}
	return []string{"update " + tipRef(m.opts.Run) + " " + commit, "update " + branch + " " + commit + " " + from}, nil
}

// branchObstacle says why the branch wavex/RUN, which is at now, must not be moved to a commit: it has other commits,
// or is checked out. It returns "" if it can be moved.
func (m *Manager) branchObstacle(ctx context.Context, now, commit string) (why string, err error) {
	name := branchName(runBranch(m.opts.Run))
	if now == "" {
		return "", nil
	}
	if ok, err := m.isAncestor(ctx, now, commit); err != nil {
		return "", err
	} else if !ok {
		return name + " has commits of somebody else", nil
	}
	if taken, err := m.isCheckedOut(ctx, runBranch(m.opts.Run)); err != nil {
		return "", err
	} else if taken {
		return name + " is checked out somewhere", nil
	}
	return "", nil
}

// isCheckedOut reports whether HEAD of some worktree of the repository is on a branch.
func (m *Manager) isCheckedOut(ctx context.Context, branch string) (bool, error) {
	if storage := m.settings.value("extensions.refstorage"); storage != "" && storage != "files" {
		path, err := m.g.output(ctx, "for-each-ref", "--format=%(worktreepath)", branch)
		return path != "", err
	}
	dirs, err := os.ReadDir(filepath.Join(m.checkout.common, "worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	taken := symbolicRef(filepath.Join(m.checkout.common, "HEAD")) == branch
	for _, d := range dirs {
		taken = taken || symbolicRef(filepath.Join(m.checkout.common, "worktrees", d.Name(), "HEAD")) == branch
	}
	return taken, nil
}

// isAncestor reports whether a commit is in the history of another one. Each tip follows the one before, so it asks git
// only if one of the two commits is not a recorded tip.
func (m *Manager) isAncestor(ctx context.Context, old, young string) (bool, error) {
	if a, b := m.tipNumber(old), m.tipNumber(young); a >= 0 && b >= 0 {
		return a <= b, nil
	}
	err := m.g.run(ctx, "merge-base", "--is-ancestor", old, young)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// isIntegrated reports whether a commit of a task is in the history of the tip. It asks git only if the commit began on
// no tip, or the records do not have each commit, as those of integrations on another machine.
func (m *Manager) isIntegrated(ctx context.Context, c commitFacts, tip string) (bool, error) {
	m.mu.Lock()
	complete, recorded := true, false
	for _, w := range m.state.Waves {
		complete = complete && !strings.HasPrefix(w.Key, adoptedKey)
		for _, id := range w.Result.Commits {
			recorded = recorded || id == c.id
		}
	}
	m.mu.Unlock()
	if recorded || complete && m.tipNumber(c.parents) >= 0 {
		return recorded, nil
	}
	return m.isAncestor(ctx, c.id, tip)
}

// tipNumber returns the number of integrations before a commit was first the tip, or -1 if it was not.
func (m *Manager) tipNumber(commit string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if commit == m.state.Base {
		return 0
	}
	n := slices.IndexFunc(m.state.Waves, func(w savedIntegration) bool { return w.Result.Commit == commit })
	if n >= 0 {
		n++
	}
	return n
}
