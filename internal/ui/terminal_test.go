package ui

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

// terminalOutput plays a story on an emulated terminal, slowly enough that every event has a frame of its
// own, and calls look after each event.
func terminalOutput(t *testing.T, tell runFunc, e *emulator, o Options, look func(v View, ev event.Event)) {
	var clock atomic.Int64
	o.Now = func() time.Time { return time.Unix(0, clock.Load()) }
	o.Width, o.Height = e.columns, func() int { return e.height }
	v := Terminal(e, o)
	tell(t, func(ev event.Event, s *scheduler.State) {
		clock.Store(ev.Time.UnixNano())
		v.Event(ev, s)
		waitForFrame()
		if look != nil {
			look(v, ev)
		}
	})
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// waitForFrame waits, on the bubble's clock, until a frame must have been drawn.
func waitForFrame() {
	<-time.After(2 * frameInterval)
	synctest.Wait()
}

func TestTerminalGolden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		story  string
		width  int
		opts   Options
		frames bool // all frames, not only the last
	}{
		{"mixed", 100, Options{}, true}, {"mixed", 40, Options{}, true}, {"mixed", 80, Options{ASCII: true}, false},
		{"paused", 80, Options{}, false}, {"complete", 80, Options{}, false}, {"hostile", 80, Options{}, false},
		{"lists", 100, Options{}, true},
	} {
		name := fmt.Sprintf("terminal-%s-%d.txt", c.story, c.width)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := &emulator{t: t, width: c.width, height: 24}
				var all strings.Builder
				terminalOutput(t, testRuns[c.story], e, c.opts, func(v View, ev event.Event) {
					if _, ok := ev.Body.(event.AttemptStarted); ok {
						v.Observe(runner.Observation{Task: "T-002", Attempt: 2, Kind: "tool", Text: "Edit \x1b[2Jparser.go",
							Cost: 20_000})
						waitForFrame()
					}
					if c.frames {
						fmt.Fprintf(&all, "=== %s\n%s", ev.Body.Type(), e.text())
					}
				})
				golden(t, name, all.String()+"=== closed\n"+e.text())
				if e.colors > 0 {
					t.Error("colours without being asked for")
				}
			})
		})
	}
}

// liveRow matches the start of the bar's line. No line of record starts like this.
var liveRow = regexp.MustCompile(`(?m)^wave \d+/\d+ `)

// For every size of the terminal, and after a resize, the live part leaves no remains and never
// overwrites a line of record. The emulator checks that.
func TestTerminalAnyWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		widths := rapid.SliceOfN(rapid.IntRange(2, 130), 60, 60).Draw(rt, "widths")
		height := rapid.IntRange(3, 30).Draw(rt, "height")
		resizes := rapid.Bool().Draw(rt, "resizes") && height >= 20
		tell := testRuns[rapid.SampledFrom([]string{"mixed", "complete", "paused", "hostile", "lists"}).Draw(rt, "story")]
		color := rapid.Bool().Draw(rt, "color")
		synctest.Test(t, func(t *testing.T) {
			e := &emulator{t: t, width: widths[0], height: height}
			i, drawn := 0, 0
			terminalOutput(t, tell, e, Options{Color: color}, func(View, event.Event) {
				for _, r := range strings.Split(e.text(), "\n") {
					if w := textfmt.Width(r); w > e.width && w > 2 {
						t.Errorf("row %q is wider than %d", r, e.width)
					}
				}
				// The emulator cannot undo wrapping, so the size changes once per frame. Rows that
				// wrapping has scrolled off the screen cannot be erased.
				if i++; resizes && i < len(widths) && widths[i] >= 35 && e.frames > drawn {
					drawn = e.frames
					e.resize(widths[i])
				}
			})
			if liveRow.MatchString(e.text()) {
				t.Errorf("the bar is still there:\n%s", e.text())
			}
			if color != (e.colors > 0) && height > 3 && e.width > 20 {
				t.Errorf("%d colours, asked for: %t", e.colors, color)
			}
		})
	})
}

func TestTerminalThrottles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &emulator{t: t, width: 80, height: 24}
		v := Terminal(e, Options{Width: e.columns})
		reporttest.PausedRun(t, v.Event)
		waitForFrame()
		before := e.frames
		for i := range 1000 { // 1 ms apart: at most the frames of one second
			v.Observe(runner.Observation{Task: "T-002", Attempt: 1, Kind: "tool", Text: fmt.Sprint("Read ", i)})
			<-time.After(time.Millisecond)
		}
		waitForFrame()
		if n := e.frames - before; n < 5 || n > 15 {
			t.Errorf("%d frames in a second", n)
		}
		if !strings.Contains(e.text(), "Read 999") {
			t.Errorf("the last observation is not shown:\n%s", e.text())
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(e.text(), "Read 999") {
			t.Errorf("the live part outlives Close:\n%s", e.text())
		}
	})
}

// Ages are updated without any event.
func TestTerminalTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &emulator{t: t, width: 80, height: 24}
		began := time.Now()
		v := Terminal(e, Options{Width: e.columns,
			Now: func() time.Time { return reporttest.Start.Add(time.Hour + 2*time.Second + time.Since(began)) }})
		reporttest.PausedRun(t, v.Event)
		v.Observe(runner.Observation{Task: "T-002", Attempt: 1, Kind: "tool", Text: "Bash go test ./..."})
		<-time.After(75 * time.Second)
		waitForFrame()
		if want := "T-002 Second  1m15s  Bash go test ./... (1m15s ago)"; !strings.Contains(e.text(), want) {
			t.Errorf("no %q in\n%s", want, e.text())
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A terminal that blocks (Ctrl-S) delays neither events nor observations.
func TestTerminalBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := blockedWriter{make(chan struct{})}
		v := Terminal(w, Options{})
		reporttest.MixedRun(t, v.Event)
		synctest.Wait()
		v.Observe(runner.Observation{Task: "T-001", Attempt: 1, Kind: "tool", Text: "Read"})
		reporttest.MixedRun(t, v.Event)
		close(w.free)
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestTerminalGone(t *testing.T) {
	t.Parallel()
	v := Terminal(brokenWriter{}, Options{})
	reporttest.MixedRun(t, v.Event)
	for range 2 {
		if err := v.Close(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Close says %v", err)
		}
	}
	reporttest.CompleteRun(t, v.Event) // these events do nothing
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Attempts observe from their own goroutines while events arrive and the view closes.
func TestObserveFromEverywhere(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(io.Writer) View{
		"terminal": func(w io.Writer) View { return Terminal(w, Options{}) },
		"plain":    func(w io.Writer) View { return Plain(w, Options{}) },
		"ndjson":   NDJSON,
	} {
		v := open(io.Discard)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 200 {
					v.Observe(runner.Observation{Task: fmt.Sprintf("T-00%d", g), Attempt: 1, Kind: "api_retry", Text: fmt.Sprint(i)})
				}
			})
		}
		reporttest.MixedRun(t, v.Event)
		if err := v.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wg.Wait()
	}
}

// A running task is shown by its active form, an ended one by its subject.
func TestActiveForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := reporttest.New(t, "", reporttest.Tasks{{"T-001", "Add it", nil}})
		s.S.Plan.Tasks[0].ActiveForm = "Adding it"
		e := &emulator{t: t, width: 80, height: 24}
		v := Terminal(e, Options{Width: e.columns})
		s.Show = v.Event
		s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0)
		waitForFrame()
		if got := e.text(); !strings.Contains(got, "T-001 Adding it") || strings.Contains(got, "T-001 Add it") {
			t.Errorf("while it runs:\n%s", got)
		}
		s.EndAttempt("T-001", reporttest.PassingResult(1000), event.Completed, nil)
		if err := v.Close(); err != nil || !strings.Contains(e.text(), "T-001 Add it") {
			t.Errorf("at its end: %v\n%s", err, e.text())
		}
	})
}

func TestProgressBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done, all int
		want      string
	}{
		{0, 4, "   0% [..........]"}, {1, 4, "  25% [=>........]"}, {2, 4, "  50% [====>.....]"},
		{4, 4, " 100% [==========]"},
		{0, 0, "   0% [..........]"}, {9, 4, " 100% [==========]"},
	} {
		tally := scheduler.Tally{All: c.all, Completed: c.done / 2, Verified: c.done - c.done/2}
		if got := progressBar(tally, 10, true); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.all, got, c.want)
		}
	}
}

func TestIntermediateFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tty         bool
		env         map[string]string
		live, color bool
	}{
		{true, nil, true, true}, {false, nil, false, false},
		{true, map[string]string{"TERM": "dumb"}, false, false},
		{true, map[string]string{"NO_COLOR": "1"}, true, false},
		{true, map[string]string{"NO_COLOR": ""}, true, true},
	} {
		env := func(k string) string { return c.env[k] }
		if l, col := Live(c.tty, env), Color(c.tty, env); l != c.live || col != c.color {
			t.Errorf("%v %v: live %t, colour %t", c.tty, c.env, l, col)
		}
	}
}
