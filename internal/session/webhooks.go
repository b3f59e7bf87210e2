package session

import (
	"context"
	"fmt"

	"wavex/internal/notify"
)

// This file tells webhooks of a run.

// notifier tells the webhooks; done waits for them, for a while, and says what was not
// delivered. It changes no exit code: the run went as it went.
func (r *Session) notifier(ctx context.Context) (s *notify.Sender, done func(left bool)) {
	if len(r.opts.Hooks) == 0 {
		return nil, func(bool) {}
	}
	s = notify.New(ctx, r.plan.Name, r.opts.Hooks, notify.Options{Secret: r.opts.HookSecret})
	return s, func(left bool) {
		if left {
			return
		}
		if err := s.Close(); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex:", err)
		}
	}
}
