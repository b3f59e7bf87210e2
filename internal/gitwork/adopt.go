package gitwork

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// This file takes over work of the run that is on the remote and not in .loop, as after the loss of the machine of a
// later session. It does not know which of the tasks are completed on record.

// adoptedKey begins the keys of integrations that are taken over.
const adoptedKey = "pushed-"

// adoptPushed moves the tip to the branch of the run on the remote if that continues it with commits of the run's
// tasks only. A remote without an answer is only shown: the run goes on with its own work.
func (m *Manager) adoptPushed(ctx context.Context) error {
	if !m.opts.Push {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, pushTimeout, errPushTimeout)
	defer cancel()
	entry, err := m.pushedIntegration(limited, m.tip())
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		m.warn(fmt.Errorf("the remote does not say if it has later work of the run: %w", err))
		return nil
	case entry == nil:
		return nil
	}
	if err := m.record(ctx, *entry); err != nil {
		return err
	}
	return m.moveTip(ctx)
}

// pushedIntegration returns the commits on the remote's branch of the run that follow tip, or nil.
func (m *Manager) pushedIntegration(ctx context.Context, tip string) (*savedIntegration, error) {
	commit, err := m.fetchBranch(ctx)
	if err != nil || commit == "" || commit == tip {
		return nil, err
	}
	if follows, err := m.isAncestor(ctx, tip, commit); !follows {
		return nil, err
	}
	out, err := m.g.output(ctx, "log", "--first-parent", "--format=%H %(trailers:key=Wavex-Run,valueonly,separator=)\x1f"+
		"%(trailers:key=Wavex-Task,valueonly,separator=)", tip+".."+commit)
	if err != nil {
		return nil, err
	}
	e := &savedIntegration{Key: adoptedKey + commit, From: tip, Tasks: map[string]string{},
		Result: Integration{Commit: commit, Commits: map[string]string{}}}
	for _, line := range splitLines(out) { // the newest first
		id, trailers, _ := strings.Cut(line, " ")
		run, task, _ := strings.Cut(trailers, "\x1f")
		if run != m.opts.Run || task == "" {
			return nil, nil
		}
		if e.Tasks[task] == "" {
			e.Tasks[task], e.Result.Commits[task] = id, id
			e.Result.Integrated = append(e.Result.Integrated, task)
		}
	}
	return e, nil
}

// fetchBranch returns the commit of the run's branch on the remote, and makes sure that the repository has it; "" if
// there is no remote or no such branch.
func (m *Manager) fetchBranch(ctx context.Context) (commit string, err error) {
	remote, err := m.pushRemote(ctx)
	if err != nil || remote == "" {
		return "", err
	}
	g, ref := m.g.withBatchSSH(ctx), runBranch(m.opts.Run)
	out, err := g.output(ctx, "ls-remote", remote, ref)
	if err != nil || out == "" {
		return "", err
	}
	commit, _, _ = strings.Cut(out, "\t")
	if !isObjectID(commit) {
		return "", errors.New("git ls-remote printed " + commit)
	}
	if has, err := m.g.resolve(ctx, commit); err != nil || has != "" {
		return has, err
	}
	err = g.run(ctx, "fetch", "-q", "--no-tags", "--no-write-fetch-head", remote, ref)
	return commit, err
}

// Adopted returns the tasks whose work was taken over from the remote, with their commits. No attempt of them may be
// on record.
func (m *Manager) Adopted() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	for _, w := range m.state.Waves {
		if strings.HasPrefix(w.Key, adoptedKey) {
			maps.Copy(out, w.Tasks)
		}
	}
	return out
}
