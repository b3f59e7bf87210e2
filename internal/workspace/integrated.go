package workspace

import "slices"

// This file answers questions about the integrated work from the records of the waves.

// recorded returns the result of a finished integration, or nil.
func (m *Manager) recorded(key string) *Integration {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.s.Waves {
		if m.s.Waves[i].Key == key {
			return &m.s.Waves[i].Result
		}
	}
	return nil
}

// integrated returns the commits of integrated tasks, by task.
func (m *Manager) integrated() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	for _, w := range m.s.Waves {
		for task, id := range w.Tasks {
			if id != "" {
				out[task] = id
			}
		}
	}
	return out
}

// Integrated returns the integrated tasks, including those without changes.
func (m *Manager) Integrated() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for _, w := range m.s.Waves {
		for task := range w.Tasks {
			out[task] = true
		}
	}
	return out
}

// checkedBefore returns the integrated tasks of the same wave: their checks must hold as well.
func (m *Manager) checkedBefore(wave int, now []candidate) []Done {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Done
	for _, w := range m.s.Waves {
		if w.Wave != wave {
			continue
		}
		for _, d := range w.Checks {
			again := func(c candidate) bool { return c.Task == d.Task }
			if !slices.ContainsFunc(now, again) {
				out = append(out, d)
			}
		}
	}
	return out
}
