package review

import (
	"cmp"
	"context"
	"fmt"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// This file prepares the challenge of tasks that are hard to undo: the material for the experts.

// PreparePrecheck returns a function that makes a challenge. The loop's goroutine calls precheck; the
// returned function runs in another goroutine.
func (h *Coordinator) PreparePrecheck(s *scheduler.State, i int,
	e event.PrecheckStarted) func(ctx context.Context) counsel.Challenge {
	t := &s.Plan.Tasks[i]
	c := counsel.ChallengeCase{Task: t.ID, Subject: cmp.Or(t.Subject, t.Command), Description: t.Description + t.Prompt,
		Request: cmp.Or(s.Plan.Request, s.Plan.Name), Aspects: t.Aspects, Files: plan.Written(t.Files), Cap: e.Cap,
		Dir:    s.Plan.Tasks[i].WorkDir(h.opts.Config.Dir),
		LogDir: h.callsDir(fmt.Sprintf("precheck-%s-%d", t.ID, e.N))}
	for _, k := range t.Verify {
		c.Checks = append(c.Checks, k.Describe())
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	return func(ctx context.Context) counsel.Challenge {
		var out counsel.Challenge
		// Reading a shared directory needs no exclusive access, which would make others wait.
		isolated := h.opts.Config.Isolation == event.Isolated
		if err := h.withIntegrated(ctx, isolated, func(dir string) {
			if isolated {
				c.Dir = dir
			}
			out = h.panel.Challenge(ctx, c)
		}); err != nil {
			return counsel.Challenge{Error: err.Error()}
		}
		return out
	}
}
