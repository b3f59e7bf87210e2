package cmd

import (
	"math"
	"slices"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

func newRetry(std Stdio) *cobra.Command {
	o := newRunOptions(std.Fleet)
	o.resuming = true
	c := &cobra.Command{
		Use:   "retry TASK...",
		Short: "Give failed tasks of the unfinished run another chance",
		Long: `retry continues the run in .loop/ of the project directory with the named tasks
and their blockers. Tasks that wait for the named ones start with the next
wavex resume, which leaves all other failed tasks as they are. Limits keep their
values unless given; +N raises one.
` + codesHelp,
		Example: "  wavex retry T-003\n  wavex retry T-003 T-007 --budget +2",
		Args:    argCount(1, math.MaxInt, "one task or more"),
		RunE: func(c *cobra.Command, args []string) error {
			err := checkLoopOf(c.Context(), nil)
			if err != nil {
				return err
			}
			if o.only, err = retriedTasks(args); err != nil {
				return err
			}
			return runPlan(c.Context(), o, std)
		},
	}
	runFlags(c, o)
	return c
}

// retriedTasks returns the ids of tasks of the last run here, which must not be completed.
func retriedTasks(names []string) ([]string, error) {
	past, err := findRunWithPlan(nil, Stdio{}) // the run says where
	if err != nil {
		return nil, err
	}
	s := past.State
	var ids []string
	for _, name := range names {
		if g := s.Plan.Group(name); g != nil {
			switch {
			case !g.Known: // its blockers, and its items as soon as they are known
				ids = append(ids, g.ID)
				continue
			case len(g.Tasks) == 0:
				return nil, usage("%s has no items", textfmt.Line(name))
			}
			left := slices.DeleteFunc(g.All(), func(i int) bool { return s.Tasks[i].Status == event.Completed })
			if len(left) == 0 {
				return nil, usage("all tasks of %s are completed", textfmt.Line(name))
			}
			ids = append(ids, plan.IDs(s.Plan, left)...)
			continue
		}
		id, err := findTask(s.Plan, name)
		if err != nil {
			return nil, err
		}
		if i, _ := s.Index(id); s.Tasks[i].Status == event.Completed {
			return nil, usage("task %s is completed; wavex rollback %s brings back the files from before it",
				textfmt.Line(id), plan.ShellQuote(id))
		}
		ids = append(ids, id)
	}
	return ids, nil
}
