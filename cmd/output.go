package cmd

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"wavex/internal/loop"
	"wavex/internal/textfmt"
)

func newOutput(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "output TASK",
		Short: "Print the output of a task",
		Long: `output prints the structured result of a task that has an output in the plan, as
JSON. It reads the last run in .loop/ of the current directory, and changes
nothing.

Exit status: 0 printed, 2 there is no such task, or it has no output (yet).`,
		Example:           "  wavex output T-001\n  wavex output T-001 | jq -r '.items[].path'",
		Args:              oneArg("a task's id"),
		ValidArgsFunction: completeTask,
		RunE:              func(_ *cobra.Command, args []string) error { return runOutput(args[0], std) },
	}
}

func runOutput(id string, std Stdio) error {
	past, err := findStoredRun(nil)
	if err != nil {
		return err
	}
	s := past.State
	if id, err = findTask(s.Plan, id); err != nil {
		return err
	}
	i, _ := s.Index(id)
	o := s.Output(i)
	if o == nil {
		return usage("task %s has no output in run %s: it is %s", textfmt.Line(id), s.Config.Run, s.Tasks[i].Status)
	}
	value, err := o.Read(past.Loop.Path(loop.Outputs))
	if err != nil {
		return err
	}
	text, err := jsontext.AppendFormat(nil, value, jsontext.AllowDuplicateNames(true)) // the journal escapes <, > and &
	if err != nil {
		return err
	}
	if isTerminal(std.Out) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			return err
		}
		text = textfmt.JSON(indented.Bytes())
	}
	_, err = std.Out.Write(append(text, '\n'))
	return err
}
