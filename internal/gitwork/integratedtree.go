package gitwork

import (
	"context"
	"errors"
)

// This file gives reviewers and judges access to the integrated work. It does not change it.

// WaveRange returns the commits before and after the work of a wave, or with wave 0 of all waves. They
// are equal if nothing was integrated, and "" in shared mode.
func (m *Manager) WaveRange(wave int) (from, to string) {
	if m.state.Mode != Worktree {
		return "", ""
	}
	m.mu.Lock()
	from = m.state.Base
	var last *savedIntegration
	for i := range m.state.Waves {
		if wave > 0 && m.state.Waves[i].Wave == wave {
			if last == nil {
				from = m.state.Waves[i].From
			}
			last = &m.state.Waves[i]
		}
	}
	m.mu.Unlock()
	switch {
	case wave > 0 && last == nil:
		return from, from
	case last != nil && last.Result.Commit != "":
		return from, last.Result.Commit
	}
	return from, m.tip()
}

// IsInCheckout reports whether the project's checkout contains the integrated work, because it was
// delivered there or nothing was integrated. It is always true in shared mode.
func (m *Manager) IsInCheckout(ctx context.Context) (bool, error) {
	if m.state.Mode != Worktree {
		return true, nil
	}
	return m.isAncestor(ctx, m.tip(), "HEAD")
}

// WithIntegrated calls use with a directory that has the integrated work and stands for the project's
// directory. No integration runs meanwhile. In shared mode it is the project's directory itself.
func (m *Manager) WithIntegrated(ctx context.Context, use func(dir string) error) error {
	if m.state.Mode != Worktree {
		return use(m.opts.Project)
	}
	m.integrating.Lock()
	defer m.integrating.Unlock()
	t, done, err := m.integrationTree(ctx, m.tip())
	if err != nil {
		return err
	}
	dir, err := m.treeDir(t, m.opts.Project)
	if err == nil {
		err = use(dir)
	}
	return errors.Join(err, done())
}
