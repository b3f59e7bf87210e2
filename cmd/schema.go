package cmd

import (
	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/rehearse"
	"wavex/internal/statefiles"
)

func newSchema(std Stdio) *cobra.Command {
	var what string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of plans or events",
		Long: `schema prints a JSON Schema (2020-12) for editors and validators: of plans, of
the lines of --output json, of scenarios, of .loop/workflow-state.json and of
.loop/state.json.

Exit status: 0.`,
		Example: "  wavex schema > plan.schema.json\n  wavex schema --of events",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			text := map[string]func() []byte{"plan": plan.Schema, "events": event.Schema, "scenario": rehearse.Schema,
				"workflow-state": statefiles.WorkflowSchema, "state": statefiles.LinearSchema}[what]()
			_, err := std.Out.Write(text)
			return err
		},
	}
	choiceFlag(c, &what, "of", "plan", []string{"plan", "events", "scenario", "workflow-state", "state"}, "which schema")
	return c
}
