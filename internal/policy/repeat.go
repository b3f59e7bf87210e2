package policy

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"wavex/internal/jsonobject"
)

// This file finds agents that make the same calls again and again.

const (
	// waits is the duration from which on a call may wait on purpose. The calls before such a call are not a loop.
	waits = 5 * time.Second
	// maxCycle is the longest cycle of calls that counts as a loop, cycles the number of its rounds.
	maxCycle = 8
	cycles   = 3
	// stopAt is the number of denied calls of a loop at which the attempt ends.
	stopAt = 3
)

// repeats knows the last calls of each agent.
type repeats struct {
	row    int // equal calls in a row after which the next is denied; 0: any number
	agents map[string]*recent
}

// recent are the last calls of one agent.
type recent struct {
	calls  []seenCall
	loop   []seenCall // the calls of a loop that was found; nil: none
	denied int        // calls of the loop that were denied
}

type digest = [sha256.Size]byte

// seenCall is a call with its result.
type seenCall struct{ call, result digest }

// before replaces a decision if the call is one more of a loop.
func (r *repeats) before(c Call, d Decision) Decision {
	if r.row <= 0 {
		return d
	}
	a, call := r.of(c.Agent), digestOf(c)
	if !slices.ContainsFunc(a.loop, func(s seenCall) bool { return s.call == call }) {
		loop := a.find(call, r.row)
		if loop == nil {
			switch d.Act {
			case Pass:
				a.loop = nil
			case Deny:
				a.add(seenCall{call, sha256.Sum256([]byte(d.Reason))}, r.row)
			}
			return d
		}
		a.loop, a.denied = loop, 0
	}
	a.denied++
	subject := "this call"
	if n := len(a.loop); n > 1 {
		subject = fmt.Sprintf("this cycle of %d calls", n)
	}
	d = Decision{Act: Deny, Rule: fmt.Sprintf("repeat: %d", r.row), Target: Target(c),
		Reason: subject + " had the same result each time; do something else, or report the obstacle; " +
			"to wait for something, use one call that takes 5 seconds or more"}
	if a.denied >= stopAt {
		d.Act = Stop
		d.Reason = subject + " had the same result each time, and was made again after it was denied"
	}
	return d
}

// after takes note of the result of a call.
func (r *repeats) after(c Call, res Result) {
	a := r.of(c.Agent)
	if res.Took >= waits {
		a.calls = a.calls[:0]
		return
	}
	a.add(seenCall{digestOf(c), sha256.Sum256(fmt.Appendf(nil, "%s%t", res.Output, res.Failed))}, r.row)
}

func (r *repeats) of(agent string) *recent {
	if r.agents[agent] == nil {
		r.agents[agent] = &recent{}
	}
	return r.agents[agent]
}

func (a *recent) add(c seenCall, row int) {
	if keep := max(row, maxCycle*cycles); len(a.calls) >= keep {
		a.calls = slices.Delete(a.calls, 0, len(a.calls)-keep+1)
	}
	a.calls = append(a.calls, c)
}

// find returns the calls of the loop that a call goes on with, or nil.
func (a *recent) find(call digest, row int) []seenCall {
	n := len(a.calls)
	for size := 1; size <= maxCycle; size++ {
		rounds := cycles
		if size == 1 {
			rounds = row
		}
		if n < size*rounds || a.calls[n-size].call != call {
			continue
		}
		tail := a.calls[n-size*rounds:]
		if slices.Equal(tail[size:], tail[:len(tail)-size]) {
			return slices.Clone(tail[:size])
		}
	}
	return nil
}

// digestOf identifies a call: the tool, the directory and the input without the description of a command.
func digestOf(c Call) digest {
	input := c.Input
	if command := jsonobject.Value(input).Get("command"); RunsCommand(c.Tool) && command != nil {
		input = slices.Concat(command, jsonobject.Value(input).Get("run_in_background"))
	}
	return sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", c.Tool, c.Dir, input))
}

// Target returns the main argument of a call.
func Target(c Call) string {
	for _, name := range []string{"command", "file_path", "notebook_path", "url", "pattern", "path"} {
		if s := jsonobject.Value(c.Input).Get(name).Text(); s != "" {
			return s
		}
	}
	return "again"
}
