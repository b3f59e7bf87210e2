package cmd

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"wavex/internal/loop"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

func newOutput(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "output TASK",
		Short: "Print the output of a task",
		Long: `output prints the structured result of a task that has an output in the plan, as
JSON, or with the id of a list (foreach) the results of its items, as an array.
It reads the last run in .loop/ of the project directory, and changes nothing.

Exit status: 0 printed, 2 there is no such task, or it has no output (yet).`,
		Example: "  wavex output T-001\n  wavex output T-001 | jq -r '.items[].path'",
		Args:    oneArg("a task's id"),
		RunE:    func(_ *cobra.Command, args []string) error { return runOutput(args[0], std) },
	}
}

func runOutput(id string, std Stdio) error {
	past, err := findStoredRun(nil, std)
	if err != nil {
		return err
	}
	s := past.State
	value, err := outputOf(s, id, past.Loop.Path(loop.Outputs))
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

// outputOf returns the output of a task, or those of a list as an array.
func outputOf(s *scheduler.State, id, dir string) ([]byte, error) {
	if g := s.Plan.Group(id); g != nil && len(g.Tasks) > 0 {
		outputs, _, err := s.Outputs(g.ID)
		if err != nil {
			return nil, usage("the list %s has no outputs in run %s: %s", textfmt.Line(g.ID), s.Config.Run, err)
		}
		values := make([][]byte, len(outputs))
		for k, o := range outputs {
			if values[k], err = o.Read(dir); err != nil {
				return nil, err
			}
		}
		return slices.Concat([]byte{'['}, bytes.Join(values, []byte{','}), []byte{']'}), nil
	}
	id, err := findTask(s.Plan, id)
	if err != nil {
		return nil, err
	}
	i, _ := s.Index(id)
	o := s.Output(i)
	if o == nil {
		return nil, usage("task %s has no output in run %s: it is %s", textfmt.Line(id), s.Config.Run, s.Tasks[i].Status)
	}
	return o.Read(dir)
}
