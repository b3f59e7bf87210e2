package ui

import (
	"fmt"

	"wavex/internal/event"
	"wavex/scheduler"
)

// This file writes the sentences about isolation: how verified work is integrated and delivered.

// integrationEndedLines returns the lines about an integration, on request with the completed tasks.
func integrationEndedLines(b event.IntegrationEnded, s *scheduler.State, completed bool) (out []string, m mark) {
	if len(b.Reopened) > 0 || b.Stop != nil {
		m = markWarn
	}
	if completed && len(b.Completed) > 0 {
		done := "completed"
		if s.Config.Isolation == event.Isolated {
			done = "integrated"
		}
		out = append(out, done+": "+idList(b.Completed))
	}
	for _, r := range b.Reopened {
		how := "goes back"
		if r.TaskStop != nil {
			how = fmt.Sprintf("stopped (breaker %s)", fitText(string(r.TaskStop.Breaker)))
		}
		out = append(out, fmt.Sprintf("%s %s: %s", fitText(r.Task), how, fitText(r.Result.Reason)))
		if len(r.Blocked) > 0 {
			out = append(out, fmt.Sprintf("blocked by %s: %s", fitText(r.Task), idList(r.Blocked)))
		}
	}
	if b.Note != "" {
		out = append(out, fitText(b.Note))
	}
	if b.Stop != nil {
		out = append(out, stopLines(*b.Stop, s)...)
	}
	return out, m
}

func deliveryText(b event.DeliveryEnded) []string {
	line := "delivered: " + fitText(b.How)
	ref := " "
	switch {
	case b.Failed:
		line, ref = "not delivered", ", it is on "
	case b.How == "none":
		line = "not delivered"
	}
	if b.Ref != "" {
		line += ref + fitText(b.Ref)
	}
	if b.Why != "" {
		line += " (" + fitText(b.Why) + ")"
	}
	out := []string{line}
	if b.Command != "" {
		out = append(out, "take the work over with: "+fitText(b.Command))
	}
	return out
}
