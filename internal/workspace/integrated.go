package workspace

import "slices"

// This file tells what is integrated, by the record of the waves.

// recorded is what an integration made that is done already.
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

// integrated maps tasks to the commits of theirs that are integrated.
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

// Integrated tells which tasks are integrated, also those that changed nothing.
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

// checkedBefore lists the tasks of the same wave that are integrated already: their
// checks are part of what must hold.
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
