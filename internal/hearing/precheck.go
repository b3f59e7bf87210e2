package hearing

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
func (h *Hearing) precheck(s *scheduler.State, i int, e scheduler.PrecheckStarted) func(ctx context.Context) counsel.Challenge {
	t := &s.Plan.Tasks[i]
	c := counsel.ChallengeCase{Task: t.ID, Subject: cmp.Or(t.Subject, t.Command), Description: t.Description + t.Prompt,
		Request: cmp.Or(s.Plan.Request, s.Plan.Name), Aspects: t.Aspects, Cap: e.Cap, Dir: s.Plan.Tasks[i].WorkDir(h.o.Config.Dir),
		LogDir: filepath.Join(h.o.Config.Loop, "runs", h.o.Config.Run, fmt.Sprintf("precheck-%s-%d", t.ID, e.N))}
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
		apart := h.o.Config.Isolation == scheduler.Isolated
		if err := h.standing(ctx, apart, func(dir string) {
			if apart {
				c.Dir = dir
			}
			out = h.panel.Challenge(ctx, c)
		}); err != nil {
			return counsel.Challenge{Error: err.Error()}
		}
		return out
	}
}
