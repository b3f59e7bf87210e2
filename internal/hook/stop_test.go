package hook

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/loop"
)

// cutOffRun returns a run that was cut off, and the session that owns it.
func cutOffRun() (Input, Run) {
	return Input{Event: "Stop", Session: "s1", Dir: "/p"},
		Run{Loop: "/p/.loop", Snapshot: Snapshot{V: SnapshotVersion, Run: "r", Owner: "s1", Dir: "/p",
			Name: "develop", Loop: ExecuteLoop, Tasks: 5, Completed: 2, Iterations: 2, MaxIter: 10, MaxSameUnmet: 5,
			Current: []Task{{ID: "3", Subject: "Implement user login", Content: "Add the form.\nVerify: make test"}}}}
}

// The order of the decisions: each row is decided by one rule only.
func TestDecideStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(in *Input, r *Run)
		streak int
		limit  int
		lost   bool // the count cannot be kept
		held   bool
		why    string
	}{
		"cut off": {held: true, limit: 3, why: "[2/5] completed"},
		"another hook": {change: func(in *Input, _ *Run) { in.Event = "SubagentStop" },
			why: "not a Stop hook"},
		"no event named":  {change: func(in *Input, _ *Run) { in.Event = "" }, held: true, limit: 3},
		"no run":          {change: func(_ *Input, r *Run) { r.Snapshot = Snapshot{} }, why: "no loop"},
		"another session": {change: func(in *Input, _ *Run) { in.Session = "s2" }, why: "not this session's"},
		"no session": {change: func(in *Input, r *Run) { in.Session, r.Snapshot.Owner = "", "" },
			why: "not this session's"},
		"started from a shell": {change: func(_ *Input, r *Run) { r.Snapshot.Owner = "" },
			why: "not this session's"},
		"complete":                        {change: withEnd("complete"), why: "the run is complete"},
		"cancelled":                       {change: withEnd("cancelled"), why: "the run is cancelled"},
		"paused":                          {change: withEnd("paused"), why: "the run is paused"},
		"limited":                         {change: withEnd("limited"), why: "the run is limited"},
		"blocked":                         {change: withEnd("blocked"), why: "the run is blocked"},
		"failed":                          {change: withEnd("failed"), why: "the run is failed"},
		"interrupted":                     {change: withEnd("interrupted"), held: true, limit: 3},
		"a breaker tripped before a kill": {change: withStop("paused"), why: "the run stops: b"},
		"a signal before a kill":          {change: withStop("interrupted"), held: true, limit: 3},
		"the circuit is open": {change: func(_ *Input, r *Run) { r.Snapshot.SameUnmet = 5 },
			why: "circuit breaker"},
		"the circuit is off": {change: func(_ *Input, r *Run) { r.Snapshot.SameUnmet, r.Snapshot.MaxSameUnmet = 9, 0 },
			held: true, limit: 3},
		"iterations spent": {change: func(_ *Input, r *Run) { r.Snapshot.Iterations = 10 }, why: "iterations"},
		"no limit of iterations": {change: func(_ *Input, r *Run) { r.Snapshot.Iterations, r.Snapshot.MaxIter = 99, 0 },
			held: true, limit: 3},
		"spent, but at work": {change: func(_ *Input, r *Run) { r.Snapshot.Iterations, r.Live = 10, true },
			held: true, limit: 3},
		"at work in the background": {change: withBackground("cd x && /opt/wavex run plan.json", "running", true),
			why: "in the background"},
		"on Windows": {change: withBackground(`"C:\bin\wavex.exe" resume`, "running", true),
			why: "in the background"},
		"another verb in the background": {change: withBackground("wavex retry T-1", "running", true),
			why: "in the background"},
		"a fix in the background": {change: withBackground("wavex verify --fix", "running", true),
			why: "in the background"},
		"a request in the background": {change: withBackground("cd x&&wavex start", "running", true),
			why: "in the background"},
		"in a subshell": {change: withBackground("(wavex run)", "running", true), why: "in the background"},
		"before another command": {change: withBackground("timeout 9 /x/wavex run; date", "running", true),
			why: "in the background"},
		"in a shell's background": {change: withBackground("nohup wavex resume&", "running", true),
			why: "in the background"},
		"another verb that only shows": {change: withBackground("wavex status; run", "running", true), held: true, limit: 3},
		"two commands":                 {change: withBackground("ls wavex; run", "running", true), held: true, limit: 3},
		"it was in the background": {change: withBackground("wavex run plan.json", "running", false),
			held: true, limit: 3},
		"ended in the background": {change: withBackground("wavex run plan.json", "completed", true),
			held: true, limit: 3},
		"other work in the background": {change: withBackground("tail -f wavex.log", "running", true),
			held: true, limit: 3},
		"held twice":                     {streak: 2, limit: 3, held: true},
		"held three times":               {streak: 3, limit: 3, why: "held often enough"},
		"at once, as LEDGER S0-54":       {streak: 1, limit: 1, why: "held often enough"},
		"first, as LEDGER S0-54":         {streak: 0, limit: 1, held: true},
		"a limit of none":                {streak: 1, limit: -7, why: "held often enough"},
		"never more than the CLI allows": {streak: 8, limit: 100, why: "held often enough"},
		"it cannot be counted":           {lost: true, limit: 3, why: "cannot be counted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, r := cutOffRun()
			if c.change != nil {
				c.change(&in, &r)
			}
			v := DecideStop(in, r, c.limit, func() (int, bool) { return c.streak, !c.lost })
			if v.Block != c.held || !strings.Contains(v.LogReason, c.why) {
				t.Errorf("held %t because %q, want %t because %q", v.Block, v.LogReason, c.held, c.why)
			}
			if v.Block == (v.Reason == "") {
				t.Errorf("held %t and told %q", v.Block, v.Reason)
			}
		})
	}
}

func withEnd(status event.RunStatus) func(*Input, *Run) {
	return func(_ *Input, r *Run) { r.Ended = &event.RunEnded{Status: status} }
}

func withStop(status event.RunStatus) func(*Input, *Run) {
	return func(_ *Input, r *Run) { r.Snapshot.Stop = &event.Stop{Status: status, Reason: "b"} }
}

func withBackground(command, status string, live bool) func(*Input, *Run) {
	return func(in *Input, r *Run) { in.Background, r.Live = []Background{{status, command}}, live }
}

// A session that repeatedly tries to stop is let go within the limit; each task completed meanwhile
// resets the count.
func TestStreakLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		in, r := cutOffRun()
		in.Session = rapid.StringN(1, 20, -1).Draw(t, "session")
		r.Snapshot.Owner, r.Loop = in.Session, loop.Dir(dir)
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		defer ResetStreak(in, r)
		vain, most := 0, limit
		for i := 0; ; i++ {
			in.StopActive = i > 0
			if i > 0 && i < 4 && rapid.Bool().Draw(t, "a task is done") {
				r.Snapshot.Completed++
				vain, most = 0, max(1, limit-1) // the evaluation that sees the progress starts a new row
			}
			v := DecideStop(in, r, limit, func() (int, bool) { return CountStreak(in, r) })
			if !v.Block {
				break
			}
			if vain++; vain > most {
				t.Fatalf("held %d times in a row with a limit of %d", vain, limit)
			}
		}
		in.StopActive = false
		if v := DecideStop(in, r, limit, func() (int, bool) { return CountStreak(in, r) }); !v.Block {
			t.Fatalf("the next turn is let go: %s", v.LogReason)
		}
	})
}

func TestReinforcement(t *testing.T) {
	t.Parallel()
	in, r := cutOffRun()
	r.Snapshot.Context = "/p/.claude/pensieve/loop/2026-01-02-login/_context.md"
	got := DecideStop(in, r, 3, func() (int, bool) { return 0, true }).Reason
	want := `## Loop Continue

Loop active. Continuing execute loop iteration 3/10. Run ` + "`wavex resume`" + ` to continue its tasks.

**Pipeline**: develop
**Progress**: [2/5] completed
**Current task**: #3 Implement user login

---

## Task Content
Add the form.
Verify: make test

---

**Execution requirements**:
1. Complete the task, and those after it: run ` + "`wavex resume`" + `. It continues where the run was cut off.
2. wavex marks a task completed when its checks pass; do neither the work nor the marking by hand.
3. If intervention occurs, record it in /p/.claude/pensieve/loop/2026-01-02-login/_context.md.
4. To leave the loop instead: ` + "`wavex cancel`" + `.
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	in.Dir, r.Live = "/p/sub", true
	r.Snapshot.Current = append(r.Snapshot.Current, Task{ID: "4", Subject: "B\x1b[31m"})
	got = DecideStop(in, r, 3, func() (int, bool) { return 0, true }).Reason
	for _, part := range []string{"Let the run complete the task", "`wavex status` in /p", "**Beside it**: #4 B"} {
		if !strings.Contains(got, part) {
			t.Errorf("lacks %q:\n%s", part, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("passes an escape sequence on: %q", got)
	}
}

// The first line names the coming iteration and the command, by the kind of the loop; a loop of no known kind gets
// the command that shows its state.
func TestReinforcementByKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *Run)
		want   string
	}{
		"execute": {func(*Run) {}, "Continuing execute loop iteration 3/10. Run `wavex resume` to continue its tasks."},
		"verify": {func(r *Run) { r.Snapshot.Loop = VerifyLoop },
			"Continuing verify loop iteration 3/10. Run `wavex resume` to fix gaps and verify again."},
		"at work": {func(r *Run) { r.Live = true },
			"Continuing execute loop iteration 3/10. Run `wavex status` to look at it."},
		"no limit": {func(r *Run) { r.Snapshot.MaxIter = 0 }, "Continuing execute loop iteration 3/unlimited. Run"},
		"the last one is under way": {func(r *Run) { r.Snapshot.Iterations, r.Live = 10, true },
			"Continuing execute loop iteration 10/10. Run"},
		"a card of an older wavex": {func(r *Run) { r.Snapshot.Loop = "" },
			"Loop active. Run `wavex status` to check its state."},
		"a task list": {func(r *Run) { r.List, r.Pending = "l", []string{"x"} },
			"Loop active. Use TaskList to check its state."},
	} {
		in, r := cutOffRun()
		c.change(&r)
		got := DecideStop(in, r, 3, func() (int, bool) { return 0, true }).Reason
		if !strings.Contains(got, "\nLoop active. ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", name, c.want, got)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	hold, free := StopDecision{Block: true, LogReason: "w", Reason: "a \"b\"\n"}, StopDecision{LogReason: "w"}
	for _, c := range []struct {
		v            StopDecision
		format, want string
	}{
		{hold, "claude", `{"decision":"block","reason":"a \"b\"\n","systemMessage":"wavex: w; the session goes on"}`},
		{free, "claude", ""},
		{hold, "ok", `{"ok":false,"reason":"a \"b\"\n"}`},
		{free, "ok", `{"ok":true,"reason":"w"}`},
		{hold, "gsd", `{"decision":"block","prompt":"a \"b\"\n"}`},
		{free, "gsd", `{"decision":"allow"}`},
	} {
		if got := strings.TrimSuffix(string(Render(c.v, c.format)), "\n"); got != c.want {
			t.Errorf("%s, held %t: %s, want %s", c.format, c.v.Block, got, c.want)
		}
	}
	if got := string(RenderContext(
		"x")); got != `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}`+"\n" {
		t.Errorf("session start: %s", got)
	}
	if got := RenderContext(""); got != nil {
		t.Errorf("nothing to tell: %q", got)
	}
}

func TestAnnouncement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Input, *Run)
		last   string // of the lines; "": no output
	}{
		"cut off": {nil, "Status: cut off | Continue: wavex resume (in /p)"},
		"cut off at a task": {func(_ *Input, r *Run) {
			r.Snapshot.Announcement[1] = "Next: 3 waits for x"
			r.Snapshot.Current = []Task{{ID: "x", Status: event.InProgress}}
		}, "Status: cut off | Continue: wavex resume (in /p)"},
		"at work": {func(_ *Input, r *Run) { r.Live = true }, "Status: running | Look: wavex status (in /p)"},
		"paused": {func(_ *Input, r *Run) {
			r.Ended = &event.RunEnded{Status: "paused", Reason: "money", Resume: "wavex resume --budget +5"}
		}, "Status: paused (money) | Continue: wavex resume --budget +5 (in /p)"},
		"failed":    {withEnd("failed"), "Status: failed | Continue: wavex resume (in /p)"},
		"complete":  {withEnd("complete"), ""},
		"cancelled": {withEnd("cancelled"), ""},
		"no run":    {func(_ *Input, r *Run) { r.Snapshot = Snapshot{} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, r := cutOffRun()
			r.Snapshot.Announcement = []string{"[LOOP RESUME] Active loop detected", "Next: x"}
			if c.change != nil {
				c.change(&in, &r)
			}
			want := ""
			if c.last != "" {
				want = "[LOOP RESUME] Active loop detected\nNext: x\n" + c.last + "\n"
			}
			if got := Announcement(r); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
