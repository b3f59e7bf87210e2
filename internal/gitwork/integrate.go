package gitwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
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
	entry := savedIntegration{Key: key, Wave: wave, Tasks: map[string]string{}}
	if entry.From, err = m.tip(ctx); err != nil {
		return Integration{}, err
	}
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

// publish moves the tip to the recorded integration, and frees the trees of its tasks beside that.
func (m *Manager) publish(ctx context.Context, tasks []string) error {
	var freed errgroup.Group
	freed.Go(func() error { return m.freeTrees(ctx, tasks) })
	return errors.Join(m.moveTip(ctx), freed.Wait())
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
	err := m.save(true)
	if err != nil {
		m.state.Waves = m.state.Waves[:len(m.state.Waves)-1]
	}
	m.mu.Unlock()
	return err
}

// loadCandidates returns the work of the tasks, and the key of this integration.
func (m *Manager) loadCandidates(ctx context.Context, wave int, done []VerifiedTask) ([]candidate, string, error) {
	h := sha256.New()
	fmt.Fprintln(h, wave)
	var cs []candidate
	for _, d := range done {
		id, err := m.g.resolve(ctx, taskRef(m.opts.Run, d.Task))
		if err != nil {
			return nil, "", err
		}
		text, err := json.Marshal(d)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintln(h, id, string(text))
		cs = append(cs, candidate{VerifiedTask: d, commit: id})
	}
	return cs, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// moveTip moves tip and branch to the commit of the last record.
func (m *Manager) moveTip(ctx context.Context) error {
	m.mu.Lock()
	commit := m.state.Base
	if n := len(m.state.Waves); n > 0 {
		commit = m.state.Waves[n-1].Result.Commit
	}
	m.mu.Unlock()
	now, err := m.g.resolve(ctx, tipRef(m.opts.Run))
	if err != nil {
		return err
	}
	if now != commit {
		if err := m.g.updateRefs(ctx, tipRef(m.opts.Run), commit); err != nil {
			return err
		}
	}
	if commit == m.state.Base {
		return nil
	}
	_, err = m.moveBranch(ctx, commit)
	return err
}

// moveBranch moves the branch wavex/RUN to a commit. If the branch has other commits or is checked
// out, moveBranch leaves it and returns the reason.
func (m *Manager) moveBranch(ctx context.Context, commit string) (why string, err error) {
	ref := runBranch(m.opts.Run)
	now, err := m.g.resolve(ctx, ref)
	if err != nil || now == commit {
		return "", err
	}
	if now != "" {
		if ok, err := m.isAncestor(ctx, now, commit); err != nil {
			return "", err
		} else if !ok {
			return branchName(ref) + " has commits of somebody else", nil
		}
		out, err := m.g.output(ctx, "worktree", "list", "--porcelain")
		if err != nil {
			return "", err
		}
		if slices.Contains(splitLines(out), "branch "+ref) {
			return branchName(ref) + " is checked out somewhere", nil
		}
	}
	return "", m.g.updateRefs(ctx, ref, commit)
}

func (m *Manager) isAncestor(ctx context.Context, old, young string) (bool, error) {
	err := m.g.run(ctx, "merge-base", "--is-ancestor", old, young)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}
