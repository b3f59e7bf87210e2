package ui

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/textfmt"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string][]Key{
		"":                        nil,
		"jk":                      {KeyDown, KeyUp},
		"\x1b[A\x1b[B\x1bOA":      {KeyUp, KeyDown, KeyUp},
		"\r\n ":                   {KeyUnfold, KeyUnfold, KeyUnfold},
		"\x1b":                    {KeyFold},
		"\x1bd":                   {KeyFold, KeyDrain},
		"\x1b[1;5A\x1b[200~s":     {KeyStop}, // other sequences are no keys
		"\x1b[3":                  nil,
		"ls?hq":                   {KeyLog, KeyStop, KeyHelp, KeyHelp, KeyLeave},
		"xyz\x00\xffD":            nil,
		"\x1b[Cl":                 {KeyLog},
		"\x1b]0;d\x07":            {KeyFold, KeyDrain},
		strings.Repeat("\x1b", 2): {KeyFold, KeyFold},
	} {
		if got := Keys([]byte(sent)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
}

// KeyStop asks before it interrupts, and every other key takes the question back.
func TestStopIsAskedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t, 80, 24, "parser", parserTasks)
		left := 0
		g.v.controls.Load().Leave = func() { left++ }
		g.press("sdq") // the run has not begun
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0)
		for _, sent := range []string{"s\x1b", "sj", "s?", "s", "s", "d", "sl", "q"} {
			g.press(sent)
		}
		if !slices.Equal(g.asked, []bool{true, false}) || left != 1 {
			t.Errorf("the keys asked for %v, and to leave %d times", g.asked, left)
		}
		if err := g.v.Close(); err != nil {
			t.Error(err)
		}
		g.press("ssdql")
		if len(g.asked) != 2 || left != 1 {
			t.Error("keys work after the end")
		}
	})
}

// The choice goes up and down among the running attempts, and ends with its attempt.
func TestChoose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t, 80, 24, "parser", parserTasks)
		g.StartRun(reporttest.Config()).StartWave(1)
		g.press("j\rl") // nothing runs
		g.StartAttempt("T-001", 0).StartAttempt("T-002", 1)
		for _, c := range []struct{ sent, want string }{{"j", "T-001"}, {"j", "T-002"}, {"j", "T-002"}, {"k", "T-001"},
			{"k", "T-001"}, {"\x1b[B", "T-002"}} {
			if g.press(c.sent); !strings.Contains(g.e.text(), "\n> "+c.want+" ") ||
				strings.Count(g.e.text(), "\n> ") != 1 {
				t.Errorf("%q chooses\n%s", c.sent, g.e.text())
			}
		}
		g.press("\r")
		if !strings.Contains(g.e.text(), "\n    |     --- PASS: Test30") {
			t.Errorf("it is not unfolded:\n%s", g.e.text())
		}
		g.Advance(time.Second).EndAttempt("T-002", reporttest.PassingResult(1000), event.Completed, nil)
		waitForFrame()
		if text := g.e.text(); strings.Contains(text, "\n> ") || strings.Contains(text, "\n    |") {
			t.Errorf("the attempt has ended:\n%s", text)
		}
		g.press("k")
		if !strings.Contains(g.e.text(), "\n> T-001 ") {
			t.Errorf("the other one is not chosen:\n%s", g.e.text())
		}
		if err := g.v.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The running items of a list are one line, which a key unfolds and another folds.
func TestListIsOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := stageOf(t, 80, 40, reporttest.Parse(t, `{"tasks":[{"id":"own","subject":"Do it","verify":["true"]},
			{"id":"copy","foreach":{"items":["a","b","c","d"]},"subject":"Copy ${item}","verify":["true"]}]}`))
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("copy[a]", 0).StartAttempt("own", 1).
			StartAttempt("copy[b]", 2)
		list := "copy 0/4, 2 running, 2 waiting  $0.00"
		for _, c := range []struct {
			sent   string
			want   []string // lines of running work, by their beginnings
			unlike string
		}{
			{"", []string{"  " + list, "  own Do it"}, "  copy["},
			{"j", []string{"> " + list, "  own Do it"}, "  copy["},
			{"l\r", []string{"> " + list, "    copy[a] Copy a", "    copy[b] Copy b", "  own Do it"}, "== "},
			{"jj", []string{"  " + list, "    copy[a] Copy a", ">   copy[b] Copy b", "  own Do it"}, "    |"},
			{"\r", []string{">   copy[b] Copy b", "    | ", "  own Do it"}, "> copy"},
			{"\x1b", []string{"  " + list, "    copy[a] Copy a", ">   copy[b] Copy b", "  own Do it"}, "    |"},
			{"\x1b", []string{"> " + list, "  own Do it"}, "  copy["},
		} {
			g.press(c.sent)
			text, rest := g.e.text(), g.e.text()
			for _, w := range c.want {
				_, after, ok := strings.Cut(rest, "\n"+w)
				if rest = after; !ok {
					t.Errorf("%q does not show %q:\n%s", c.sent, w, text)
				}
			}
			if strings.Contains(text, "\n"+c.unlike) {
				t.Errorf("%q shows %q:\n%s", c.sent, c.unlike, text)
			}
		}
		g.Advance(time.Second).EndAttempt("copy[a]", reporttest.PassingResult(250_000), event.Completed, nil)
		g.Advance(time.Second).EndAttempt("copy[b]", reporttest.FailingResult(250_000), event.Failed, nil)
		g.StartAttempt("copy[c]", 0)
		if text := g.e.text(); !strings.Contains(text, "\n  copy 1/4, 1 running, 1 failed, 1 waiting  $0.50\n") {
			t.Errorf("later:\n%s", text)
		}
		if err := g.v.Close(); err != nil {
			t.Error(err)
		}
	})
}

// While the view is paused, nothing of it is on the screen but the lines of record.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t, 80, 24, "parser", parserTasks)
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0)
		g.v.Pause()
		g.v.Pause()
		if text := g.e.text(); liveRow.MatchString(text) || !strings.Contains(text, "[LOOP] Starting") {
			t.Errorf("paused:\n%s", text)
		}
		g.v.Resume()
		waitForFrame()
		if text := g.e.text(); !liveRow.MatchString(text) {
			t.Errorf("it goes on:\n%s", text)
		}
		if err := g.v.Close(); err != nil {
			t.Error(err)
		}
		g.v.Pause()
		g.v.Resume()
	})
}

// Lines of wavex itself stand above the live part, also those that come while it closes and after it.
func TestLinesAboveTheLivePart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t, 80, 24, "parser", parserTasks)
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0)
		_, _ = g.v.Write([]byte("\nwavex: a \x1b[31mwarning\n"))
		waitForFrame()
		if text := g.e.text(); strings.Index(text, "\nwavex: a warning\n") > strings.Index(text, "\nwave 1/2") {
			t.Errorf("the warning stands\n%s", text)
		}
		if err := g.v.Close(); err != nil {
			t.Error(err)
		}
		if _, err := g.v.Write([]byte("the last one\r\n")); err != nil || !strings.HasSuffix(g.e.text(), "\nthe last one\n") {
			t.Errorf("after the end (%v):\n%s", err, g.e.text())
		}
	})
}

// Whatever keys are pressed on whatever screen, the live part fits it and leaves no remains. The emulator checks that.
func TestKeysOnAnyScreen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		columns, rows := rapid.IntRange(12, 250).Draw(rt, "columns"), rapid.IntRange(3, 60).Draw(rt, "rows")
		keys := rapid.StringOfN(rapid.RuneFrom([]rune("jk\r\x1bl?")), 0, 12, -1).Draw(rt, "keys")
		synctest.Test(t, func(t *testing.T) {
			g := newStage(t, columns, rows, "parser", parserTasks)
			g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
			g.press(keys)
			if n := len(g.v.model.lines(g.Now(), columns-1, rows, false)); n > max(rows-1, 1) {
				rt.Errorf("%d lines on %d rows", n, rows)
			}
			g.Advance(time.Second).EndAttempt("T-001", reporttest.PassingResult(1000), event.Completed, nil)
			if err := g.v.Close(); err != nil {
				t.Error(err)
			}
			if text := g.e.text(); liveRow.MatchString(text) || strings.Contains(text, "keys\n") {
				rt.Errorf("remains:\n%s", text)
			}
		})
	})
}

// A screen of a few columns cuts the chosen line too, and never within a character.
func TestChoiceOnTheNarrowestScreens(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"", "copy"} {
		m := liveModel{running: []event.Activity{{Task: "copy[a]", Kind: "attempt", Attempt: 1}},
			listOf: map[string]string{"copy[a]": list}, lists: map[string]report.Group{"copy": {ID: "copy", Known: true}}}
		m.keys.on, m.keys.chosen = true, cmp.Or(list, "copy[a]")
		for columns := range 30 {
			for _, l := range m.lines(time.Time{}, columns, 20, false) {
				if !utf8.ValidString(l) || list != "" && textfmt.Width(l) > columns {
					t.Errorf("with %d columns: %q", columns, l)
				}
			}
		}
	}
}

// A view that joins a run shows its finished tasks, and of many the last ones.
func TestJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := reporttest.BigRun(t, 60)
		s.S.Ended = nil
		e := &emulator{t: t, width: 100, height: 50}
		v := Terminal(e, Options{Width: e.columns, Now: s.Now})
		v.Join(s.S, s.Now())
		waitForFrame()
		text := e.text()
		if n := strings.Count(text, "\n✓ T-"); n != maxJoined || !strings.Contains(text, "more tasks before\n") ||
			!strings.Contains(text, "exit code 1\n  all of it: wavex logs T-060\n") || !liveRow.MatchString(text) {
			t.Errorf("%d completed tasks:\n%s", n, text)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A frame whose drawing panics gives the keyboard back, also while the view is locked.
func TestCrashGivesTheKeyboardBack(t *testing.T) {
	t.Parallel()
	calls := 0
	v := &LiveView{}
	v.crashed(false)
	v.controls.Store(&Controls{Crashed: func() { calls++ }})
	v.mu.Lock()
	v.crashed(true)
	v.crashed(false)
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
