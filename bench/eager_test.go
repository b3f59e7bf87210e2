//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wavex/internal/testrepo"
)

// timedTask is a task of the stand-in that takes Seconds, writes a file and is checked.
type timedTask struct {
	ID        string   `json:"id"`
	Subject   string   `json:"subject"`
	BlockedBy []string `json:"blockedBy,omitempty"`
	Verify    []string `json:"verify,omitempty"`
	// Reversibility is "" or 2B, with checkpoints.
	Reversibility string `json:"reversibility,omitempty"`
	Estimate      struct {
		Seconds float64 `json:"seconds"`
	} `json:"estimate"`
	Files    []writtenFile `json:"files,omitempty"`
	Rehearse block         `json:"rehearse"`
}

type writtenFile struct {
	Path   string `json:"path"`
	Action string `json:"action"`
}

// block tells the stand-in what to do in a turn.
type block struct {
	Duration string   `json:"duration,omitempty"`
	Runs     []string `json:"runs,omitempty"`
	Outcome  string   `json:"outcome,omitempty"`
	Attempts []block  `json:"attempts,omitempty"`
}

func newTimedTask(id string, seconds float64, blockedBy ...string) timedTask {
	t := timedTask{ID: id, Subject: id, BlockedBy: blockedBy, Verify: []string{"test -e " + id + ".txt"}}
	t.Estimate.Seconds, t.Rehearse.Duration = seconds, fmt.Sprintf("%.2fs", seconds)
	t.Rehearse.Runs = []string{"echo 1 > " + id + ".txt"}
	return t
}

// randomTasks returns 24 tasks in layers, with an exponential distribution of times around 5 s.
func randomTasks(seed uint64) (tasks []timedTask) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var before, layer []string
	room := 1 + rnd.IntN(8)
	for i := range 24 {
		if len(layer) == room {
			before, layer, room = layer, nil, 1+rnd.IntN(8)
		}
		var on []string
		for _, k := range rnd.Perm(len(before))[:min(len(before), 1+rnd.IntN(3))] {
			on = append(on, before[k])
		}
		t := newTimedTask(fmt.Sprintf("t%02d", i), min(15, max(1, 5*rnd.ExpFloat64())), on...)
		tasks, layer = append(tasks, t), append(layer, t.ID)
	}
	return tasks
}

// failing returns tasks of twice the time, which declare their files. The first attempts at a quarter of them
// do nothing, and half of these report it.
func failing(seed uint64) []timedTask {
	rnd := rand.New(rand.NewPCG(seed, 1))
	tasks := randomTasks(seed)
	for i, t := range tasks {
		tasks[i] = newTimedTask(t.ID, t.Estimate.Seconds*2, t.BlockedBy...)
		t := &tasks[i]
		t.Files = []writtenFile{{t.ID + ".txt", "create"}}
		if p := rnd.Float64(); p < 0.25 {
			runs := t.Rehearse.Runs
			t.Rehearse.Runs = nil
			t.Rehearse.Attempts = []block{{Outcome: "ok"}, {Runs: runs}}
			if p < 0.125 {
				t.Rehearse.Attempts[0].Outcome = "fail"
			}
		}
	}
	return tasks
}

// leastTime returns the time in seconds that no schedule of tasks can go below at -j4.
func leastTime(tasks []timedTask) float64 {
	ends, sum, longest := map[string]float64{}, 0.0, 0.0
	for _, t := range tasks {
		begin := 0.0
		for _, on := range t.BlockedBy {
			begin = max(begin, ends[on])
		}
		seconds := t.Estimate.Seconds * float64(max(1, len(t.Rehearse.Attempts)))
		ends[t.ID] = begin + seconds
		sum, longest = sum+seconds, max(longest, ends[t.ID])
	}
	return max(longest, sum/4)
}

// BenchmarkEager compares the time of an eager run of agents with the least possible time: for two chains whose waves
// take twice as long, and, with -large, for random plans.
func BenchmarkEager(b *testing.B) {
	chains := []timedTask{newTimedTask("a", 1), newTimedTask("b", 5, "a"), newTimedTask("c", 5), newTimedTask("d", 1, "c")}
	wavex := wavexBinary(b)
	for b.Loop() {
		for _, isolation := range []string{"shared", "worktree"} {
			checkBound(b, "eager chains over the least time, "+isolation, eagerRatio(b, wavex, isolation, chains), 1.1)
		}
		for seed := range uint64(10) {
			if benchFlags.large {
				checkBound(b, fmt.Sprintf("eager plan %d over the least time", seed),
					eagerRatio(b, wavex, "worktree", randomTasks(seed)), 1.15)
			}
		}
	}
}

// eagerRatio returns the time of a run divided by the least possible one.
func eagerRatio(b *testing.B, wavex, isolation string, tasks []timedTask) float64 {
	b.Helper()
	dir := b.TempDir()
	plan, err := json.Marshal(map[string]any{"isolation": isolation, "schedule": "eager", "parallel": 4, "tasks": tasks,
		"budget": map[string]int{"iterations": 2 * len(tasks)}})
	testrepo.Must(b, err)
	file(b, dir, "plan.json", string(plan))
	file(b, dir, ".gitignore", ".loop\n")
	env := append(os.Environ(), "HOME="+filepath.Join(dir, ".loop"), "GIT_CONFIG_NOSYSTEM=1")
	run := func(argv ...string) {
		c := exec.CommandContext(b.Context(), argv[0], argv[1:]...)
		c.Dir, c.Env = dir, env
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", argv, err, out)
		}
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "plan")
	begin := time.Now()
	run(wavex, "run", "plan.json", "--agent", "rehearse", "--review", "off", "--accept-assumptions", "--plain")
	return time.Since(begin).Seconds() / leastTime(tasks)
}

// BenchmarkEagerFailures is BenchmarkEager for random plans in which attempts fail. A failure costs the time of its
// attempt, also in the bound.
func BenchmarkEagerFailures(b *testing.B) {
	wavex, plans := wavexBinary(b), uint64(4)
	if benchFlags.large {
		plans = 24
	}
	for b.Loop() {
		for isolation, bound := range map[string]float64{"shared": 1.12, "worktree": 1.10} {
			var ratios []float64
			sum := 0.0
			for seed := range plans {
				ratios = append(ratios, eagerRatio(b, wavex, isolation, failing(seed)))
				sum += ratios[seed]
			}
			b.Logf("%s: %.3f, mean %.3f", isolation, ratios, sum/float64(plans))
			checkBound(b, "eager with failures over the least time, "+isolation, median(ratios), bound)
		}
	}
}
