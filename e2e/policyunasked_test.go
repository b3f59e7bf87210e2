//go:build unix

package e2e

// This file tests commands that the CLI runs without a question, and calls that it denies itself.

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/fakeapi"
	"wavex/internal/policy"
	"wavex/runner"
)

// The CLI runs the commands in the text of a skill when the agent calls Skill. Since 2.1.332 it asks about each; older
// ones ask about the call alone. A policy that denies Skill runs none of them.
func TestCommandsOfASkill(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, func(t *testing.T, c cli) {
		asks := !c.before("2.1.332")
		for _, test := range []struct{ deny, ask []string }{{}, {deny: []string{"Skill"}}, {deny: []string{"touch"}},
			{ask: []string{"touch"}}} {
			deny := test.deny
			release := reserveProcesses(t, 1)
			done := fakeapi.Text("done").WithUsage(use)
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &done, Steps: []fakeapi.Reply{
				fakeapi.Use(fakeapi.Tool{Name: "Skill", Input: map[string]any{"skill": "mark"}}).WithUsage(use)}}}})
			b := newFixtureOn(t, c, srv)
			repo{t: t, dir: b.req.Dir}.write(".claude/skills/mark/SKILL.md", "---\nname: mark\ndescription: marks\n"+
				"allowed-tools: Bash(touch:*)\n---\nThe mark: !`touch ran`\n")
			b.req.Settings.AllowedTools, b.req.Settings.PolicyDeny = []string{"Bash", "Skill(mark)"}, deny
			b.req.Settings.PolicyAsk = test.ask
			questions := 0
			b.agent.Person = func(context.Context, policy.Question, time.Duration) (bool, string) {
				questions++
				return true, ""
			}
			j := &judge{}
			b.agent.Judge = func(r runner.TurnRequest) policy.Judge {
				inner := policy.New(r.Policy)
				j.decide = inner.Before
				return j
			}
			r := b.attempt(t.Context())
			_, err := os.Stat(filepath.Join(b.req.Dir, "ran"))
			var asked []string
			for _, call := range j.calls {
				asked = append(asked, call.Tool)
			}
			runs := deny == nil || deny[0] == "touch" && !asks
			want := []string{"Skill", "Bash"}
			if !asks || slices.Contains(deny, "Skill") {
				want = want[:1]
			}
			if n := len(test.ask); asks && questions != n {
				t.Errorf("ask %v: %d questions", test.ask, questions)
			}
			if ran := err == nil; ran != runs || r.Outcome != runner.Done || !slices.Equal(asked, want) {
				t.Errorf("deny %v: %s: %s; ran: %v, asked about %v, unasked %v", deny, r.Outcome, r.Reason, ran, asked, j.unasked)
			}
			release()
		}
	})
}

// A call that a rule of the CLI denies does not run, and does not count as one that the policy missed. The CLI asks
// about a command that a rule denies. A tool that a rule takes away is missing, and wavex is not asked about it.
func TestDeniedByTheCLI(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		release := reserveProcesses(t, 1)
		defer release()
		done := fakeapi.Text("done").WithUsage(use)
		steps := []fakeapi.Reply{fakeapi.Use(fakeapi.Bash("touch ran")).WithUsage(use),
			fakeapi.Use(fakeapi.Write("ran", "x")).WithUsage(use),
			fakeapi.Use(fakeapi.Tool{Name: "WebFetch", Input: map[string]any{"url": "http://127.0.0.1:1/", "prompt": "x"}},
				fakeapi.Edit("missing", "a", "b")).WithUsage(use)}
		b := newFixtureOn(t, c, fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &done,
			Steps: steps}}}))
		b.req.Settings.AllowedTools = []string{"Bash"}
		b.req.Settings.DisallowedTools = []string{"Bash(touch:*)", "Edit(ran)", "Write", "WebFetch"}
		j := &judge{}
		b.judged(j)
		r := b.attempt(t.Context())
		_, err := os.Stat(filepath.Join(b.req.Dir, "ran"))
		var asked []string
		for _, call := range j.calls {
			asked = append(asked, call.Tool)
		}
		if err == nil || strings.Contains(r.Reason, "policy") || !slices.Equal(asked, []string{"Bash"}) ||
			!slices.Equal(j.unasked, []string{"Write", "WebFetch", "Edit"}) || len(r.Denials) != 1 {
			t.Errorf("%s: %s; ran: %v, asked about %v, unasked %v, denials %v", r.Outcome, r.Reason, err == nil, asked,
				j.unasked, r.Denials)
		}
	})
}

// A process that continues a session asks anew.
func TestAskedAfterResume(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, func(t *testing.T, c cli) {
		release := reserveProcesses(t, 1)
		defer release()
		srv := serve(t, fakeapi.Use(fakeapi.Bash("echo one")).WithUsage(use), fakeapi.Text("half").WithUsage(use),
			fakeapi.Use(fakeapi.Bash("echo two")).WithUsage(use), fakeapi.Text("done").WithUsage(use))
		b := newFixtureOn(t, c, srv)
		b.req.Settings.AllowedTools = []string{"Bash"}
		for attempt := 1; attempt <= 2; attempt++ {
			j := &judge{}
			b.judged(j)
			b.req.Attempt, b.req.Resume, b.req.LogDir = attempt, attempt > 1, t.TempDir()
			if r := b.attempt(t.Context()); r.Outcome != runner.Done || len(j.calls) != 1 || len(j.ended) != 1 {
				t.Errorf("attempt %d: %s: %s; %d calls", attempt, r.Outcome, r.Reason, len(j.calls))
			}
		}
	})
}
