//go:build unix

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/internal/loop"
)

// repoTasks is the number of tasks in each of the two waves of a run in worktrees.
const repoTasks = 8

// repoRun holds the figures of one run in worktrees and of one in the shared directory.
type repoRun struct {
	wall, end    float64 // seconds: of the whole run in worktrees; from its event run_ended to its exit
	overheads    []float64
	trees        int
	disk         float64 // at the last attempt's end beyond the repository, in checkouts
	processes    float64 // of git for each attempt of the second wave, integrations included
	point, after checkpointFigures
}

// checkpointFigures are those of one checkpoint.
type checkpointFigures struct {
	seconds   float64
	processes int // of git
}

// BenchmarkRepos measures runs in generated repositories of the sizes of -files.
func BenchmarkRepos(b *testing.B) {
	if benchFlags.files == "" {
		fmt.Println("\nrepositories: not measured; see make bench-repos")
		return
	}
	names, binaries := []string{"wavex"}, []string{wavexBinary(b)}
	if benchFlags.against != "" {
		names, binaries = append(names, "the other"), append(binaries, must(filepath.Abs(benchFlags.against)))
	}
	for b.Loop() {
		for size := range strings.SplitSeq(benchFlags.files, ",") {
			repo := newRepo(b, must(strconv.Atoi(size)))
			runs := make([][]repoRun, len(binaries))
			for range benchFlags.rounds {
				for i, binary := range binaries {
					runs[i] = append(runs[i], repo.measure(b, binary))
				}
			}
			fmt.Printf("\n%d files, %.0f MB: 2 waves of %d tasks of 1 s at -j4 (medians of %d rounds in turns)\n", repo.files,
				float64(repo.size)/1e6, repoTasks, benchFlags.rounds)
			for i, name := range names {
				repo.print(b, name, runs[i])
			}
			if len(runs) > 1 {
				r := ratio(walls(runs[0]), walls(runs[1]))
				fmt.Printf("  wall of wavex over the other: %.2f\n", r)
				if repo.files >= 60_000 {
					checkBound(b, "wall of wavex over the other", r, 0.4)
				}
			}
			repo.remove(b)
		}
	}
}

func walls(runs []repoRun) (all []float64) {
	for _, r := range runs {
		all = append(all, r.wall)
	}
	return all
}

// print prints the medians of the rounds beside their bounds.
func (r *benchRepo) print(b *testing.B, name string, runs []repoRun) {
	b.Helper()
	mid := func(of func(repoRun) float64) float64 {
		var all []float64
		for _, run := range runs {
			all = append(all, of(run))
		}
		return median(all)
	}
	most := 0.2
	if r.files > 500 {
		most = 0.6
	}
	if r.files > 10_000 {
		most = 2
	}
	fmt.Printf("  %s: wall %.1f s\n", name, mid(func(r repoRun) float64 { return r.wall }))
	checkBound(b, "seconds of an attempt of the second wave beyond its agent",
		mid(func(r repoRun) float64 { return median(r.overheads) }), most)
	checkBound(b, "seconds from run_ended to the exit", mid(func(r repoRun) float64 { return r.end }), 1)
	checkBound(b, "worktrees", mid(func(r repoRun) float64 { return float64(r.trees) }), 5)
	checkBound(b, "checkouts on the disk beyond the repository", mid(func(r repoRun) float64 { return r.disk }), 5)
	checkBound(b, "git processes of an attempt, with its integration",
		mid(func(r repoRun) float64 { return r.processes }), 12)
	checkBound(b, "seconds of a checkpoint after one edit", mid(func(r repoRun) float64 { return r.point.seconds }), 0.7)
	checkBound(b, "seconds of a checkpoint after every file was touched",
		mid(func(r repoRun) float64 { return r.after.seconds }), 0.7)
	checkBound(b, "git processes of a checkpoint",
		mid(func(r repoRun) float64 { return float64(max(r.point.processes, r.after.processes)) }), 6)
}

// measure makes a run in worktrees, and one in the shared directory.
func (r *benchRepo) measure(b *testing.B, wavex string) (run repoRun) {
	b.Helper()
	var tasks []timedTask
	for i := range 2 * repoTasks {
		t := newTimedTask(fmt.Sprintf("t%02d", i), 1)
		if i >= repoTasks {
			for k := range repoTasks {
				t.BlockedBy = append(t.BlockedBy, tasks[k].ID)
			}
		}
		tasks = append(tasks, t)
	}
	began := time.Now()
	e := r.run(b, wavex, "worktree", tasks)
	run.wall, run.end = e.exit.Sub(began).Seconds()-e.paused.Seconds(), e.exit.Sub(e.ended).Seconds()
	run.trees, run.disk = e.trees, float64(e.disk)/float64(r.size)
	second, integrated := time.Time{}, time.Time{}
	for _, ev := range e.events {
		switch {
		case ev.Type == "wave_started" && ev.Data.Wave == 2:
			second = ev.Time
		case ev.Type == "integration_ended":
			integrated = ev.Time
		case ev.Type == "attempt_ended" && ev.Data.Task >= tasks[repoTasks].ID:
			begin, turn := e.find("attempt_started", ev.Data.Task), e.find("turn_ended", ev.Data.Task)
			run.overheads = append(run.overheads,
				(ev.Time.Sub(begin.Time) - turn.Data.Turn.Result.Duration).Seconds())
		}
	}
	if len(run.overheads) != repoTasks {
		b.Fatalf("%d attempts of the second wave, want %d", len(run.overheads), repoTasks)
	}
	run.processes = float64(r.processes(b, second, integrated)) / repoTasks

	touch := []timedTask{newTimedTask("a", 1), newTimedTask("b", 1, "a")}
	touch[1].Rehearse.Runs = []string{"find . -name .git -prune -o -name .loop -prune -o -type f -exec touch {} +"}
	for i := range touch {
		touch[i].Reversibility, touch[i].Verify = "2B", nil
	}
	e = r.run(b, wavex, "shared", touch)
	for i, figures := range []*checkpointFigures{&run.point, &run.after} {
		end := e.find("attempt_ended", touch[i].ID)
		begin := end.Data.Result.Started.Add(end.Data.Result.Duration)
		*figures = checkpointFigures{end.Time.Sub(begin).Seconds(), r.processes(b, begin, end.Time)}
	}
	return run
}

// benchRun holds the events and the measurements of a run.
type benchRun struct {
	events      []benchEvent
	ended, exit time.Time // of the event run_ended as it came out, and of the process
	paused      time.Duration
	trees       int
	disk        int64 // bytes
}

// benchEvent has the fields of an event that are measured.
type benchEvent struct {
	Type string
	Time time.Time
	Data struct {
		Task   string
		Wave   int
		Turn   struct{ Result benchResult }
		Result benchResult
	}
}

type benchResult struct {
	Started  time.Time
	Duration time.Duration
}

// find returns the event of a task.
func (e *benchRun) find(kind, task string) benchEvent {
	i := slices.IndexFunc(e.events, func(ev benchEvent) bool { return ev.Type == kind && ev.Data.Task == task })
	if i < 0 {
		return benchEvent{}
	}
	return e.events[i]
}

// run makes a run in the repository as it was generated. When the last attempt ends it stops wavex while it measures
// the disk.
func (r *benchRepo) run(b *testing.B, wavex, isolation string, tasks []timedTask) (e benchRun) {
	b.Helper()
	r.reset(b)
	plan, err := json.Marshal(map[string]any{"isolation": isolation, "parallel": 4, "tasks": tasks,
		"budget": map[string]int{"iterations": 2 * len(tasks)}})
	if err != nil {
		b.Fatal(err)
	}
	before := diskUsage(b, r.dir)
	c := exec.CommandContext(b.Context(), wavex, "run", file(b, r.root, "plan.json", string(plan)), "--agent", "rehearse",
		"--review", "off", "--accept-assumptions", "--output", "json", "--trust")
	c.Dir, c.Env = r.dir, r.env
	var said strings.Builder
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	attempts := 0
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		var ev benchEvent
		if err != nil || json.Unmarshal(line, &ev) != nil {
			break
		}
		e.events = append(e.events, ev)
		switch ev.Type {
		case "attempt_ended":
			if attempts++; attempts == len(tasks) {
				stopped := time.Now()
				_ = c.Process.Signal(syscall.SIGSTOP) // its own children go on, which are of git at most
				e.disk = diskUsage(b, r.dir) - before
				for _, path := range must(filepath.Glob(loop.In(r.dir).Worktree("*", "[0-9]*"))) {
					if ext := filepath.Ext(path); ext != ".overlay" && ext != ".lower" { // of overlays
						e.trees++
					}
				}
				_ = c.Process.Signal(syscall.SIGCONT)
				e.paused = time.Since(stopped)
			}
		case "run_ended":
			e.ended = time.Now()
		}
	}
	_, _ = io.Copy(io.Discard, lines)
	if err := c.Wait(); err != nil {
		b.Fatalf("%s: %v\n%s", wavex, err, said.String())
	}
	e.exit = time.Now()
	return e
}

// diskUsage returns the bytes that a folder takes on the disk.
func diskUsage(b *testing.B, dir string) (bytes int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		var st syscall.Stat_t
		if err == nil {
			if info, failed := d.Info(); failed == nil {
				st = *info.Sys().(*syscall.Stat_t)
			}
		}
		bytes += int64(st.Blocks) * 512
		return nil // a file may be gone
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
