//go:build unix

package e2e

// This file measures how much longer a tool call takes if the CLI asks about it before and after.

import (
	"encoding/json"
	"flag"
	"slices"
	"testing"
	"time"

	"wavex/internal/fakeapi"
)

var readsToTime = flag.Int("reads", 3, "how many calls TestCallbacksCost times in each process")

// Callbacks before and after each call cost no request of their own.
func TestCallbacksCost(t *testing.T) {
	t.Parallel()
	release := reserveProcesses(t, 1)
	defer release()
	clis := shared.clis
	if *readsToTime <= 3 {
		clis = clis[len(clis)-1:]
	}
	for _, c := range clis {
		without, with := readTimes(t, c, false), readTimes(t, c, true)
		if len(without) != len(with) || len(with) != *readsToTime {
			t.Errorf("%s: %d and %d requests between %d calls", c.name, len(without), len(with), *readsToTime)
		}
		slices.Sort(without)
		slices.Sort(with)
		t.Logf("%s: a call takes %s, with callbacks %s (medians of %d)", c.name, without[len(without)/2],
			with[len(with)/2], len(with))
	}
}

// readTimes returns the times between the requests of a turn that reads a file again and again.
func readTimes(t *testing.T, c cli, callbacks bool) (took []time.Duration) {
	var last time.Time
	n := 0
	then := fakeapi.Computed(func(*fakeapi.Request) fakeapi.Reply {
		now := time.Now()
		if n++; n > 1 {
			took = append(took, now.Sub(last))
		}
		last = now
		if n > *readsToTime {
			return fakeapi.Text("done").WithUsage(use)
		}
		return fakeapi.Use(fakeapi.Read("file.txt")).WithUsage(use)
	})
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &then}}})
	r := newRepo(t, "-- file.txt --\ntext\n")
	p := startCLI(t, srv, setup{cli: c, dir: r.dir, talk: true, room: true})
	if callbacks {
		hook := []any{map[string]any{"hookCallbackIds": []string{"c"}, "timeout": 60}}
		p.send(map[string]any{"type": "control_request", "request_id": "r", "request": map[string]any{
			"subtype": "initialize", "hooks": map[string]any{"PreToolUse": hook, "PostToolUse": hook}}})
	}
	p.send("Read it.")
	asked := 0
	for from := 0; ; from++ {
		var l line
		l, from = p.await(from, func(l line) bool { return l.Type == "control_request" || l.Type == "result" })
		if l.Type == "result" {
			break
		}
		asked++
		var q struct {
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal(l.raw, &q); err != nil {
			t.Fatal(err)
		}
		p.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success",
			"request_id": q.ID, "response": map[string]any{}}})
	}
	p.end()
	if callbacks != (asked == 2**readsToTime) || !callbacks && asked > 0 {
		t.Errorf("asked %d times about %d calls", asked, *readsToTime)
	}
	return took
}
