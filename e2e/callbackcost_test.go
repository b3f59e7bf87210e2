//go:build unix

package e2e

// This file measures how much longer a tool call takes if the CLI asks about it before and after.

import (
	"context"
	"encoding/json"
	"flag"
	"slices"
	"testing"
	"time"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

var readsToTime = flag.Int("reads", 9, "how many calls TestCallbacksCost times at least in each process")

// mostReads bounds the calls that TestCallbacksCost times in each process while the machine is too noisy.
const mostReads = 60

// Callbacks before and after each call make it at most 20 ms longer (medians) and cost no request of their own. Two
// processes, one with callbacks, make a call each in turns, so that they share the noise of the machine. On a machine
// where a call without callbacks takes more than 60 ms, half of it is allowed.
func TestCallbacksCost(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, func(t *testing.T, c cli) {
		release := reserveProcesses(t, 2)
		defer release()
		most := max(mostReads, *readsToTime)
		without, with := newTimedReads(t, c, false, most), newTimedReads(t, c, true, most)
		longer, bound := time.Duration(0), time.Duration(0)
		for n := range most {
			without.read(t)
			with.read(t)
			base := without.median()
			longer, bound = with.median()-base, 20*time.Millisecond
			if base > 60*time.Millisecond {
				bound = base / 2
			}
			if n+1 >= *readsToTime && longer <= bound {
				break
			}
		}
		t.Logf("a call takes %s, with callbacks %s more (medians of %d)", without.median(), longer, len(with.took))
		if longer > bound {
			t.Errorf("a call takes %s longer, and may %s", longer, bound)
		}
		for _, r := range []*timedReads{without, with} {
			if got := len(r.srv.Messages(nil)); got != len(r.took)+1 {
				t.Errorf("callbacks %v: %d requests around %d calls", r.callbacks, got, len(r.took))
			}
		}
	})
}

// timedReads is a process that reads a file again and again, each time when read opens the next latch.
type timedReads struct {
	p         *cliProcess
	srv       *fakeapi.Server
	callbacks bool
	latches   []*fakeapi.Latch
	arrived   chan time.Time // of requests
	line      int            // the next line of the process
	took      []time.Duration
}

func newTimedReads(t *testing.T, c cli, callbacks bool, most int) *timedReads {
	r := &timedReads{callbacks: callbacks, arrived: make(chan time.Time, most+1)}
	for range most + 1 {
		r.latches = append(r.latches, fakeapi.NewLatch())
	}
	n := 0
	then := fakeapi.Computed(func(*fakeapi.Request) fakeapi.Reply {
		r.arrived <- time.Now()
		n++
		return fakeapi.Use(fakeapi.Read("file.txt")).WithUsage(use).WaitingFor(r.latches[n-1])
	})
	r.srv = fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &then}}})
	r.p = startCLI(t, r.srv, setup{cli: c, dir: newRepo(t, "-- file.txt --\ntext\n").dir, talk: true, room: true})
	if callbacks {
		hook := []any{map[string]any{"hookCallbackIds": []string{"c"}, "timeout": 60}}
		r.p.send(map[string]any{"type": "control_request", "request_id": "r", "request": map[string]any{
			"subtype": "initialize", "hooks": map[string]any{"PreToolUse": hook, "PostToolUse": hook}}})
	}
	r.p.send("Read it.")
	r.arrival(t)
	return r
}

// arrival waits for a request and returns when it came.
func (r *timedReads) arrival(t *testing.T) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	select {
	case at := <-r.arrived:
		return at
	case <-ctx.Done():
		t.Fatalf("no request comes\n%s", r.p.transcript())
		return time.Time{}
	}
}

// read lets the process make a call, answers its questions, and takes the time until the next request.
func (r *timedReads) read(t *testing.T) {
	t.Helper()
	began := time.Now()
	r.latches[len(r.took)].Open()
	for range map[bool]int{true: 2}[r.callbacks] {
		var l line
		l, r.line = r.p.await(r.line, func(l line) bool { return l.Type == "control_request" })
		r.line++
		var q struct {
			ID string `json:"request_id"`
		}
		testrepo.Must(t, json.Unmarshal(l.raw, &q))
		r.p.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success",
			"request_id": q.ID, "response": map[string]any{}}})
	}
	r.took = append(r.took, r.arrival(t).Sub(began))
}

func (r *timedReads) median() time.Duration {
	sorted := slices.Sorted(slices.Values(r.took))
	return sorted[len(sorted)/2]
}
