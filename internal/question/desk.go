package question

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"wavex/internal/policy"
	"wavex/internal/safefile"
)

// Desk puts the calls of one session to a person. Its methods are safe for concurrent use.
type Desk struct {
	// Redact removes secrets from the target of a call; nil: it is left as it is.
	Redact   func(string) string
	dir      Dir
	terminal Terminal
	always   func(pattern string)
	turn     *semaphore.Weighted // of the terminal, for one question at a time

	mu      sync.Mutex
	allowed []string // patterns that need no answer any more
	last    int      // number of the last question
}

// Terminal asks a person at the terminal. It is called for one question at a time, and returns an error soon after ctx
// ends. If the question got its answer elsewhere, the cause of that end is an *AnsweredError.
type Terminal func(ctx context.Context, q Question) (Choice, error)

// NewDesk returns the desk of a session. terminal is nil if no person is at one. allowed are patterns that the user has
// allowed for good; always records another one, and reports its own errors.
func NewDesk(dir Dir, terminal Terminal, allowed []string, always func(pattern string)) *Desk {
	d := &Desk{dir: dir, terminal: terminal, always: always, turn: semaphore.NewWeighted(1),
		allowed: slices.Clone(allowed)}
	earlier, _ := dir.all() // an unreadable question is asked again
	for _, q := range earlier {
		d.last = max(d.last, number(q.ID))
		if a, ok := dir.Answered(q.ID); ok && (a.Choice == Run || a.Choice == Always) {
			d.allowed = append(d.allowed, q.Pattern)
		}
	}
	return d
}

// byRule answers a question whose pattern was allowed while it waited.
var byRule = Answer{Choice: Once, By: "an answer to an earlier question"}

// byDeadline closes a question without an answer.
var byDeadline = Answer{Choice: No, By: "deadline"}

// Decide puts a call to a person, unless all its patterns are allowed. The answer counts for the whole call, and for
// other calls only with the pattern that the question names. If the call is denied, why says so to the agent. Without a
// person it is denied at once.
func (d *Desk) Decide(ctx context.Context, call policy.Question, timeout time.Duration) (allowed bool, why string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if d.Redact != nil {
		call.Target = d.Redact(call.Target)
	}
	for _, pattern := range append([]string{call.Pattern}, strings.Split(call.Others, "\n")...) {
		if pattern == "" || d.isAllowed(pattern) {
			continue
		}
		if d.terminal == nil && !d.dir.isWatched() {
			return false, "a person must allow this, and none is there; do without it, or say in your report why it is needed"
		}
		call.Pattern = pattern
		a, err := d.ask(ctx, call, timeout)
		switch {
		case err != nil:
			return false, "a person must allow this, and could not be asked: " + err.Error()
		case a == byRule:
			continue
		case a == byDeadline:
			return false, fmt.Sprintf("a person must allow this, and no answer came within %s; do without it", timeout)
		case a.Choice == No:
			return false, "a person said no to this; do without it, or say in your report why it is needed"
		}
		return true, ""
	}
	return true, ""
}

// ask puts one question to a person, until ctx ends, and returns the answer.
func (d *Desk) ask(ctx context.Context, call policy.Question, timeout time.Duration) (Answer, error) {
	q, err := d.publish(call, timeout)
	if err != nil {
		return Answer{}, err
	}
	decided, answers := make(chan struct{}), make(chan Answer, 1)
	var asking sync.WaitGroup
	atTerminal, answered := context.WithCancelCause(ctx)
	defer asking.Wait()
	defer answered(nil) // unless it has a cause
	defer close(decided)
	if d.terminal != nil {
		asking.Go(func() { d.atTerminal(atTerminal, q, answers, decided) })
	}
	a := d.await(ctx, q, answers)
	if ctx.Err() == nil {
		answered(&AnsweredError{a})
	}
	if a.Choice == Always || a.Choice == Run {
		d.mu.Lock()
		d.allowed = append(d.allowed, call.Pattern)
		d.mu.Unlock()
	}
	if a.Choice == Always {
		d.always(call.Pattern)
	}
	return a, nil
}

func (d *Desk) isAllowed(pattern string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.allowed, pattern)
}

// publish records a new question.
func (d *Desk) publish(call policy.Question, timeout time.Duration) (Question, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now().UTC()
	q := Question{ID: fmt.Sprintf("q%d", d.last+1), Question: call, Asked: now, Deadline: now.Add(timeout)}
	text, err := json.MarshalIndent(q, "", "  ")
	if err == nil {
		err = safefile.MkdirAll(string(d.dir), 0o700)
	}
	if err == nil {
		err = safefile.Replace(filepath.Join(string(d.dir), q.ID+questionSuffix), append(text, '\n'), 0o600, false)
	}
	if err == nil {
		d.last++
	}
	return q, err
}

// await waits for the first answer: one of answers, or of another process, or byDeadline at the end of ctx.
func (d *Desk) await(ctx context.Context, q Question, answers <-chan Answer) Answer {
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case a := <-answers:
			return d.dir.settle(q.ID, a)
		case <-poll.C:
			if a, ok := d.dir.Answered(q.ID); ok {
				return a
			}
			if d.isAllowed(q.Pattern) {
				return d.dir.settle(q.ID, byRule)
			}
		case <-ctx.Done():
			return d.dir.settle(q.ID, byDeadline)
		}
	}
}

// atTerminal asks at the terminal when it is free, and sends the answer. The next question waits until it is decided.
func (d *Desk) atTerminal(ctx context.Context, q Question, answers chan<- Answer, decided <-chan struct{}) {
	if d.turn.Acquire(ctx, 1) != nil {
		return
	}
	defer d.turn.Release(1)
	if d.isAllowed(q.Pattern) {
		answers <- byRule
		return
	}
	choice, err := d.terminal(ctx, q)
	if err == nil {
		answers <- Answer{Choice: choice, By: "terminal"}
	}
	<-decided
}
