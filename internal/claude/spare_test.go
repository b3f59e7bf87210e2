//go:build unix

package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/runner"
)

// runSpare starts a spare for the request of a bench.
func runSpare(t *testing.T, b *fixture) (s *Spare, leave func() (budget.USD, bool)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s = b.agent.NewSpare(b.local(), b.req)
	var cost budget.USD
	var used bool
	over := make(chan struct{})
	go func() {
		defer close(over)
		cost, used = s.Run(ctx)
	}()
	leave = func() (budget.USD, bool) {
		cancel()
		<-over
		return cost, used
	}
	t.Cleanup(func() { leave() })
	return s, leave
}

// An attempt takes the process that was started for it, and leaves the usual files.
func TestSpareIsUsed(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, textLine, resultGood), step{EOF: true})})
	s, leave := runSpare(t, b)
	b.hooks.Spare = s
	r := b.attempt(t.Context())
	if cost, used := leave(); r.Outcome != runner.Done || r.Cost != 6250 || !r.Contained || !used || cost != 0 {
		t.Errorf("%+v; used: %v, beside it %d", r, used, cost)
	}
	for _, f := range []string{loop.PromptFile, loop.StreamFile, loop.StderrFile, loop.ResultFile} {
		if _, err := os.Stat(filepath.Join(b.logs, f)); err != nil {
			t.Error(err)
		}
	}
}

// A spare that differs from the process that the attempt would start is ended. The attempt then has
// a process of its own, with the arguments of its request.
func TestSpareFits(t *testing.T) {
	t.Parallel()
	file := func(name string) func(*fixture) {
		return func(b *fixture) {
			path := filepath.Join(b.dir, name)
			must(os.MkdirAll(filepath.Dir(path), 0o755))
			must(os.WriteFile(path, []byte("new"), 0o644))
		}
	}
	for name, c := range map[string]struct {
		change func(*fixture)
		fits   bool
	}{
		"the same":         {func(*fixture) {}, true},
		"another prompt":   {func(b *fixture) { b.req.Prompt = "do that" }, true},
		"work of others":   {file("main.go"), true},
		"cap":              {func(b *fixture) { b.req.Cap = budget.Dollar }, false},
		"model":            {func(b *fixture) { b.req.Settings.Model = "other" }, false},
		"variables":        {func(b *fixture) { b.req.Env = map[string]string{"MORE": "1"} }, false},
		"slot":             {func(b *fixture) { b.req.Slot++ }, false},
		"directory above":  {func(b *fixture) { b.req.Dir = filepath.Dir(b.dir) }, false},
		"directory":        {func(b *fixture) { b.req.Dir += "-2" }, false},
		"another attempt":  {func(b *fixture) { b.req.Attempt++ }, false},
		"new instructions": {file("CLAUDE.md"), false},
		"above it":         {file("../CLAUDE.md"), false},
		"new agents":       {file(".claude/agents/new.md"), false},
		"new settings":     {file(".claude/settings.json"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script{Steps: []step{{EOF: true}, {Exit: code(0)}}})
			s := b.agent.NewSpare(b.local(), b.req)
			was := s.start()
			if was == nil {
				t.Fatal("it was not started")
			}
			go func() { s.offer <- was }()
			c.change(b)
			req, err := b.local().PrepareTurn(b.req)
			if err != nil {
				t.Fatal(err)
			}
			want, err := (&turn{Agent: b.agent, req: req}).newConversation(false, b.req.Prompt)
			if err != nil {
				t.Fatal(err)
			}
			fits, lost := s.claim(want)
			if fits != c.fits || lost != 0 || fits != (want.p != nil) {
				t.Errorf("it fits: %v, lost %d", fits, lost)
			}
			if fits {
				want.discard()
			}
		})
	}
}

// A spare without a place for its files is none, and an attempt does not wait for one that has ended.
func TestSpareThatCannotStart(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*fixture){
		"no folder": func(b *fixture) { b.req.LogDir = filepath.Join(os.DevNull, "x") },
		"no place for stderr": func(b *fixture) {
			must(os.MkdirAll(filepath.Join(b.logs, loop.StderrFile, "full"), 0o700))
		},
		"no place for the system prompt": func(b *fixture) {
			b.req.Settings.AppendSystemPrompt = strings.Repeat("x", argumentMax+1)
			must(os.MkdirAll(filepath.Join(b.logs, loop.SystemFile, "full"), 0o700))
		},
		"no scenario": func(b *fixture) { b.req.Rehearse = []byte("{") },
		"no program":  func(b *fixture) { b.agent.Argv = []string{filepath.Join(b.dir, "none")} },
	} {
		b := setup(t, script{})
		arrange(b)
		if c := b.agent.NewSpare(b.local(), b.req).start(); c != nil {
			t.Errorf("%s: it was started", name)
			c.discard()
		}
		if open := openBelow(b.logs); open != nil {
			t.Errorf("%s: files are open: %q", name, open)
		}
	}
	if ok, lost := (*Spare)(nil).claim(nil); ok || lost != 0 {
		t.Errorf("none fits: %v, lost %d", ok, lost)
	}
	b := setup(t, script{Steps: []step{{EOF: true}, {Exit: code(0)}}})
	s, leave := runSpare(t, b)
	leave()
	if ok, lost := s.claim(&conversation{}); ok || lost != 0 {
		t.Errorf("an ended one fits: %v, lost %d", ok, lost)
	}
}

// A spare that does not exit when its standard input is closed is ended in time.
func TestSpareThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: []step{{Print: initLine}, {Print: "words"}, {Term: code(-1)}, {EOF: true}, {Hang: true}}})
	b.agent.StopWait = StopWait{Close: 10 * time.Millisecond, Terminate: 10 * time.Millisecond}
	c := b.agent.NewSpare(b.local(), b.req).start()
	if cost := c.discard(); cost != 0 {
		t.Errorf("it costs %d", cost)
	}
	select {
	case <-c.p.Done():
	default:
		t.Error("it runs")
	}
}

// A spare that died or could not be started costs the attempt nothing.
func TestSpareThatDied(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, textLine, resultGood), step{EOF: true})})
	s := b.agent.NewSpare(b.local(), b.req)
	c := s.start()
	if c == nil {
		t.Fatal("it was not started")
	}
	must(c.p.Kill())
	<-c.p.Done()
	go func() { s.offer <- c }()
	b.hooks.Spare = s
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || r.Cost != 6250 {
		t.Errorf("%+v", r)
	}
	b.agent.Argv = []string{filepath.Join(b.dir, "none")}
	b.hooks.Spare, _ = runSpare(t, b)
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken || r.Cost != 0 {
		t.Errorf("%+v", r)
	}
}

// When Run returns, a spare that no attempt took has ended. It cost nothing, unless it worked
// without a prompt from wavex: then its cost is reported, also to the attempt.
func TestSpareThatIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []step
		cost  budget.USD
	}{
		"silent": {[]step{{EOF: true}, {Exit: code(0)}}, 0},
		"spoke":  {[]step{{Print: initLine}, {Print: textLine}, {Print: resultGood}, {EOF: true}, {Exit: code(0)}}, 6250},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orphan := filepath.Join(t.TempDir(), "pid")
			b := setup(t, script{Steps: append([]step{{Orphan: orphan}}, c.steps...)})
			b.agent.StopWait.Close = time.Hour // it exits by itself
			started := b.agent.NewSpare(b.local(), b.req).start()
			if cost := started.discard(); cost != c.cost {
				t.Errorf("cost %d", cost)
			}
			checkSwept(t, orphan)
			_, leave := runSpare(t, b)
			if cost, used := leave(); used || cost != c.cost {
				t.Errorf("used: %v, cost %d", used, cost)
			}
			if open := openBelow(b.logs); open != nil {
				t.Errorf("files are open: %q", open)
			}
			if _, err := os.Stat(filepath.Join(b.logs, loop.StreamFile)); err == nil {
				t.Error("there is a stream of an attempt that never was")
			}
			if c.cost == 0 {
				return
			}
			b.hooks.Spare, _ = runSpare(t, b)
			b.req.Slot++
			if r := b.attempt(t.Context()); r.Cost != 2*c.cost {
				t.Errorf("the attempt beside it costs %d, want %d", r.Cost, 2*c.cost)
			}
		})
	}
}
