package temporal_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/budget"
	poll "wavex/e2e/rig"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// This file kills coordinators and workers.

var rounds = flag.Int("rounds", 2, "rounds of TestRandomKills")

// campaign is a run whose coordinator and workers are processes.
type campaign struct {
	*rig
	round   int
	workers [2]*process
	dir     string // of the project
	notes   string // a folder for notes of the attempts
}

// attemptCost is the cost of each attempt of a campaign.
const attemptCost = budget.Dollar / 100

// newCampaign returns a run with workers. Each attempt runs a command between its start and the end of its turn, and
// another as its check.
func newCampaign(t testing.TB, round int, command, check string) *campaign {
	t.Helper()
	c := &campaign{rig: newRig(t, sharedServer(t)), round: round, notes: t.TempDir()}
	c.dir = testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	note := func(what, then string) string {
		return encode(t, fmt.Sprintf("echo ${WAVEX_ATTEMPT#*/} >> %s/%s; %s", c.notes, what, then))
	}
	var tasks []string
	for _, task := range []struct{ id, after string }{{"a", ""}, {"b", ""}, {"c", ""}, {"d", `"a","b"`}} {
		tasks = append(tasks, fmt.Sprintf(`{"id":%q,"subject":"Do it","blockedBy":[%s],"verify":[{"run":%s}],`+
			`"rehearse":{"duration":"0s","cost":0.01,"writes":[{"path":%q,"content":"x"}],"runs":[%s]}}`,
			task.id, task.after, note("checked", check), task.id, note("started", command)))
	}
	c.place.Plan = `{"tasks":[` + strings.Join(tasks, ",") + `]}`
	for i := range c.workers {
		c.startWorker(i)
	}
	return c
}

// name returns the name of a worker, which no other test has.
func (c *campaign) name(i int) string { return fmt.Sprintf("k%d-%d-%d", os.Getpid(), c.round, i) }

func (c *campaign) startWorker(i int) {
	p := c.place
	p.Name, p.Dir = c.name(i), filepath.Join(c.notes, c.name(i))
	testrepo.Must(c.t, os.MkdirAll(p.Dir, 0o700))
	c.workers[i] = start(c.t, "work", encode(c.t, p))
}

// coordinate starts the coordinator, or the next one. Each gets more money, as a person would give it: attempts that
// are lost count at their caps, which together are the budget.
func (c *campaign) coordinate() *process {
	c.place.Budget += 1000 * budget.Dollar
	p := c.place
	p.Name, p.Dir = fmt.Sprintf("20260101-000000-%s", c.name(0)), c.dir
	return start(c.t, "coordinate", encode(c.t, p))
}

// finish runs coordinators until the run is complete, and stops the workers.
func (c *campaign) finish(p *process) {
	c.t.Helper()
	for range 5 {
		status, _ := p.out.ReadString('\n')
		_ = p.wait()
		if status == "complete\n" {
			for _, w := range c.workers {
				w.signal(c.t, unix.SIGTERM)
				_ = w.wait()
			}
			return
		}
		c.t.Logf("the run ended as %q\n%s", status, p.said())
		p = c.coordinate()
	}
	c.t.Fatal("the run is never complete")
}

// lines returns the attempts, TASK/N, that have written a note.
func (c *campaign) lines(what string) []string {
	text, err := os.ReadFile(filepath.Join(c.notes, what))
	if !errors.Is(err, fs.ErrNotExist) { // there may be none yet
		testrepo.Must(c.t, err)
	}
	var all []string
	for _, line := range strings.Fields(string(text)) {
		parts := strings.Split(line, "/")
		all = append(all, strings.Join(parts[len(parts)-2:], "/"))
	}
	return all
}

// verify checks the journal against the notes of the attempts.
func (c *campaign) verify() {
	c.t.Helper()
	events, err := runlog.Read(loop.In(c.dir))
	testrepo.Must(c.t, err)
	starts, ends := map[string]int{}, map[string]int{}
	var spent, charged budget.USD
	told := map[string]budget.USD{} // by workers that interrupted an attempt, or told its cost late
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.AttemptStarted:
			starts[fmt.Sprintf("%s/%d", b.Task, b.Attempt)]++
		case event.AttemptEnded:
			ends[fmt.Sprintf("%s/%d", b.Task, b.Attempt)]++
			spent += b.Result.Cost
			if b.Result.Outcome == runner.Interrupted && b.Result.Priced != "cap" && b.Result.Cost > 0 {
				told[fmt.Sprintf("%s/%d", b.Task, b.Attempt)] = b.Result.Cost
			}
		case event.CostCorrected:
			spent += b.Cost - b.Was
			told[fmt.Sprintf("%s/%d", b.Task, b.Attempt)] = b.Cost
		}
	}
	if !maps.Equal(starts, ends) || slices.Max(slices.Collect(maps.Values(starts))) != 1 {
		c.t.Errorf("starts %v, ends %v", starts, ends)
	}
	began := c.lines("started")
	slices.Sort(began)
	if once := slices.Compact(slices.Clone(began)); len(once) != len(began) {
		c.t.Errorf("an attempt was made twice: %q", began)
	}
	for _, a := range began {
		if starts[a] == 0 {
			c.t.Errorf("%s was made without a start on record", a)
		}
		cost, known := told[a]
		if !known {
			cost = attemptCost
		}
		charged += cost
	}
	if spent < charged {
		c.t.Errorf("the ledger has %s, and agents have charged up to %s", spent, charged)
	}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	testrepo.Must(c.t, err)
	for _, path := range environs {
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), fmt.Sprintf("worker@k%d-%d-", os.Getpid(), c.round)) {
			c.t.Errorf("%s lives on with a mark", filepath.Dir(path))
		}
	}
}

// door is a named pipe at which commands wait until it is opened.
type door struct {
	path string
	pipe *os.File
}

func newDoor(t testing.TB) *door {
	t.Helper()
	d := &door{path: filepath.Join(t.TempDir(), "door")}
	testrepo.NamedPipe(t, d.path)
	var err error
	d.pipe, err = os.OpenFile(d.path, os.O_RDWR, 0)
	testrepo.Must(t, err)
	return d
}

// open lets all commands through, also those that come later.
func (d *door) open(t testing.TB) {
	t.Helper()
	testrepo.Must(t, os.WriteFile(d.path+".open", nil, 0o600))
	testrepo.Must(t, os.Rename(d.path+".open", d.path))
	testrepo.Must(t, d.pipe.Close())
}

// awaitStarts returns when n attempts have begun.
func (c *campaign) awaitStarts(n int) {
	c.t.Helper()
	if !poll.Until(c.t.Context(), func() bool { return len(c.lines("started")) >= n }) {
		c.t.Fatal("the attempts have not begun")
	}
}

// TestCoordinatorKilled: attempts go on without their coordinator, and the next one collects them. None is made again.
func TestCoordinatorKilled(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	c := newCampaign(t, 90, "cat "+d.path, "true")
	p := c.coordinate()
	c.awaitStarts(3)
	p.kill()
	d.open(t)
	c.finish(c.coordinate())
	c.verify()
	if n := len(c.lines("started")); n != 4 {
		t.Errorf("%d attempts", n)
	}
}

// TestBothKilled: after the death of the coordinator and of all workers the run goes on with new attempts.
func TestBothKilled(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	c := newCampaign(t, 91, "cat "+d.path, "true")
	p := c.coordinate()
	c.awaitStarts(3)
	p.kill()
	for i, w := range c.workers {
		w.kill()
		c.startWorker(i)
	}
	d.open(t)
	c.finish(c.coordinate())
	c.verify()
	if n := len(c.lines("started")); n != 7 {
		t.Errorf("%d attempts", n)
	}
}

// TestRandomKills kills coordinators and workers at random moments. Afterwards each attempt was made at most once and
// has one end, the ledger is not below what agents have charged, and no process is left.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	for round := range *rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(round), 1))
			c := newCampaign(t, round, "sleep 0.3", "sleep 0.2")
			c.place.Heartbeat = 4 * time.Second // a loss may be told between two kills
			p := c.coordinate()
			for range 1 + random.IntN(3) {
				time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
				what := random.IntN(4)
				if what != 1 {
					p.kill()
				}
				if what != 0 {
					i := random.IntN(len(c.workers))
					c.workers[i].kill()
					c.startWorker(i)
				}
				if what != 1 {
					p = c.coordinate()
				}
			}
			c.finish(p)
			c.verify()
		})
	}
}
