package snapshot

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/internal/ui"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shown returns the box and the table of a run.
func shown(st ui.Status, sum *report.Summary) string {
	return ui.StatusBox(ui.StatusView{Status: st}, ui.Options{Width: func() int { return 100 }}) + sum.Table(0, false) +
		sum.Ending()
}

// board returns the text of a board.
func board(b *ui.Board, now time.Time) string { return strings.Join(b.Lines(now, ui.Options{}), "\n") }

// folded returns the box and the table of a run by all its events.
func folded(s *scheduler.State, events []event.Event, now time.Time) string {
	sum := report.Of(s, events).At(now, true)
	return shown(ui.StatusOf(s, true), &sum)
}

// A stored snapshot of any run at any moment has the box and the table of its events, also where tables hide tasks.
func TestSnapshotShowsTheFold(t *testing.T) {
	t.Parallel()
	stories := map[string]*reporttest.FakeRun{"small": reporttest.BigRun(t, 60), "large": reporttest.BigRun(t, 600)}
	for name, tell := range map[string]func(testing.TB, func(event.Event, *scheduler.State)) *reporttest.FakeRun{
		"mixed": reporttest.MixedRun, "complete": reporttest.CompleteRun, "paused": reporttest.PausedRun,
		"hostile": reporttest.HostileRun, "refused": reporttest.RefusedRun, "reviewed": reporttest.ReviewedRun,
	} {
		stories[name] = tell(t, func(event.Event, *scheduler.State) {})
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := loop.Dir(t.TempDir())
			hidden := false
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, len(story.Events)).Draw(t, "events")
				s, now := scheduler.NewState(story.S.Plan), story.Events[n-1].Time.Add(3*time.Second)
				if err := s.Replay(story.Events[:n]); err != nil {
					t.Fatal(err)
				}
				made, err := Of(dir, s, FileOf(s, "/plan.json"), journal.Mark{Records: n}, now)
				if err == nil {
					err = Write(dir, made)
				}
				if err != nil {
					t.Fatal(err)
				}
				read := Read(dir)
				if read == nil || read.Mark.Records != n || read.Run != s.Config.Run || !read.Taken.Equal(now) {
					t.Fatalf("after %d events: read %+v", n, read)
				}
				sum := read.Summary.At(now, true)
				if got, want := shown(read.Status, &sum), folded(s, story.Events[:n], now); got != want {
					t.Fatalf("after %d events the snapshot shows\n%s\nbut the events\n%s", n, got, want)
				}
				if b := read.Board; (b != nil) != (s.Ended != nil) ||
					b != nil && board(b, now) != board(ui.BoardOf(s, false), now) {
					t.Fatalf("after %d events, ended %t, the board is %+v", n, s.Ended != nil, b)
				}
				hidden = hidden || strings.Contains(sum.Table(0, false), " pending tasks not shown;")
			})
			if hidden != (name == "large") {
				t.Errorf("a table hid pending tasks: %t", hidden)
			}
		})
	}
}

// stored is a .loop directory with a long journal and a snapshot after all its records.
type stored struct {
	dir   loop.Dir
	story *reporttest.FakeRun
	log   *journal.Log
	now   time.Time
}

// store writes the journal of a run's first events and its snapshot.
func store(t *testing.T, events func(*reporttest.FakeRun) int) *stored {
	t.Helper()
	w := &stored{dir: loop.Dir(t.TempDir()), story: reporttest.BigRun(t, 60)}
	log, _, err := journal.Open(w.dir.Path(loop.Journal))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	w.log = log
	s := scheduler.NewState(w.story.S.Plan)
	shots := &Writer{Dir: w.dir, PlanPath: "/plan.json", Mark: log.Mark, Redact: func(v any) any { return v },
		Now: func() time.Time { return w.now }}
	shots.Start()
	pad := strings.Repeat("x", least)
	for n, e := range w.story.Events[:events(w.story)] {
		e.Seq, w.now = int64(n+1), e.Time.Add(time.Duration(n)*time.Minute)
		if n == 0 { // the first event of a run is large
			started := e.Body.(event.RunStarted)
			started.Name = pad
			e.Body = started
		}
		w.append(t, e)
		if err := s.Replay([]event.Event{e}); err != nil {
			t.Fatal(err)
		}
		shots.Event(e, s)
	}
	shots.Close()
	return w
}

func (w *stored) append(t *testing.T, e event.Event) {
	t.Helper()
	text, err := e.Encode()
	if err == nil {
		err = w.log.Append(text)
	}
	if err == nil {
		err = w.log.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func all(s *reporttest.FakeRun) int  { return len(s.Events) }
func some(s *reporttest.FakeRun) int { return len(s.Events) / 3 }

// A snapshot is used only with the records that it was made of.
func TestCurrent(t *testing.T) {
	t.Parallel()
	edit := func(name string, change func([]byte) []byte) func(*testing.T, *stored) {
		return func(t *testing.T, w *stored) {
			text, err := os.ReadFile(w.dir.Path(name))
			if err == nil {
				err = os.WriteFile(w.dir.Path(name), change(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 1; return b }
	}
	notice := event.Event{Seq: 1, Body: event.Notice{Level: "info", Text: "more"}}
	more := func(t *testing.T, w *stored) { w.append(t, notice) }
	locked := func(then func(*testing.T, *stored)) func(*testing.T, *stored) {
		return func(t *testing.T, w *stored) {
			lock, err := journal.TryLock(w.dir, journal.Holder{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Unlock() })
			then(t, w)
		}
	}
	nothing := func(*testing.T, *stored) {}
	for name, tt := range map[string]struct {
		events func(*reporttest.FakeRun) int
		change func(*testing.T, *stored)
		run    string
		want   string // "", "exact" or "behind"
	}{
		"ended":                  {all, nothing, "", "exact"},
		"ended, by its id":       {all, nothing, reporttest.Config().Run, "exact"},
		"another run":            {all, nothing, "20260102-030405-k3j5", ""},
		"ended and resumed":      {all, more, "", ""},
		"cut off":                {some, nothing, "", ""},
		"going on":               {some, locked(nothing), "", "exact"},
		"going on, more records": {some, locked(more), "", "behind"},
		"going on, too old": {some, locked(func(t *testing.T, w *stored) {
			more(t, w)
			w.now = w.now.Add(maxAge + time.Second)
		}), "", ""},
		"going on, clock set back": {some, locked(func(t *testing.T, w *stored) {
			more(t, w)
			w.now = w.now.Add(-24 * time.Hour)
		}), "", ""},
		"a torn record follows": {all, edit(loop.Journal, func(b []byte) []byte {
			return append(b, `{"v":1`...)
		}), "", "exact"},
		"a flipped first record": {all, edit(loop.Journal, flip(200)), "", ""},
		"a flipped last record":  {all, edit(loop.Journal, flip(-30)), "", ""},
		"a shorter journal":      {all, edit(loop.Journal, func(b []byte) []byte { return b[:len(b)-1] }), "", ""},
		"no journal":             {all, func(_ *testing.T, w *stored) { _ = os.Remove(w.dir.Path(loop.Journal)) }, "", ""},
		"no snapshot":            {all, func(_ *testing.T, w *stored) { _ = os.Remove(w.dir.Path(loop.Snapshot)) }, "", ""},
		"a torn snapshot":        {all, edit(loop.Snapshot, func(b []byte) []byte { return b[:len(b)/2] }), "", ""},
		"an empty snapshot":      {all, edit(loop.Snapshot, func([]byte) []byte { return nil }), "", ""},
		"a flipped snapshot":     {all, edit(loop.Snapshot, flip(-100)), "", ""},
		"of another wavex": {all, edit(loop.Snapshot, func(b []byte) []byte {
			return bytes.Replace(b, []byte("snapshot 1 "), []byte("snapshot 2 "), 1)
		}), "", ""},
		"of a copied directory": {all, func(t *testing.T, w *stored) {
			to := loop.Dir(t.TempDir())
			if err := os.CopyFS(string(to), os.DirFS(string(w.dir))); err != nil {
				t.Fatal(err)
			}
			w.dir = to
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := store(t, tt.events)
			tt.change(t, w)
			s, behind := Current(w.dir, tt.run, w.now)
			got := map[bool]string{false: "exact", true: "behind"}[behind]
			if s == nil {
				got = ""
			}
			if got != tt.want {
				t.Errorf("the snapshot is %q, not %q", got, tt.want)
			}
		})
	}
}

// Two builds have two headers, also if Go recorded no commit of them.
func TestHeaderNamesTheBuild(t *testing.T) {
	t.Parallel()
	start := executableStart()
	if !bytes.Contains(start, []byte("\x00Go\x00")) && runtime.GOOS == "linux" {
		t.Errorf("the first %d bytes of the program hold no build ID", len(start))
	}
	if headerOf(start) != header() || headerOf(append(start, 'x')) == header() {
		t.Error("the header does not depend on the program")
	}
}

// The plan's file counts as unchanged only by its digest, and only if the digest says everything.
func TestPlanUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = `{"tasks":[{"id":"A","command":"true"}]}`
	p := testrepo.Plan(t, dir, text)
	path := p.Path
	testrepo.Files{"plan.json": text}.Write(t, dir)
	s := scheduler.NewState(p)
	file := FileOf(s, path)
	if !file.PlanUnchanged() {
		t.Error("the plan counts as changed")
	}
	if s.Config.Params = map[string]json.RawMessage{"A": []byte("1")}; isFixed(s) {
		t.Error("a plan with parameters counts as fixed")
	}
	if err := os.WriteFile(path, []byte(text+" "), 0o600); err != nil {
		t.Fatal(err)
	}
	if file.PlanUnchanged() {
		t.Error("a changed plan counts as unchanged")
	}
	if file.Path += ".gone"; file.PlanUnchanged() {
		t.Error("a missing plan counts as unchanged")
	}
}
