package cmd

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
)

func newGraph(std Stdio) *cobra.Command {
	var states, all bool
	c := &cobra.Command{
		Use:   "graph [PLAN|RUN]",
		Short: "Print the graph of a plan or a run",
		Long: `graph prints the tasks of a plan (without PLAN: plan.json, plan.yaml or
plan.yml, whichever is here) with their subjects and their blockers, laid out in
waves. With --states, or with the id of a run, each task has its state in the
last run of the plan, or in that run, and tasks that the run added are there as
well. The items of a list (foreach) are one line; with --all, each item has its
own. The page of a run (wavex report --html) draws the graph.
A plan with mistakes (a cycle, an unknown blocker) is refused with its
diagnostics. check --output json has the waves and the lists for programs.

Exit status: 0 printed, 2 the plan has mistakes, or there is no such run.`,
		Example: `  wavex graph plan.json
  wavex graph --states
  wavex graph --all`,
		Args: optionalArg("a plan file or a run id"),
		RunE: func(_ *cobra.Command, args []string) error {
			if states || len(args) == 1 && runlog.ValidID(args[0]) {
				past, err := findRunOrArchived(args, std)
				if err != nil {
					return err
				}
				sum := report.Of(past.State, past.Events).At(time.Now(), past.Alive)
				return printGraph(std.Out, past.State.Plan, &sum, all)
			}
			path, err := planPath(args)
			if err != nil {
				return err
			}
			p, err := planfile.Read(path, "")
			if err != nil {
				return err
			}
			if dir, err := projectOf(p); err == nil {
				std.tellPlace(dir)
			}
			return printGraph(std.Out, p, nil, all)
		},
	}
	c.Flags().BoolVar(&states, "states", false, "show the states of the tasks in the plan's last run")
	c.Flags().BoolVar(&all, "all", false, "show each item of a list")
	return c
}

// printGraph prints a plan by its waves. run has the states of its tasks and may be nil. Lists that come with the run
// stand behind the waves.
func printGraph(out io.Writer, p *plan.Plan, run *report.Summary, all bool) error {
	w := bufio.NewWriter(out)
	wave, waves := p.Waves()
	late := map[int][]string{}         // the lists that a task waits for, which come with the run
	lateLists := map[string][]string{} // and those that a list waits for
	for i := range p.Groups {
		if g := &p.Groups[i]; !g.Known {
			tasks, lists := p.ListWaiters(g.ID)
			for _, t := range tasks {
				late[t] = append(late[t], g.ID)
			}
			for _, l := range lists {
				lateLists[l] = append(lateLists[l], g.ID)
			}
		}
	}
	shown := map[string]bool{} // lists
	for n := 1; n <= waves; n++ {
		fmt.Fprintf(w, "wave %d of %d\n", n, waves)
		for i := range p.Tasks {
			t := &p.Tasks[i]
			if wave[i] != n || shown[t.Group] {
				continue
			}
			id, title := t.ID, textfmt.Line(t.Title())
			if t.Group != "" && !all {
				shown[t.Group] = true
				id, title = t.Group, itemsTitle(p.Group(t.Group))
			}
			writeNode(w, id, title, append(nodeNames(p, p.Graph.Blockers(i), all), late[i]...), nodeState(run, i, id))
		}
	}
	if i := slices.IndexFunc(p.Groups, func(g plan.Group) bool { return !g.Known }); i >= 0 {
		fmt.Fprintln(w, "lists that come with the run")
	}
	for i := range p.Groups {
		if g := &p.Groups[i]; !g.Known {
			state := ""
			if run != nil {
				state = "the list is not known yet"
			}
			before := append(nodeNames(p, p.ListBlockers(g.ID), all), lateLists[g.ID]...)
			if of := p.Group(g.Uses); of != nil && !of.Known && !slices.Contains(before, g.Uses) {
				before = append(before, g.Uses)
			}
			writeNode(w, g.ID, itemsTitle(g), before, state)
		}
	}
	return w.Flush()
}

func itemsTitle(g *plan.Group) string {
	if !g.Known {
		return fmt.Sprintf("at most %s (%s)", report.Plural(g.MaxItems, "item", "items"), g.List)
	}
	return fmt.Sprintf("%s (%s)", report.Plural(len(g.Tasks), "item", "items"), g.List)
}

// nodeNames returns the names of tasks in the graph: their ids, or those of their lists.
func nodeNames[T int | int32](p *plan.Plan, tasks []T, all bool) (names []string) {
	seen := map[string]bool{}
	for _, i := range tasks {
		name := p.Tasks[i].ID
		if g := p.Tasks[i].Group; g != "" && !all {
			name = g
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// nodeState returns the state of a task in a run, or of the list whose id is given.
func nodeState(run *report.Summary, task int, id string) string {
	if run == nil {
		return ""
	}
	at := slices.IndexFunc(run.Groups, func(g report.Group) bool { return g.ID == id })
	if at < 0 {
		return run.Tasks[task].StatusText()
	}
	g := &run.Groups[at]
	text := fmt.Sprintf("%d of %s completed", g.Completed, report.Plural(g.Items, "item", "items"))
	if g.Failed > 0 {
		text += fmt.Sprintf(", %d failed", g.Failed)
	}
	if g.Running > 0 {
		text += fmt.Sprintf(", %d running", g.Running)
	}
	return text
}

func writeNode(w io.Writer, id, title string, blockers []string, state string) {
	fmt.Fprintf(w, "  %s", id)
	if title != "" {
		fmt.Fprintf(w, "  %s", title)
	}
	if len(blockers) > 0 {
		fmt.Fprintf(w, "  (blocked by %s)", strings.Join(blockers, ", "))
	}
	if state != "" {
		fmt.Fprintf(w, "  [%s]", state)
	}
	fmt.Fprintln(w)
}
