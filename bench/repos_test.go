//go:build unix

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// repoTasks is the number of tasks in each of the two waves of a run in worktrees.
const repoTasks = 8

// earlierCommit is the last commit whose wavex makes a worktree for each task of a wave, as measured before worktrees
// were handed on.
const earlierCommit = "da5c783dd661d4759234ee0f16a75b7e79a0aa0f"

// repoWavex is a wavex that runs in generated repositories.
type repoWavex struct {
	name   string
	argv   []string
	shared bool    // its checkpoints are measured, in the shared directory
	disk   float64 // the most checkouts that its worktrees may take
	wall   float64 // the most that its run with 60,000 files may take of that of the earlier wavex
}

// repoRun holds the figures of one run in worktrees and of one in the shared directory.
type repoRun struct {
	wall, end     float64 // seconds: of the whole run in worktrees; from its event run_ended to its exit
	overheads     []float64
	trees         int
	disk          float64 // of the worktrees, the larger of two measurements, in checkouts
	others        float64 // of the rest beyond the repository, records and objects, in megabytes
	processes     float64 // of git for each attempt of the second wave, integrations included
	point, after  checkpointFigures
	afterAndAgain checkpointFigures
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
	all := repoWavexes(b)
	for b.Loop() {
		for size := range strings.SplitSeq(benchFlags.files, ",") {
			repo := newRepo(b, must(strconv.Atoi(size)))
			fmt.Printf("\n%d files, %.0f MB: 2 waves of %d tasks of 1 s at -j4 (medians of %d rounds in turns)\n", repo.files,
				float64(repo.size)/1e6, repoTasks, benchFlags.rounds)
			runs := make([][]repoRun, len(all))
			for round := range benchFlags.rounds {
				for i, w := range all {
					runs[i] = append(runs[i], repo.measure(b, w))
					if round == benchFlags.rounds-1 {
						repo.print(b, w, runs[i])
					}
				}
			}
			for i, w := range all[:len(all)-1] {
				if last := len(all) - 1; w.wall > 0 && all[last].wall == 0 {
					what, r := fmt.Sprintf("wall of %s over %s", w.name, all[last].name), ratio(walls(runs[i]), walls(runs[last]))
					if repo.files < 60_000 {
						fmt.Printf("  %s: %.2f\n", what, r)
					} else {
						checkBound(b, what, r, w.wall)
					}
				}
			}
			repo.remove(b)
		}
	}
}

// repoWavexes returns this wavex, and the one that it is compared with.
func repoWavexes(b *testing.B) (all []repoWavex) {
	b.Helper()
	all = append(all, repoWavex{name: "wavex", argv: []string{wavexBinary(b), "--trust"}, shared: true, disk: 5,
		wall: 0.4})
	switch against := benchFlags.against; against {
	case "":
		return all
	case "earlier":
		return append(all, repoWavex{name: "the earlier wavex", argv: []string{buildEarlier(b)}, disk: 5})
	default:
		argv := []string{must(filepath.Abs(against)), "--trust"}
		return append(all, repoWavex{name: "the other", argv: argv, shared: true, disk: 5})
	}
}

// buildEarlier builds the wavex of earlierCommit from the history of this repository.
func buildEarlier(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	for _, argv := range [][]string{
		{"git", "-C", "..", "worktree", "add", "-q", "--detach", filepath.Join(dir, "source"), earlierCommit},
		{"go", "build", "-C", filepath.Join(dir, "source"), "-o", filepath.Join(dir, "wavex"), "./cmd/wavex"},
		{"git", "-C", "..", "worktree", "remove", "--force", filepath.Join(dir, "source")},
	} {
		if out, err := exec.CommandContext(b.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", argv, err, out)
		}
	}
	return filepath.Join(dir, "wavex")
}

func walls(runs []repoRun) (all []float64) {
	for _, r := range runs {
		all = append(all, r.wall)
	}
	return all
}

// print prints the medians of the rounds beside their bounds.
func (r *benchRepo) print(b *testing.B, w repoWavex, runs []repoRun) {
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
	load, _ := os.ReadFile("/proc/loadavg") // elsewhere it is not printed
	fmt.Printf("  %s: wall %.1f s; records and objects %.1f MB; load %.5s\n", w.name,
		mid(func(r repoRun) float64 { return r.wall }), mid(func(r repoRun) float64 { return r.others }), load)
	checkBound(b, "seconds of an attempt of the second wave beyond its agent",
		mid(func(r repoRun) float64 { return median(r.overheads) }), most)
	checkBound(b, "seconds from run_ended to the exit", mid(func(r repoRun) float64 { return r.end }), 1)
	checkBound(b, "worktrees", mid(func(r repoRun) float64 { return float64(r.trees) }), 5)
	checkBound(b, "checkouts on the disk in worktrees", mid(func(r repoRun) float64 { return r.disk }), w.disk)
	checkBound(b, "git processes of an attempt, with its integration",
		mid(func(r repoRun) float64 { return r.processes }), 20)
	if !w.shared {
		return
	}
	checkBound(b, "seconds of a checkpoint after one edit", mid(func(r repoRun) float64 { return r.point.seconds }), 0.7)
	checkBound(b, "seconds of the checkpoint after that",
		mid(func(r repoRun) float64 { return r.afterAndAgain.seconds }), 0.7)
	checkBound(b, "git processes of a checkpoint",
		mid(func(r repoRun) float64 { return float64(max(r.point.processes, r.after.processes)) }), 6)
}

// measure makes a run in worktrees, and one in the shared directory.
func (r *benchRepo) measure(b *testing.B, w repoWavex) (run repoRun) {
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
	e := r.run(b, w.argv, "worktree", tasks)
	run.wall, run.end = e.exit.Sub(began).Seconds()-e.paused.Seconds(), e.exit.Sub(e.ended).Seconds()
	checkout := r.size + 2*repoTasks*4096 // each task adds a file of one block
	run.trees, run.disk, run.others = e.trees, float64(e.disk)/float64(checkout), float64(e.others)/1e6
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

	if !w.shared {
		return run
	}
	touch := []timedTask{newTimedTask("a", 1), newTimedTask("b", 1, "a"), newTimedTask("c", 1, "b")}
	touch[1].Rehearse.Runs = []string{"find . -name .git -prune -o -name .loop -prune -o -type f -exec touch {} +"}
	for i := range touch {
		touch[i].Reversibility, touch[i].Verify = "2B", nil
	}
	e = r.run(b, w.argv, "shared", touch)
	for i, figures := range []*checkpointFigures{&run.point, &run.after, &run.afterAndAgain} {
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
	disk        int64 // bytes of the worktrees
	others      int64 // bytes of the rest beyond the repository
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

// run makes a run in the repository as it was generated. When half of the attempts have ended, and at the end of the
// last one, it stops wavex while it measures the disk.
func (r *benchRepo) run(b *testing.B, argv []string, isolation string, tasks []timedTask) (e benchRun) {
	b.Helper()
	r.reset(b)
	plan, err := json.Marshal(map[string]any{"isolation": isolation, "parallel": 4, "tasks": tasks,
		"budget": map[string]int{"iterations": 2 * len(tasks)}})
	testrepo.Must(b, err)
	before := diskUsage(b, r.dir)
	c := exec.CommandContext(b.Context(), argv[0], append([]string{"run", file(b, r.root, "plan.json", string(plan)),
		"--agent", "rehearse", "--review", "off", "--accept-assumptions", "--output", "json"}, argv[1:]...)...)
	c.Dir, c.Env = r.dir, r.env
	var said strings.Builder
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	testrepo.Must(b, err)
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
			if attempts++; attempts == len(tasks) || 2*attempts == len(tasks) {
				stopped := time.Now()
				_ = c.Process.Signal(syscall.SIGSTOP) // its own children go on, which are of git at most
				e.addDisk(b, r, before)
				_ = c.Process.Signal(syscall.SIGCONT)
				e.paused += time.Since(stopped)
			}
		case "run_ended":
			e.ended = time.Now()
		}
	}
	_, _ = io.Copy(io.Discard, lines)
	if err := c.Wait(); err != nil {
		b.Fatalf("%s: %v\n%s", argv, err, said.String())
	}
	e.exit = time.Now()
	return e
}

// addDisk measures the disk usage of the repository, which had before bytes, and keeps the larger one of worktrees. If
// git adds a worktree meanwhile, the rest is too large: its last measurement counts.
func (e *benchRun) addDisk(b *testing.B, r *benchRepo, before int64) {
	b.Helper()
	trees, disk := 0, int64(0)
	for _, path := range r.worktrees() {
		if disk += diskUsage(b, path); regexp.MustCompile(`\.\d+$`).MatchString(path) {
			trees++
		}
	}
	e.trees, e.disk = max(e.trees, trees), max(e.disk, disk)
	e.others = diskUsage(b, r.dir) - before - disk
}

// worktrees returns the folders and indexes of worktrees, also of those that are being deleted.
func (r *benchRepo) worktrees() (paths []string) {
	in := loop.In(r.dir)
	for _, pattern := range []string{in.Worktree("*", "[0-9]*"), filepath.Join(in.Path(loop.Worktrees), "trash", "*"),
		filepath.Join(r.dir, ".git", "worktrees", "*", "index")} {
		paths = append(paths, must(filepath.Glob(pattern))...)
	}
	return paths
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
	testrepo.Must(b, err)
	return bytes
}
