package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/forecast"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/textfmt"
)

type checkOptions struct {
	output string
	all    bool // print each diagnostic
	params paramFlags
}

func newCheck(std Stdio) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [PLAN]",
		Short: "Check a plan: mistakes, cycles, waves, critical path",
		Long: `check reads a plan (without PLAN: plan.json, plan.yaml or plan.yml, whichever
is here) and reports mistakes with their file, line and column, those of one
kind together; --all prints each of a kind with many. For a plan
that can run it shows the waves and the critical path, and warns of limits that
cannot suffice, files that tasks of one wave share, and tasks without any check.
It lists the commands that a run starts by itself. It starts and writes nothing.

Exit status: 0 the plan can run, 2 it cannot.`,
		Example: "  wavex check plan.json\n  wavex check plan.yaml --output json",
		Args:    optionalArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := planPath(args)
			if err != nil {
				return err
			}
			return runCheck(c.Context(), path, o, std)
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "print each mistake and warning, also of a kind with many")
	o.params.add(c)
	outputFlag(c, &o.output)
	return c
}

// checkReport is the JSON output of `wavex check`.
type checkReport struct {
	OK           bool              `json:"ok"`
	Tasks        int               `json:"tasks"`
	MostTasks    int               `json:"mostTasks,omitempty"` // with lists that are not known as long as they may be
	Edges        int               `json:"edges"`
	Waves        [][]string        `json:"waves"`
	CriticalPath []string          `json:"criticalPath"`
	Commands     []plan.Command    `json:"commands"`
	Params       []plan.Param      `json:"params,omitempty"`
	Groups       []checkedGroup    `json:"groups,omitempty"`
	Diagnostics  []plan.Diagnostic `json:"diagnostics"`
}

// checkedGroup is a group with the ids of its tasks.
type checkedGroup struct {
	plan.Group
	Tasks []string `json:"tasks"`
}

func checkedGroups(p *plan.Plan) (groups []checkedGroup) {
	for _, g := range p.Groups {
		groups = append(groups, checkedGroup{g, plan.IDs(p, g.Tasks)})
	}
	return groups
}

// String returns the group as one line.
func (g checkedGroup) String() string {
	switch {
	case !g.Known:
		return fmt.Sprintf("group %s: the list (%s) is not known yet, at most %s", g.ID, g.List,
			report.Plural(g.MaxItems, "item", "items"))
	case len(g.Tasks) == 0:
		return fmt.Sprintf("group %s: no items (%s), which is complete", g.ID, g.List)
	}
	steps := ""
	if g.Steps > 0 {
		steps = " of " + report.Plural(g.Steps, "step", "steps")
	}
	return fmt.Sprintf("group %s: %s%s (%s): %s", g.ID, report.Plural(len(g.Tasks), "item", "items"), steps, g.List,
		joinFirstN(g.Tasks, 6))
}

func runCheck(ctx context.Context, path string, o checkOptions, std Stdio) error {
	p, diags, _, err := o.params.load(path, "", false)
	if err != nil {
		return err
	}
	r := checkReport{OK: p != nil, Waves: [][]string{}, CriticalPath: []string{},
		Diagnostics: append([]plan.Diagnostic{}, diags...), Commands: []plan.Command{}}
	if p != nil {
		r.Diagnostics = append(r.Diagnostics, forecast.InsufficientLimits(p, forecast.Limits(p))...)
		r.Diagnostics = append(r.Diagnostics, forecast.Assumptions(p)...)
		r.Tasks, r.Edges = len(p.Tasks), p.Graph.Edges()
		if most := p.MostTasks(); most > r.Tasks {
			r.MostTasks = most
		}
		r.Waves, r.Commands, r.Params = waveIDs(p), p.Commands(), p.Params
		r.Groups = checkedGroups(p)
		path, _ := p.Graph.CriticalPath(forecast.Seconds(p))
		for _, i := range path {
			r.CriticalPath = append(r.CriticalPath, p.Tasks[i].ID)
		}
		if dir, err := projectOf(p); err == nil { // else a run says so
			std.tellPlace(dir)
		}
	}
	if o.output == "json" {
		err = json.NewEncoder(std.Out).Encode(r)
	} else {
		err = printCheck(std, p, r, o.all)
	}
	if err == nil && !r.OK {
		err = exitCode(exitUsage)
	}
	return err
}

func printCheck(std Stdio, p *plan.Plan, r checkReport, all bool) error {
	if p == nil && !all {
		fmt.Fprintln(std.Err, planfile.NewPlanError(r.Diagnostics).Error())
		return nil
	}
	lines := plan.Lines(r.Diagnostics)
	if all {
		lines = nil
		for _, d := range r.Diagnostics {
			lines = append(lines, d.String())
		}
	}
	for _, l := range lines {
		fmt.Fprintln(std.Err, l)
	}
	if p == nil {
		return nil
	}
	width := 0
	for i, w := range r.Waves {
		if p.Sequential(i + 1) {
			w = w[:min(1, len(w))]
		}
		width = max(width, len(w))
	}
	tasks := report.Plural(r.Tasks, "task", "tasks")
	if r.MostTasks > 0 {
		tasks += fmt.Sprintf(" (at most %d with the lists that are not known yet)", r.MostTasks)
	}
	fmt.Fprintf(std.Out, "%s: %s, %s, %s, at most %d side by side\n", p.Path, tasks,
		report.Plural(r.Edges, "edge", "edges"), report.Plural(len(r.Waves), "wave", "waves"), width)
	printParams(std.Out, r.Params)
	for _, g := range r.Groups {
		fmt.Fprintln(std.Out, textfmt.Line(g.String()))
	}
	for i, w := range r.Waves {
		after := ""
		if p.Sequential(i+1) && len(w) > 1 {
			after = " (one after the other)"
		}
		fmt.Fprintf(std.Out, "wave %d: %s%s\n", i+1, joinFirstN(w, 12), after)
	}
	fmt.Fprintf(std.Out, "critical path: %s\n", strings.Join(firstN(r.CriticalPath, 20), " -> "))
	printCommands(std.Out, r.Commands)
	return nil
}

// printCommands prints the commands of a plan, each as a line that hides nothing.
func printCommands(w io.Writer, commands []plan.Command) {
	if len(commands) == 0 {
		return
	}
	fmt.Fprintln(w, "commands that a run starts:")
	for _, c := range commands {
		run := c.Run
		if textfmt.Line(run) != run {
			run = strconv.Quote(run)
		}
		fmt.Fprintf(w, "  %s", run)
		if len(c.For) > 0 {
			fmt.Fprintf(w, "  (%s)", joinFirstN(c.For, 6))
		}
		fmt.Fprintln(w)
	}
}

func firstN(ids []string, n int) []string {
	if len(ids) <= n {
		return ids
	}
	return append(slices.Clone(ids[:n]), fmt.Sprintf("... %d more", len(ids)-n))
}

func joinFirstN(ids []string, n int) string { return strings.Join(firstN(ids, n), " ") }

func waveIDs(p *plan.Plan) (ids [][]string) {
	for _, tasks := range p.TasksByWave() {
		ids = append(ids, plan.IDs(p, tasks))
	}
	return ids
}
