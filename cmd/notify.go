package cmd

import (
	"context"
	"fmt"
	"os"

	"wavex/internal/notify"
)

// This file wires webhooks: whom to tell is a matter of the machine and the moment, so
// it comes from flags and the environment, never from the plan or the journal.

// The environment's webhook, and what signs the messages to all of them.
const (
	webhookVar       = "WAVEX_WEBHOOK"
	webhookSecretVar = "WAVEX_WEBHOOK_SECRET"
)

// parseHooks reads the values of --webhook, and the environment's.
func parseHooks(values []string) ([]notify.Hook, error) {
	var out []notify.Hook
	if v := os.Getenv(webhookVar); v != "" {
		h, err := notify.ParseHook(v)
		if err != nil {
			return nil, usage("%s: %s", webhookVar, err)
		}
		out = append(out, h)
	}
	for _, v := range values {
		h, err := notify.ParseHook(v)
		if err != nil {
			return nil, usage("--webhook: %s", err)
		}
		out = append(out, h)
	}
	return out, nil
}

// notifier tells the webhooks; done waits for them, for a while, and says what was not
// delivered. It changes no exit code: the run went as it went.
func (r *session) notifier(ctx context.Context) (s *notify.Sender, done func()) {
	if len(r.hooks) == 0 {
		return nil, func() {}
	}
	s = notify.New(ctx, r.plan.Name, r.hooks, notify.Options{Secret: os.Getenv(webhookSecretVar)})
	return s, func() {
		if err := s.Close(); err != nil {
			fmt.Fprintln(r.std.Err, "wavex:", err)
		}
	}
}
