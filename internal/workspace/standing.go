package workspace

import "context"

// This file gives reviewers and judges access to the integrated work. It does not change it.

// Span returns the commits before and after the work of a wave, or with wave 0 of all waves. They
// are equal if nothing was integrated, and "" in shared mode.
func (m *Manager) Span(ctx context.Context, wave int) (from, to string, err error) {
	if m.s.Mode != Worktree {
		return "", "", nil
	}
	m.mu.Lock()
	from = m.s.Base
	var last *record
	for i := range m.s.Waves {
		if wave > 0 && m.s.Waves[i].Wave == wave {
			if last == nil {
				from = m.s.Waves[i].From
			}
			last = &m.s.Waves[i]
		}
	}
	m.mu.Unlock()
	switch {
	case wave > 0 && last == nil:
		return from, from, nil
	case last != nil && last.Result.Commit != "":
		return from, last.Result.Commit, nil
	}
	to, err = m.tip(ctx)
	return from, to, err
}

// Taken reports whether the project's checkout contains the integrated work, because it was
// delivered there or nothing was integrated. It is always true in shared mode.
func (m *Manager) Taken(ctx context.Context) (bool, error) {
	if m.s.Mode != Worktree {
		return true, nil
	}
	tip, err := m.tip(ctx)
	if err != nil {
		return false, err
	}
	return m.isAncestor(ctx, tip, "HEAD")
}

// Standing calls use with a directory that has the integrated work and stands for the project's
// directory. No integration runs meanwhile. In shared mode it is the project's directory itself.
func (m *Manager) Standing(ctx context.Context, use func(dir string) error) error {
	if m.s.Mode != Worktree {
		return use(m.o.Project)
	}
	m.integrating.Lock()
	defer m.integrating.Unlock()
	tip, err := m.tip(ctx)
	if err != nil {
		return err
	}
	t, err := m.bench(ctx, tip)
	if err != nil {
		return err
	}
	dir, err := m.mapped(t, m.o.Project)
	if err != nil {
		return err
	}
	return use(dir)
}
