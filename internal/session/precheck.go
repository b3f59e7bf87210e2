package session

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"wavex/counsel"
	"wavex/internal/verify"
	"wavex/scheduler"
)

// This file wires the challenge of tasks that are hard to undo: what the experts are told.

// precheck prepares a challenge. It is called by the loop's goroutine; what it returns is
// not.
func (v *reviews) precheck(s *scheduler.State, i int, e scheduler.PrecheckStarted) func(ctx context.Context) counsel.Challenge {
	t := &s.Plan.Tasks[i]
	c := counsel.ChallengeCase{Task: t.ID, Subject: cmp.Or(t.Subject, t.Command), Description: t.Description + t.Prompt,
		Request: cmp.Or(s.Plan.Request, s.Plan.Name), Aspects: t.Aspects, Cap: e.Cap, Dir: v.workDir(s.Plan, i),
		LogDir: filepath.Join(v.config.Loop, "runs", v.config.Run, fmt.Sprintf("precheck-%s-%d", t.ID, e.N))}
	for _, f := range t.Files {
		if f.Writes() {
			c.Files = append(c.Files, f.Path)
		}
	}
	for _, k := range t.Verify {
		c.Checks = append(c.Checks, verify.Describe(k))
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	return func(ctx context.Context) counsel.Challenge {
		var out counsel.Challenge
		// In a shared directory reading needs no quiet moment, for which others would wait.
		apart := v.config.Isolation == scheduler.Isolated
		if err := v.standing(ctx, apart, func(dir string) {
			if apart {
				c.Dir = dir
			}
			out = v.panel.Challenge(ctx, c)
		}); err != nil {
			return counsel.Challenge{Error: err.Error()}
		}
		return out
	}
}

// conditions are what the experts asked for who let a task begin.
func conditions(t *scheduler.Task) []string {
	if t.Challenge == nil {
		return nil
	}
	return t.Challenge.Conditions
}
