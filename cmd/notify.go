package cmd

import (
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
