package e2e

// This file kills wavex with SIGKILL in the middle of a run with real processes: none of them
// survives, and the run continues without repeating work.

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// marked returns the processes whose environment contains an entry, as pidfds.
func marked(t *testing.T, entry string) map[int]int {
	t.Helper()
	found := map[int]int{}
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	testrepo.Must(t, err)
	for _, path := range envs {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, data...), []byte("\x00"+entry+"\x00")) {
			continue // gone, or not readable for this user
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			found[pid] = fd
		}
	}
	return found
}

// mustBeGone asserts that no process has the entry after within, as counted by rig.Within.
func mustBeGone(t *testing.T, entry string, within time.Duration, after string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	var alive []string
	took, ok := rig.Within(ctx, within, func() bool {
		alive = nil
		for pid, fd := range marked(t, entry) {
			_ = unix.Close(fd)
			name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			alive = append(alive, strconv.Itoa(pid)+" "+string(bytes.ReplaceAll(name, []byte{0}, []byte{' '})))
		}
		return len(alive) == 0
	})
	if !ok {
		t.Errorf("%s after %s there are still alive, or were until then: %q", took, after, alive)
	}
}

// orphanPlan returns a plan of three tasks, two of them at once, whose agents may do anything.
func orphanPlan() string {
	return manyTasksPlan{n: 3, parallel: 2, model: model, tools: `"Bash"`}.String()
}

// orphanAgents returns the agents of herd. Unlike shepherds, each leaves a process behind, in its own
// session.
func orphanAgents() []*fakeapi.Agent {
	agents := fileWriters(3)
	for _, a := range agents {
		plain := a.Then.Compute
		stray := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			reply := plain(r)
			if r.ToolTurns() == 1 {
				reply.Tools = []fakeapi.Tool{fakeapi.Bash("setsid sleep 300 >/dev/null 2>&1 & pwd")}
			}
			return reply
		})
		a.Then = &stray
	}
	return agents
}

// nth matches the nth request for a message, from 1.
func nth(n int32) fakeapi.Match {
	var seen atomic.Int32
	return func(r *fakeapi.Request) bool {
		return r.Method == http.MethodPost && r.Err() == nil && seen.Add(1) == n
	}
}

func TestKilledAndResumed(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		// Before the first answer, between turns, while the second task is at work, ...
		moments := []int32{1, 2, 4, 6, 8}
		switch {
		case c != shared.cli:
			moments = moments[3:4]
		case !*allCases:
			moments = []int32{1, 4, 6}
		}
		for _, n := range moments {
			t.Run("at request "+strconv.Itoa(int(n)), func(t *testing.T) {
				t.Parallel()
				killedAndResumed(t, c, n)
			})
		}
	})
}

func killedAndResumed(t *testing.T, c cli, n int32) {
	last := &fakeapi.Agent{Name: "the last", When: nth(n),
		Steps: []fakeapi.Reply{fakeapi.Text("too late").WaitingFor(fakeapi.NewLatch())}}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: append([]*fakeapi.Agent{last}, orphanAgents()...)})
	env := Env(t, srv)
	mark := env[slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOME=") })]
	t.Cleanup(func() {
		for pid, fd := range marked(t, mark) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			_ = unix.Close(fd)
			t.Logf("left to the test to kill: %d", pid)
		}
	})
	r := newRepo(t, orphanPlan()).on(c)

	w := r.wavexEnv(env, "run", "plan.json", "--output", "json")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if _, err := srv.Wait(ctx, nth(n)); err != nil {
		t.Fatal(err)
	}
	testrepo.Must(t, w.cmd.Process.Kill())
	mustBeGone(t, mark, 2*time.Second, "the kill")
	before := w.end()

	e := r.wavexEnv(env, "resume", "--output", "json").end()
	events, end := e.events(t)
	if e.exit != 0 || end.Tasks.Completed != 3 {
		t.Fatalf("resumed: exit %d, %s\n%s", e.exit, end.Data, e.stderr)
	}
	for id := range completed(t, before.stdout) {
		for _, v := range events {
			if v.Type == "attempt_started" && strings.Contains(string(v.Data), `"`+id+`"`) {
				t.Errorf("%s was completed before the kill and started again", id)
			}
		}
	}
	// A response in flight when wavex died may be in no stream.
	spent, charged := budget.FromFloat(end.CostUSD), srv.Charged()
	if off := charged - spent; off < 0 || off > 2*7_650 {
		t.Errorf("the ledger says %d, the API charged %d", spent, charged)
	}
	mustBeGone(t, mark, time.Second, "the end")
}

// completed returns the tasks that are done according to a run's events, which may be cut short.
func completed(t *testing.T, stdout string) map[string]bool {
	t.Helper()
	done := map[string]bool{}
	for line := range strings.Lines(stdout) {
		var v struct {
			Type string `json:"type"`
			Data struct {
				Task   string `json:"task"`
				Result struct {
					Outcome string `json:"outcome"`
				} `json:"result"`
			} `json:"data"`
		}
		if json.Unmarshal([]byte(line), &v) == nil && v.Type == "attempt_ended" && v.Data.Result.Outcome == "done" {
			done[v.Data.Task] = true
		}
	}
	return done
}
