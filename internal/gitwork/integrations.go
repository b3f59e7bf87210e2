package gitwork

import "slices"

// This file answers questions about the integrated work from the records of the waves.

// findIntegration returns the result of a finished integration, or nil.
func (m *Manager) findIntegration(key string) *Integration {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.state.Waves {
		if m.state.Waves[i].Key == key {
			return &m.state.Waves[i].Result
		}
	}
	return nil
}

// integratedCommits returns the commits of integrated tasks, by task.
func (m *Manager) integratedCommits() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]string{}
	for _, w := range m.state.Waves {
		for task, id := range w.Tasks {
			if id != "" {
				out[task] = id
			}
		}
	}
	return out
}

// splitIntegrated returns the candidates that are not integrated, and the commits on the tip of the others: their
// integration is recorded here, but the caller does not know of it. Their work stays, and their checks
// must hold as those of earlier tasks.
func (m *Manager) splitIntegrated(cs []candidate) (rest []candidate, standing map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	standing = map[string]string{}
	for _, c := range cs {
		for _, w := range m.state.Waves {
			if c.commit != "" && w.Tasks[c.Task] == c.commit {
				standing[c.Task] = w.Result.Commits[c.Task]
			}
		}
		if _, ok := standing[c.Task]; !ok {
			rest = append(rest, c)
		}
	}
	return rest, standing
}

// IntegratedTasks returns the integrated tasks, including those without changes.
func (m *Manager) IntegratedTasks() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for _, w := range m.state.Waves {
		for task := range w.Tasks {
			out[task] = true
		}
	}
	return out
}

// earlierInWave returns the integrated tasks of the same wave: their checks must hold as well.
func (m *Manager) earlierInWave(wave int, now []candidate) []VerifiedTask {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []VerifiedTask
	for _, w := range m.state.Waves {
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
