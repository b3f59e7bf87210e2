package check

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"sync"

	"wavex/internal/plan"
)

// This file remembers the results of checks, so that no check runs twice on the same files.

// Memory has the results of checks. Its methods are safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	results map[string]*Result
}

// Of returns the result of a check on files.
func (m *Memory) Of(files string, c plan.Check) *Result {
	text, _ := json.Marshal(c) // strings and a number: no error is possible
	key := files + "\x00" + string(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.results == nil {
		m.results = map[string]*Result{}
	}
	if m.results[key] == nil {
		m.results[key] = &Result{}
	}
	return m.results[key]
}

// Note remembers the checks that passed on files, by their evidence.
func (m *Memory) Note(files string, checks []plan.Check, evidence []Evidence) {
	for i, e := range evidence {
		if len(checks) == len(evidence) && e.Passed && !e.Flaky {
			m.Of(files, checks[i]).After(math.MaxInt, func() (Evidence, bool) { return e, true })
		}
	}
}

// Forget forgets the results on files, and those of checks that never passed: what disturbed them may be over.
func (m *Memory) Forget(files string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.results, func(key string, r *Result) bool {
		idle := r.mu.TryLock()
		if idle {
			defer r.mu.Unlock()
		}
		return idle && !r.seen.Passed || strings.HasPrefix(key, files+"\x00")
	})
}

// Result has the runs of a check on the same files. Two red ones are red, a green one is green, and both are flaky:
// then the check tells nothing about the files. Its methods are safe for concurrent use.
type Result struct {
	mu   sync.Mutex // held while the check runs
	reds int        // number of runs that failed
	seen Evidence   // of the run that passed, else of the first one
}

// After returns the result if a check has passed, or has failed so many times. Else it calls run once, and remembers
// the evidence if that is valid.
func (r *Result) After(reds int, run func() (e Evidence, valid bool)) Evidence {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.Passed || r.reds >= reds {
		return r.seen
	}
	e, valid := run()
	if e.Passed && r.reds > 0 {
		e.Flaky, e.Reason = true, r.seen.Reason
	}
	if valid && (e.Passed || r.reds == 0) {
		r.seen = e
		r.seen.Whole = "" // it may be long
	}
	if valid && !e.Passed {
		r.reds++
	}
	return e
}
