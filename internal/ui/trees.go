package ui

import (
	"fmt"

	"wavex/scheduler"
)

// This file writes the sentences about isolation: how isolated work is integrated and delivered.

func together(b scheduler.IntegrationStarted) string {
	return fmt.Sprintf("integrating wave %d: %s", b.Wave, ids(b.Tasks))
}

func integrated(b scheduler.IntegrationEnded, s *scheduler.State) []string {
	var out []string
	if len(b.Completed) > 0 {
		out = append(out, fmt.Sprintf("integrated: %s", ids(b.Completed)))
	}
	for _, r := range b.Reopened {
		out = append(out, fmt.Sprintf("%s goes back: %s", text(r.Task), text(r.Result.Reason)))
		if len(r.Blocked) > 0 {
			out = append(out, fmt.Sprintf("blocked by %s: %s", text(r.Task), ids(r.Blocked)))
		}
	}
	if b.Note != "" {
		out = append(out, text(b.Note))
	}
	if b.Stop != nil {
		out = append(out, stopping(*b.Stop, s)...)
	}
	return out
}

func delivered(b scheduler.DeliveryEnded) []string {
	line := "delivered: " + text(b.How)
	if b.Failed {
		line = "not delivered"
	}
	if b.Failed && b.Ref != "" {
		line += ", it is on " + text(b.Ref)
	} else if b.Ref != "" {
		line += " " + text(b.Ref)
	}
	if b.Why != "" {
		line += " (" + text(b.Why) + ")"
	}
	out := []string{line}
	if b.Command != "" {
		out = append(out, "take the work over with: "+text(b.Command))
	}
	return out
}
