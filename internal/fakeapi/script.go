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

// Last returns a Match for requests whose last user message contains part.
func Last(part string) Match {
	return func(r *Request) bool { return strings.Contains(r.LastUser(), part) }
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

// play is the state of a script.
type play struct {
	mu     sync.Mutex
	script Script
	at     []position
	wrong  []string
}

type position struct{ step, times int }

func newPlay(s Script) *play { return &play{script: s, at: make([]position, len(s.Agents))} }

// next returns the step that answers r.
func (p *play) next(r *Request) (Reply, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.script.Agents {
		if a.When != nil && !a.When(r) {
			continue
		}
		at := &p.at[i]
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
		p.wrong = append(p.wrong, fmt.Sprintf("request %d: %s has no step left (after %d); last user text %q",
			r.N, a.name(i), len(a.Steps), head(r.LastUser())))
		return Reply{}, false
	}
	p.wrong = append(p.wrong, fmt.Sprintf("request %d: no agent answers it; model %s, first user text ends %q, last %q",
		r.N, r.Model(), tail(r.FirstUser()), head(r.LastUser())))
	return Reply{}, false
}

func (p *play) blame(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// faults returns the faults so far and the steps without a request.
func (p *play) faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := append([]string(nil), p.wrong...)
	for i, a := range p.script.Agents {
		if at := p.at[i]; at.step < len(a.Steps) {
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
