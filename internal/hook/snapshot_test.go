package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report/reporttest"
	"wavex/scheduler"
)

// writeFakeRun plays a story into a mirror and a journal in a folder, as a run does.
func writeFakeRun(t *testing.T, tell func(testing.TB,
	func(event.Event, *scheduler.State)) *reporttest.FakeRun) (folder loop.Dir) {
	t.Helper()
	folder = loop.In(t.TempDir())
	must(t, os.MkdirAll(string(folder), 0o755))
	log, _, err := journal.Open(folder.Path(loop.Journal))
	must(t, err)
	m := NewSnapshotWriter(folder, "", nil)
	tell(t, func(e event.Event, s *scheduler.State) {
		b, err := json.Marshal(e)
		must(t, err)
		must(t, log.Append(b))
		m.Event(e, s)
	})
	must(t, errors.Join(log.Sync(), log.Close(), m.Close()))
	return folder
}

func TestSnapshotWriter(t *testing.T) {
	t.Parallel()
	folder := writeFakeRun(t, func(t testing.TB, show func(event.Event, *scheduler.State)) *reporttest.FakeRun {
		s := reporttest.New(t, "shop", reporttest.Tasks{{ID: "T-1", Subject: "First"}, {ID: "T-2", Subject: "Second"},
			{ID: "T-3", Subject: "Third", Blockers: []int{0}}})
		s.S.Plan.Tasks[1].Description = "What to do.\nVerify: make"
		s.Show = show
		s.Apply(event.RunStarted{Config: reporttest.Config(), Plan: "/project/plan.json", Name: "shop",
			Tasks: 3, Waves: 2,
			Owner: "s1"})
		s.StartWave(1).StartAttempt("T-1", 0).StartAttempt("T-2", 1).Advance(time.Second)
		return s.EndAttempt("T-1", reporttest.PassingResult(10_000), event.Completed, nil)
	})
	r, err := Read(folder)
	must(t, err)
	c := r.Snapshot
	if r.Ended != nil || r.Live || c.Run != "r-1" || c.Owner != "s1" || c.Tasks != 3 || c.Completed != 1 ||
		c.Iterations != 1 || c.MaxIter != 25 || c.Name != "shop" {
		t.Errorf("read %+v", r)
	}
	if want := []Task{{ID: "T-2", Subject: "Second", Content: "What to do.\nVerify: make",
		Status: event.InProgress}}; fmt.Sprint(c.Current) != fmt.Sprint(want) {
		t.Errorf("current %+v, want %+v", c.Current, want)
	}
	if want := "[LOOP RESUME] Active loop detected|Stage: executing|Progress: 1/3 tasks | Wave: 1|Next: T-3 Third"; !inOrder(strings.Join(c.Announcement, "|"), want) {
		t.Errorf("announces %q, want %q", c.Announcement, want)
	}
}

// A run is in its verify loop while it looks at criteria or work, and while it repairs their faults.
func TestLoopKind(t *testing.T) {
	t.Parallel()
	kind := map[string]string{}
	folder := writeFakeRun(t, func(t testing.TB, show func(event.Event, *scheduler.State)) *reporttest.FakeRun {
		s := reporttest.New(t, "shop", reporttest.Tasks{{ID: "T-1", Subject: "First"}})
		w := SnapshotWriter{}
		s.Show = func(e event.Event, st *scheduler.State) {
			kind[fmt.Sprint(e.Body.Type(), st.Counts.Completed)] = w.snapshot(e.Seq, st).Loop
			show(e, st)
		}
		s.Apply(event.RunStarted{Config: reporttest.Config(), Plan: "/project/plan.json", Tasks: 1, Waves: 1})
		s.StartWave(1).StartAttempt("T-1", 0).Advance(time.Second)
		s.EndAttempt("T-1", reporttest.PassingResult(10_000), event.Completed, nil)
		s.Apply(event.CriteriaStarted{Round: 1}).Apply(event.CriteriaEnded{Round: 1})
		return s.Apply(event.TasksAdded{Wave: 2, Origin: "criteria", Tasks: []event.Added{{ID: "R-001", For: "C-1",
			Task: json.RawMessage(`{"id":"R-001","subject":"Make true: x","verify":["x"]}`)}}})
	})
	want := map[string]string{"run_started0": ExecuteLoop, "wave_started0": ExecuteLoop, "attempt_started0": ExecuteLoop,
		"attempt_ended1": ExecuteLoop, "criteria_started1": VerifyLoop, "criteria_ended1": ExecuteLoop,
		"tasks_added1": VerifyLoop}
	for name, k := range want {
		if kind[name] != k {
			t.Errorf("%s: %q, want %q", name, kind[name], k)
		}
	}
	if r, err := Read(folder); err != nil || r.Snapshot.Loop != VerifyLoop {
		t.Errorf("read %q, %v", r.Snapshot.Loop, err)
	}
}

// inOrder reports whether text contains the parts of want, separated by bars, in this order.
func inOrder(text, want string) bool {
	for _, part := range strings.Split(want, "|") {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// A hook reads the end of every story.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tell   func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun
		status event.RunStatus // "": not ended
	}{
		"complete": {reporttest.CompleteRun, "complete"},
		"mixed":    {reporttest.MixedRun, "failed"},
		"resumed":  {reporttest.PausedRun, ""},
		"hostile":  {reporttest.HostileRun, "paused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := writeFakeRun(t, c.tell)
			r, err := Read(folder)
			must(t, err)
			status := event.RunStatus("")
			if r.Ended != nil {
				status = r.Ended.Status
			}
			if status != c.status {
				t.Errorf("ended %q, want %q", status, c.status)
			}
			if text := Announcement(r); (text == "") != (c.status == "complete") || strings.Contains(text, "\x1b") {
				t.Errorf("announces %q", text)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(folder loop.Dir) error{
		"no journal":       func(folder loop.Dir) error { return os.Remove(folder.Path(loop.Journal)) },
		"an empty journal": func(folder loop.Dir) error { return os.Truncate(folder.Path(loop.Journal), 0) },
		"a damaged end": func(folder loop.Dir) error {
			path := folder.Path(loop.Journal)
			b, err := os.ReadFile(path)
			b[len(b)-20] ^= 1
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
		"no card":     func(folder loop.Dir) error { return os.Remove(folder.Path(loop.HookSnapshot)) },
		"half a card": func(folder loop.Dir) error { return os.Truncate(folder.Path(loop.HookSnapshot), 30) },
		"a card of another version": func(folder loop.Dir) error {
			return os.WriteFile(folder.Path(loop.HookSnapshot),
				[]byte(`{"v":2}`), 0o600)
		},
		"a card without end": func(folder loop.Dir) error {
			return os.WriteFile(folder.Path(loop.HookSnapshot),
				[]byte(`{"v":1,"run":"`+strings.Repeat("x", 2*maxSnapshot)+`"}`),
				0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := writeFakeRun(t, reporttest.PausedRun)
			must(t, spoil(folder))
			if r, err := Read(folder); err == nil {
				t.Errorf("read %+v", r)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	folder := loop.In(filepath.Join(top, "p"))
	deep := filepath.Join(top, "p", "a", "b")
	must(t, os.MkdirAll(string(loop.In(deep)), 0o755)) // a .loop without a journal is ignored
	must(t, os.MkdirAll(string(folder), 0o755))
	must(t, os.WriteFile(folder.Path(loop.Journal), nil, 0o600))
	for dir, want := range map[string]loop.Dir{
		filepath.Join(top, "p"): folder, deep: folder, deep + "/../b/": folder, filepath.Join(deep, "not", "there"): folder,
		top: "", "": "", "relative/p": "", "p\x00": "",
	} {
		if got := Find(dir); got != want {
			t.Errorf("Find(%q) = %q, want %q", dir, got, want)
		}
	}
}

// Ten thousand tasks cost a hook as little as ten: it reads the end of the journal and a card of
// bounded size.
func TestBoundedRead(t *testing.T) {
	t.Parallel()
	const n = 10_000
	folder := writeFakeRun(t, func(t testing.TB, show func(event.Event, *scheduler.State)) *reporttest.FakeRun {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `,{"id":"T-%d","subject":"Change one of many things","prompt":"%s"}`, i,
				strings.Repeat("do it ", 100))
		}
		p, diags := plan.Parse("plan.json", []byte(`{"tasks":[`+text.String()[1:]+`]}`), plan.Options{})
		if p == nil {
			t.Fatal(diags)
		}
		s := scheduler.NewState(p)
		seq := int64(0)
		tell := func(b event.Body) {
			seq++
			e := event.Event{Seq: seq, Time: reporttest.Start, Body: b}
			must(t, s.Replay([]event.Event{e}))
			show(e, s)
		}
		c := reporttest.Config()
		c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
		tell(event.RunStarted{Config: c, Plan: "/project/plan.json", Tasks: n, Waves: 1, Owner: "s1"})
		start := func(i, slot int) {
			tell(event.AttemptStarted{Task: p.Tasks[i].ID, Key: p.Key(i), Wave: 1, Attempt: 1, Try: 1, Why: "first",
				Slot: slot})
		}
		for i := range n / 10 {
			start(i, 0)
			tell(event.AttemptEnded{Task: p.Tasks[i].ID, Key: p.Key(i), Attempt: 1, Result: reporttest.PassingResult(10_000),
				Charged: true, Status: event.Completed})
		}
		start(n-1, 0)
		start(n/10, 1)
		return nil
	})
	journal, err := os.Stat(folder.Path(loop.Journal))
	must(t, err)
	card, err := os.Stat(folder.Path(loop.HookSnapshot))
	must(t, err)
	if journal.Size() < maxLastRecord || card.Size() > 32<<10 {
		t.Fatalf("the journal has %d bytes, the card %d", journal.Size(), card.Size())
	}
	took, _ := rig.Within(t.Context(), time.Second, func() bool { return true }) // it measures the processor at first
	for ok, tries := false, 0; !ok; {
		var v StopDecision
		var readErr error
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, err := Read(folder)
			if readErr = err; err == nil {
				v = DecideStop(Input{Event: "Stop", Session: "s1"}, r, 3,
					func() (int, bool) { return CountStreak(Input{Session: "s1"}, r) })
			}
		}()
		took, ok = rig.Within(t.Context(), 50*time.Millisecond, func() bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
		<-done
		must(t, readErr)
		if !v.Block || !strings.Contains(v.Reason, "[1000/10000] completed") ||
			!strings.Contains(v.Reason, "**Current task**: #T-1000") || !strings.Contains(v.Reason, "**Beside it**: #T-9999") {
			t.Fatalf("held %t: %.500s", v.Block, v.Reason)
		}
		if tries++; !ok && tries == 10 { // other tests run in parallel
			t.Fatalf("it took %v", took)
		}
	}
	t.Logf("a hook read and decided in %v; journal of %d bytes", took, journal.Size())
}

func TestSummaryOfTask(t *testing.T) {
	t.Parallel()
	got := taskContent("make", " ", strings.Repeat("ü", 10_000))
	if len(got) > maxContent+100 || !strings.HasSuffix(got, "Command: make") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
