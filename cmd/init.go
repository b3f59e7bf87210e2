package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/notes"
	"wavex/internal/plan"
)

type initOptions struct {
	slug, goal, pipeline string
	project              string
}

func newInit(std Stdio) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init SLUG",
		Short: "Make a tracking directory for a loop",
		Long: `init makes .claude/pensieve/loop/DATE-SLUG in the project, with a _meta.md (goal
and pipeline), and prints LOOP_DIR= and its path as the first line on stdout.
Write the background of the tasks into _context.md there: a run of a plan in
that directory, or with --track SLUG, passes it to its agents, and adds
deviations and interventions to it. init never overwrites a file.

Exit status: 0 made, 2 it is there already, or there is no such project.`,
		Example: "  wavex init login-feature --goal \"users can log in\"\n  wavex run plan.json --track login-feature",
		Args:    oneArg("a slug, the name of a directory for notes (a plan is made with: wavex new)"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.slug = args[0]
			return runInit(o, time.Now(), std)
		},
	}
	c.Flags().StringVar(&o.goal, "goal", "", "purpose of the loop")
	c.Flags().StringVar(&o.pipeline, "pipeline", "tasks", "the phases, as in: plan -> design -> tasks")
	projectFlag(c, &o.project)
	return c
}

func runInit(o initOptions, now time.Time, std Stdio) error {
	slug := notes.Slug(o.slug)
	if slug == "" {
		return usage("%q has neither letters nor digits to name a directory by", o.slug)
	}
	project, err := filepath.Abs(o.project)
	if err != nil {
		return err
	}
	if st, err := os.Stat(project); err != nil || !st.IsDir() {
		return usage("there is no directory %s; make it first, or name another --project", project)
	}
	dir, err := notes.Create(project, notes.Meta{Slug: slug, Goal: o.goal, Pipeline: o.pipeline, At: now})
	if errors.Is(err, notes.ErrExists) {
		return usage("%s; take another slug, or use it as it is: wavex run PLAN --track %s", err, slug)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "LOOP_DIR=%s\n", dir)
	fmt.Fprintf(std.Err, "next: write %s, then: wavex run PLAN --track %s\n", filepath.Join(dir, notes.ContextFile), slug)
	return nil
}

// resolveTrack finds the tracking directory: the flag's, that of the resumed run, or the one that
// contains the plan.
func resolveTrack(o *runOptions, p *plan.Plan, c *event.Config) error {
	switch {
	case o.forced("track") && o.track == "":
		c.Track = ""
	case o.forced("track") || c.Track == "" && o.given("track"):
		dir, err := notes.FindDir(c.Dir, o.track)
		if err != nil {
			return usage("%s: %s", o.named("track"), err)
		}
		c.Track = dir
	case c.Track == "":
		c.Track = notes.DirOf(c.Dir, p.AbsPath())
	}
	return nil
}
