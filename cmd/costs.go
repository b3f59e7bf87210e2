package cmd

import (
	"os"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/secret"
)

func newCosts(std Stdio) *cobra.Command {
	var by, output string
	c := &cobra.Command{
		Use:   "costs [PLAN]",
		Short: "Add up the costs of runs by day, plan, model or run",
		Long: `costs adds up the costs in the journal in .loop/ of the project directory (or of
the plan's project directory) and in those that --fresh moved aside, and tells
for which purpose: attempts at tasks, panels and pre-checks, reviews, the judge
of criteria in prose, and requests before there was a plan. Days are in UTC. The
model is that of an attempt's session: other models that it used count there,
and panels and reviews have none on record. Rehearsals are left out, since their
costs are made up. (* after a cost: a subscription; at least a part of the cost
is not billed.)

Exit status: 0 listed, 2 there is no run here.`,
		Example: "  wavex costs\n  wavex costs --by model\n  wavex costs --by plan --output json",
		Args:    optionalArg("a plan file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runCosts(args, by, output, std) },
	}
	choiceFlag(c, &by, "by", "day", report.CostsBy, "the rows of the table")
	outputFlag(c, &output)
	return c
}

func runCosts(args []string, by, output string, std Stdio) error {
	var x report.Expenses
	records := 0
	err := eachJournal(args, std, func(_ string, events []event.Event, _ bool) {
		x.Add(events)
		records += len(events)
	}, func() bool { return records > 0 })
	if err != nil {
		return err
	}
	out := []byte(x.Table(by, outputColumns(std.Out)))
	if output == "json" {
		if out, err = x.JSON(by); err != nil {
			return err
		}
	}
	_, err = std.Out.Write(secret.New(os.Environ()).Bytes(out))
	return err
}
