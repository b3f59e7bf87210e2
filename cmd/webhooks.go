package cmd

import "wavex/internal/ui"

// This file wires webhooks. The receivers depend on the machine and the moment, so they come from
// settings, never from the plan or the journal.

// webhookSecretVar is the environment variable of the key that signs the messages to all webhooks.
const webhookSecretVar = "WAVEX_WEBHOOK_SECRET"

// parseWebhooks parses the values of the setting webhook, which errors call by name.
func parseWebhooks(name string, values []string) (out []ui.Webhook, err error) {
	for _, v := range values {
		h, err := ui.ParseWebhook(v)
		if err != nil {
			return nil, usage("%s: %s", name, err)
		}
		out = append(out, h)
	}
	return out, nil
}
