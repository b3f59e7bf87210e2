package cmd

import (
	"context"
	"fmt"
	"strings"

	"wavex/internal/claude/statement"
	"wavex/internal/claude/support"
)

// statementResult is one result of the probes of statements.
type statementResult struct {
	ID       statement.ID      `json:"id"`
	Kind     statement.Kind    `json:"kind"`
	Text     string            `json:"text"`
	Verdict  statement.Support `json:"verdict"`
	Seen     string            `json:"seen,omitempty"` // set if it fails
	Fallback string            `json:"fallback"`
}

// statements returns the known facts about the CLI, or probes it.
func (d *diagnosis) statements(ctx context.Context, p support.Program) support.CLI {
	if !d.opts.probe {
		return support.UserStore().Lookup(p)
	}
	found := support.UserStore().ProbeAll(ctx, p)
	for _, s := range statement.All() {
		d.statementResults = append(d.statementResults, statementResult{ID: s.ID, Kind: s.Kind, Text: s.Text,
			Verdict: found.Support[s.ID], Seen: found.Why[s.ID], Fallback: s.Fallback})
	}
	return found
}

// statementTable returns the results of the probes for people.
func statementTable(list []statementResult) string {
	var b strings.Builder
	for i, s := range list {
		if i == 0 {
			b.WriteString("\nWhat wavex relies on of the CLI (docs/claude-cli.md):\n")
		}
		fmt.Fprintf(&b, "%-8s %-11s %s\n", s.Verdict, s.Kind, s.Text)
		if s.Seen != "" {
			fmt.Fprintf(&b, "%21sseen: %s\n", "", s.Seen)
		}
		if s.Verdict != statement.Holds {
			fmt.Fprintf(&b, "%21s-> %s\n", "", s.Fallback)
		}
	}
	return b.String()
}
