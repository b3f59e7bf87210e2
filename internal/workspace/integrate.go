package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// This file integrates a wave: it makes the wave's commit durable, records it, and moves tip and
// branch, in an order that survives an interruption at any moment. choose.go decides which tasks
// are integrated, and merge.go merges trees.

// Integrate puts the commits of tasks on the tip, in the given order, checks the combined tree, and
// leaves out the tasks that make it fail. A second call with the same tasks and commits returns the
// same result, also if the first call was interrupted. In shared mode it does nothing. After an
// error the call may be repeated.
func (m *Manager) Integrate(ctx context.Context, wave int, done []Done) (Integration, error) {
	m.integrating.Lock()
	defer m.integrating.Unlock()
	done = slices.Clone(done)
	for i := range done {
		if done[i].Dir == "" {
			done[i].Dir = m.o.Project
		}
	}
	if m.s.Mode != Worktree {
		var in Integration
		for _, d := range done {
			in.Integrated = append(in.Integrated, d.Task)
		}
		return in, nil
	}
	cs, key, err := m.candidates(ctx, wave, done)
	if err != nil {
		return Integration{}, err
	}
	if old := m.recorded(key); old != nil {
		return *old, errors.Join(m.catchUp(ctx), m.free(ctx, old.Integrated))
	}
	rec := record{Key: key, Wave: wave, Tasks: map[string]string{}}
	if rec.From, err = m.tip(ctx); err != nil {
		return Integration{}, err
	}
	in, good, err := m.combine(ctx, &rec, cs)
	if err != nil {
		return Integration{}, err
	}
	for _, c := range good {
		in.Integrated = append(in.Integrated, c.Task)
		rec.Tasks[c.Task] = c.commit
		rec.Checks = append(rec.Checks, c.Done)
	}
	rec.Result = in
	// First make the commit reachable, then record it, then move the tip.
	if err := m.g.setRefs(ctx, waveRef(m.o.Run, key), in.Commit); err != nil {
		return Integration{}, err
	}
	m.mu.Lock()
	m.s.Waves = append(m.s.Waves, rec)
	if err = m.save(true); err != nil {
		m.s.Waves = m.s.Waves[:len(m.s.Waves)-1]
	}
	m.mu.Unlock()
	if err != nil {
		return Integration{}, err
	}
	if err := m.catchUp(ctx); err != nil {
		return Integration{}, err
	}
	return in, m.free(ctx, in.Integrated)
}

// candidates returns the work of the tasks, and the key of this integration.
func (m *Manager) candidates(ctx context.Context, wave int, done []Done) ([]candidate, string, error) {
	h := sha256.New()
	fmt.Fprintln(h, wave)
	var cs []candidate
	for _, d := range done {
		id, err := m.g.resolve(ctx, taskRef(m.o.Run, d.Task))
		if err != nil {
			return nil, "", err
		}
		text, err := json.Marshal(d)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintln(h, id, string(text))
		cs = append(cs, candidate{Done: d, commit: id})
	}
	return cs, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// catchUp moves tip and branch to the commit of the last record.
func (m *Manager) catchUp(ctx context.Context) error {
	m.mu.Lock()
	commit := m.s.Base
	if n := len(m.s.Waves); n > 0 {
		commit = m.s.Waves[n-1].Result.Commit
	}
	m.mu.Unlock()
	now, err := m.g.resolve(ctx, tipRef(m.o.Run))
	if err != nil {
		return err
	}
	if now != commit {
		if err := m.g.setRefs(ctx, tipRef(m.o.Run), commit); err != nil {
			return err
		}
	}
	if commit == m.s.Base {
		return nil
	}
	_, err = m.moveBranch(ctx, commit)
	return err
}

// moveBranch moves the branch wavex/RUN to a commit. If the branch has other commits or is checked
// out, moveBranch leaves it and returns the reason.
func (m *Manager) moveBranch(ctx context.Context, commit string) (why string, err error) {
	ref := runBranch(m.o.Run)
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
		out, err := m.g.out(ctx, "worktree", "list", "--porcelain")
		if err != nil {
			return "", err
		}
		if slices.Contains(lines(out), "branch "+ref) {
			return branchName(ref) + " is checked out somewhere", nil
		}
	}
	return "", m.g.setRefs(ctx, ref, commit)
}

func (m *Manager) isAncestor(ctx context.Context, old, young string) (bool, error) {
	err := m.g.run(ctx, "merge-base", "--is-ancestor", old, young)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}
