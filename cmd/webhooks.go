package cmd

import (
	"os"

	"wavex/internal/notify"
)

// This file wires webhooks. The receivers depend on the machine and the moment, so they come from
// flags and the environment, never from the plan or the journal.

// Environment variables: a webhook, and the key that signs the messages to all webhooks.
const (
	webhookVar       = "WAVEX_WEBHOOK"
	webhookSecretVar = "WAVEX_WEBHOOK_SECRET"
)

// parseWebhooks parses the values of --webhook, which errors call flag, and the webhook of the environment.
func parseWebhooks(flag string, values []string) ([]notify.Webhook, error) {
	var out []notify.Webhook
	from := webhookVar
	for _, v := range append([]string{os.Getenv(webhookVar)}, values...) {
		if v != "" || from == flag {
			h, err := notify.ParseWebhook(v)
			if err != nil {
				return nil, usage("%s: %s", from, err)
			}
			out = append(out, h)
		}
		from = flag
	}
	return out, nil
}
