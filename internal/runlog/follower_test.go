package runlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
	"wavex/runner"
	"wavex/scheduler"
)

func lengthen(t *testing.T, folder loop.Dir, text string) {
	t.Helper()
	f, err := os.OpenFile(folder.Path(loop.Journal), os.O_WRONLY|os.O_APPEND, 0)
	testrepo.Must(t, err)
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	testrepo.Must(t, f.Close())
}

// Poll shows the events before an unreadable record, and then returns the error.
func TestPollShowsRecordsBeforeABadOne(t *testing.T) {
	t.Parallel()
	notice := func(seq int64) []byte {
		b, err := event.Event{Seq: seq, Time: time.Unix(seq, 0).UTC(), Body: event.Notice{Level: "info",
			Text: "hello"}}.Encode()
		testrepo.Must(t, err)
		return b
	}
	for name, c := range map[string]struct {
		records [][]byte
		after   string
		wrong   any
	}{
		"a line that is no record": {[][]byte{notice(2)}, "nonsense\n", new(*journal.CorruptError)},
		"one of another version": {[][]byte{notice(2), []byte(`{"seq":3,"type":"of_tomorrow","data":{}}`)}, "",
			new(*usererr.BlockedError)},
		"a record is missing": {[][]byte{notice(2), notice(4)}, "", new(*usererr.BlockedError)},
		"both":                {[][]byte{notice(2), notice(4)}, "nonsense\n", new(*usererr.BlockedError)},
	} {
		folder, _ := written(t, started("r-1"))
		plan := filepath.Join(filepath.Dir(string(folder)), "plan.json")
		testrepo.Must(t, os.WriteFile(plan, []byte(`{"tasks":[{"id":"a","subject":"a"}]}`), 0o600))
		f := Follow(folder, plan)
		if _, err := f.Poll(nil); err != nil || f.State == nil {
			t.Fatalf("%s: %v", name, err)
		}
		log, _, err := journal.Open(folder.Path(loop.Journal))
		testrepo.Must(t, err)
		for _, r := range c.records {
			testrepo.Must(t, log.Append(r))
		}
		testrepo.Must(t, errors.Join(log.Sync(), log.Close()))
		lengthen(t, folder, c.after)
		told := 0
		changed, err := f.Poll(func(event.Event, *scheduler.State) { told++ })
		if !changed || !errors.As(err, c.wrong) || told != 1 || len(f.Events) != 2 || f.State.Seq != 2 {
			t.Errorf("%s: changed %v, %v; told of %d, has %d", name, changed, err, told, len(f.Events))
		}
	}
}

// pausedRun returns the events of a run that was paused and continued.
func pausedRun(t *testing.T, dir string) []event.Body {
	t.Helper()
	p := testrepo.Plan(t, dir, twoTasks)
	c := event.Config{Run: "r-1", Dir: dir, Loop: loop.In(dir), Parallel: 2,
		Limits: budget.Limits{NoUSD: true, NoIterations: true}}
	path := filepath.Join(dir, "plan.json")
	attempt := func(task string, n int, status event.Status, outcome runner.Outcome) []event.Body {
		i, _ := p.Lookup(task)
		key := p.Key(i)
		return []event.Body{event.AttemptStarted{Task: task, Key: key, Attempt: n, Try: n, Why: "first", Wave: 1},
			event.AttemptEnded{Task: task, Key: key, Attempt: n, Status: status, Charged: true,
				Result: runner.Result{Outcome: outcome}}}
	}
	return slices.Concat([]event.Body{event.Notice{Text: "before"}, event.RunStarted{Config: c, Plan: path,
		Digest: "d", Tasks: 2}, event.WaveStarted{Wave: 1, Of: 1, Tasks: []string{"a", "b"}}},
		attempt("a", 1, event.Completed, runner.Done), attempt("b", 1, event.Pending, runner.Interrupted),
		[]event.Body{event.RunEnded{Status: "paused"},
			event.RunResumed{Config: c, Plan: path, Digest: "e", Tasks: 2}}, attempt("b", 2, event.Completed,
			runner.Done),
		[]event.Body{event.RunEnded{Status: "complete"}})
}

// However the journal grows, a follower has the same state as a reader, and shows each event once.
func TestFollowerEqualsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"plan.json": twoTasks}.Write(t, dir)
	written := testrepo.Journal(t, loop.In(t.TempDir()), pausedRun(t, dir)...)
	whole := t.TempDir()
	testrepo.Journal(t, loop.Dir(whole), pausedRun(t, dir)...)
	data, p := text(t, whole, loop.Journal), testrepo.Plan(t, dir, twoTasks)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		folder := loop.Dir(t.TempDir())
		f, path := Follow(folder, ""), folder.Path(loop.Journal)
		var told []int64
		for at := 0; at < len(data); {
			at = min(at+1+rng.IntN(1500), len(data))
			testrepo.Must(t, os.WriteFile(path, []byte(data[:at]), 0o600))
			known := f.State != nil
			_, err := f.Poll(func(e event.Event, s *scheduler.State) {
				if !known || s.Seq != e.Seq {
					t.Errorf("%d: told of %d at %d, known %v", seed, e.Seq, s.Seq, known)
				}
				told = append(told, e.Seq)
			})
			testrepo.Must(t, err)
			events, _, err := ReadSettled(folder)
			if err != nil || len(events) != len(f.Events) || (f.State == nil) != (len(events) < 2) {
				t.Fatalf("%d: %d events followed, %d read, %v", seed, len(f.Events), len(events), err)
			}
			if f.State == nil {
				continue
			}
			now := scheduler.NewState(p)
			if err := now.Replay(events); err != nil || fmt.Sprint(now.Counts, now.Seq, now.Ended) != fmt.Sprint(f.State.Counts,
				f.State.Seq, f.State.Ended) {
				t.Fatalf("%d: followed %+v, read %+v, %v", seed, f.State.Counts, now.Counts, err)
			}
		}
		for i := range told {
			if told[i] != int64(len(written)-len(told)+i+1) {
				t.Errorf("%d: told of %v, the last is %d", seed, told, len(written))
			}
		}
	}
}

// Running has the activities in order of their start, with the last sign of life. An agent that
// damages its stream only hides its own, and does not block the reader.
func TestRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"plan.json": twoTasks}.Write(t, dir)
	folder := loop.In(dir)
	all := pausedRun(t, dir)
	started := []event.Body{all[1], all[3], all[5], event.ReviewStarted{N: 1, Mode: "light", Round: 1}}
	testrepo.Journal(t, folder, started...)
	lock, err := Lock(folder, "r-1")
	testrepo.Must(t, err)
	f := Follow(folder, "")
	_, err = f.Poll(nil)
	testrepo.Must(t, err)
	at := "runs/r-1/tasks/a/attempt-1/stream.jsonl"
	for name, c := range map[string]struct{ stream, want string }{
		"a tool":     {`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"make"}}]}}` + "\n", "Bash make"},
		"words":      {`{"type":"assistant","message":{"content":[{"type":"text","text":"first\nsecond"}]}}` + "\n", "first"},
		"not whole":  {`{"type":"assistant","message":{"content":[{"type":"text","text":"fir`, ""},
		"binary":     {strings.Repeat("\x00\xff\n", 1<<15), ""},
		"very large": {strings.Repeat("x", 1<<20) + "\n", ""},
		"empty":      {"", ""},
	} {
		testrepo.Files{at: c.stream}.Write(t, string(folder))
		got := f.Running()
		if len(got) != 3 || got[0].Task != "a" || got[1].Task != "b" || got[2].Kind != "review" || got[0].Subject != "do a" ||
			got[0].Last != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	waiting := "runs/r-1/tasks/a/attempt-1/" + loop.WaitingFile
	testrepo.Files{waiting: ""}.Write(t, string(folder))
	if got := f.Running(); got[0].Last != "waiting for a quiet directory" || got[1].Last != "" {
		t.Errorf("checks that wait: %+v", got)
	}
	testrepo.Must(t, os.Remove(folder.Path(filepath.FromSlash(waiting))))
	path := folder.Path(filepath.FromSlash(at))
	for name, lay := range map[string]func(){
		"a pipe":     func() { testrepo.NamedPipe(t, path) },
		"a folder":   func() { testrepo.Must(t, os.Mkdir(path, 0o755)) },
		"nothing":    func() {},
		"a way out":  func() { testrepo.Must(t, os.Symlink(filepath.Join(dir, "out.jsonl"), path)) },
		"in a round": func() { testrepo.Must(t, os.Symlink("stream.jsonl", path)) },
	} {
		testrepo.Files{"out.jsonl": `{"type":"assistant","message":{"content":[{"type":"text","text":"private"}]}}` +
			"\n"}.Write(t, dir)
		testrepo.Must(t, os.Remove(path))
		lay()
		if got := f.Running(); len(got) != 3 || got[0].Last != "" {
			t.Errorf("%s: %+v", name, got)
		}
		_ = os.Remove(path)
		testrepo.Files{at: ""}.Write(t, string(folder))
	}
	testrepo.Must(t, lock.Unlock())
	if changed, err := f.Poll(nil); err != nil || !changed || f.Alive || !f.Done() || f.Running() != nil {
		t.Errorf("nobody works at it: changed %v, alive %v, %v; %v", changed, f.Alive, err, f.Running())
	}
}

// A journal that begins anew belongs to another run, or to none yet.
func TestFollowFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"plan.json": twoTasks}.Write(t, dir)
	folder := loop.In(dir)
	testrepo.Journal(t, folder, pausedRun(t, dir)[1:4]...)
	f := Follow(folder, "")
	_, err := f.Poll(nil)
	testrepo.Must(t, err)
	j, _, err := Open(folder, "r-2", true, 0)
	testrepo.Must(t, err)
	defer j.Close()
	if changed, err := f.Poll(nil); err != nil || !changed || f.State != nil || len(f.Events) != 0 || f.Alive {
		t.Errorf("changed %v, %v: %+v", changed, err, f)
	}
	begun := pausedRun(t, dir)[1].(event.RunStarted)
	begun.Config.Run = "r-2"
	testrepo.Must(t, errors.Join(j.Append(event.Event{Seq: 1, Body: begun}), j.Sync()))
	if changed, err := f.Poll(nil); err != nil || !changed || f.State == nil || f.State.Config.Run != "r-2" || !f.Alive ||
		len(f.Running()) != 0 {
		t.Errorf("changed %v, %v: %+v", changed, err, f)
	}
}
