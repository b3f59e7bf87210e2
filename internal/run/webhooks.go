package run

import (
	"context"
	"fmt"
	"time"

	"wavex/internal/ui"
	"wavex/scheduler"
)

// This file informs webhooks about a run.

// webhookCloseTimeout is how long the end of a run waits for deliveries.
const webhookCloseTimeout = 15 * time.Second

// startWebhooks returns a View that informs the webhooks, or nil without one. done waits for deliveries for
// a limited time and reports those that failed. A failed delivery does not change the exit code.
func (r *Session) startWebhooks(ctx context.Context) (view scheduler.View, done func()) {
	if len(r.opts.Webhooks) == 0 {
		return nil, func() {}
	}
	s := ui.NewWebhookSender(ctx, r.plan.Name, r.opts.Webhooks, ui.WebhookOptions{Secret: r.opts.WebhookSecret})
	return s, func() {
		if err := s.Close(r.closeLimit(webhookCloseTimeout)); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex:", err)
		}
	}
}
