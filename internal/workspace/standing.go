package workspace

import "context"

// This file shows what is integrated to those who judge it. It changes nothing of it.

// Span gives the commits between which the work of a wave lies, or, with wave 0, all of
// it; from equals to where nothing was integrated. In the shared mode both are "".
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

// Taken tells whether what is integrated is part of what the project's checkout is at: it
// was delivered there, or nothing was integrated. In the shared mode it always is.
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

// Standing calls use with a directory that holds what is integrated, in the place of the
// project's; nothing else is integrated meanwhile. In the shared mode it is the project's.
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
