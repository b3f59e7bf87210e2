package fakeapi

import (
	"fmt"
	"strings"
	"sync"
)

// Match decides whether an agent answers a request.
type Match func(*Request) bool

// Prompt returns a Match for conversations whose first user message contains part.
func Prompt(part string) Match {
	return func(r *Request) bool { return strings.Contains(r.FirstUser(), part) }
}

// System returns a Match for conversations whose system prompt contains part.
func System(part string) Match {
	return func(r *Request) bool { return strings.Contains(r.System(), part) }
}

// All returns a Match for requests that every one of ms matches.
func All(ms ...Match) Match {
	return func(r *Request) bool {
		for _, m := range ms {
			if !m(r) {
				return false
			}
		}
		return true
	}
}

// Agent answers the requests that When matches (nil matches all), one step for each, in order of
// arrival and independent of the session. A new attempt with the same prompt continues where the
// former one stopped.
type Agent struct {
	Name  string // for messages; "" means its position
	When  Match
	Steps []Reply
	// Then answers every request after the last step; if it is nil they are faults.
	Then *Reply
}

// Script holds the answers of a server.
type Script struct {
	Agents []*Agent // the first that matches answers
	// Prices of the models that Charged needs.
	Prices Prices
}

// playback is the state of a script.
type playback struct {
	mu        sync.Mutex
	script    Script
	positions []position
	errors    []string
}

type position struct{ step, times int }

func newPlayback(s Script) *playback {
	return &playback{script: s, positions: make([]position, len(s.Agents))}
}

// next returns the step that answers r.
func (p *playback) next(r *Request) (Reply, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.script.Agents {
		if a.When != nil && !a.When(r) {
			continue
		}
		at := &p.positions[i]
		if at.step < len(a.Steps) {
			reply := a.Steps[at.step]
			if at.times++; at.times >= max(reply.Count, 1) {
				*at = position{step: at.step + 1}
			}
			return reply, true
		}
		if a.Then != nil {
			return *a.Then, true
		}
		p.errors = append(p.errors, fmt.Sprintf("request %d: %s has no step left (after %d); last user text %q",
			r.Index, a.name(i), len(a.Steps), head(r.LastUser())))
		return Reply{}, false
	}
	p.errors = append(p.errors, fmt.Sprintf("request %d: no agent answers it; model %s, first user text ends %q, last %q",
		r.Index, r.Model(), tail(r.FirstUser()), head(r.LastUser())))
	return Reply{}, false
}

func (p *playback) addErrorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, fmt.Sprintf(format, args...))
}

// allErrors returns the faults so far and the steps without a request.
func (p *playback) allErrors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := append([]string(nil), p.errors...)
	for i, a := range p.script.Agents {
		if at := p.positions[i]; at.step < len(a.Steps) {
			out = append(out, fmt.Sprintf("%s: step %d of %d was not asked for (%d of its %d times)",
				a.name(i), at.step+1, len(a.Steps), at.times, max(a.Steps[at.step].Count, 1)))
		}
	}
	return out
}

func (a *Agent) name(i int) string {
	if a.Name != "" {
		return "agent " + a.Name
	}
	return fmt.Sprintf("agent %d", i)
}

func head(s string) string { return s[:min(len(s), 200)] }
func tail(s string) string { return s[max(0, len(s)-200):] }
