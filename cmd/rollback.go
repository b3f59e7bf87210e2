package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

type rollbackOptions struct {
	target string
	plan   string
	force  bool
	dryRun bool
	yes    bool
}

func newRollback(std Stdio) *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:   "rollback TASK|wave-N|run",
		Short: "Bring back the files from before a task, a wave or the run",
		Long: `rollback brings the files of the project back to the checkpoint from before the
last run, a wave or a task, and marks what is undone as pending: wavex resume
does it again. A run in the directory of a git
checkout has a checkpoint, unless that would have added more than 64 MB; its
waves and tasks have some if tasks are of reversibility 2B or 1. A wave takes
the waves behind it along. Files that git ignores do not change, nor do index,
branches and stash; the replaced files are saved below refs/wavex.

If the run worked in worktrees, "rollback run" prints the commands with which
you undo its delivery. The run's work stays on the branch wavex/RUN.

Without git there are no checkpoints, and nothing can be undone.

The changes are listed first, and at a terminal a person is asked. Without
--force it does not undo later changes by others, nor a task that other tasks
already build on.

Exit status: 0 done, 2 there is no checkpoint of it, 5 a person must look.`,
		Example: "  wavex rollback run --dry-run\n  wavex rollback run --yes\n  wavex rollback T-003",
		Args:    oneArg("a task, wave-N or run"),
		RunE: func(c *cobra.Command, args []string) error {
			o.target = args[0]
			return runRollback(c.Context(), o, std)
		},
	}
	f := c.Flags()
	f.StringVar(&o.plan, "plan", "", "the plan file (default: that of the run in .loop)")
	f.BoolVar(&o.force, "force", false, "also undo later changes by others, and tasks that other tasks build on")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "only list the changes")
	f.BoolVar(&o.yes, "yes", false, "change the files without asking")
	return c
}

func runRollback(ctx context.Context, o rollbackOptions, std Stdio) error {
	var args []string
	if o.plan != "" {
		args = []string{o.plan}
	}
	if err := checkLoopOf(ctx, args); err != nil {
		return err
	}
	past, err := findRunWithPlan(args, std)
	if err != nil {
		return err
	}
	s := past.State
	b := rollback{opts: o, std: std, s: s, events: past.Events}
	if err := b.resolveTarget(); err != nil {
		return err
	}
	if s.Config.Isolation == event.Isolated {
		return usererr.Blocked(fmt.Errorf("nothing was changed: %s", b.waysBack(ctx)))
	}
	lock, err := runlog.Lock(s.Config.Loop, s.Config.Run)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	return b.run(ctx)
}

// rollback holds one rollback.
type rollback struct {
	opts   rollbackOptions
	std    Stdio
	s      *scheduler.State
	events []event.Event

	target       gitwork.Target
	tasks        []string // tasks to undo, in plan order
	descendants  []string // completed tasks that depend on an undone task
	irreversible []string // those with effects beyond files
}

// waysBack tells the commands that undo the delivery of a run in worktrees.
func (b *rollback) waysBack(ctx context.Context) string {
	run := b.s.Config.Run
	var forward, elsewhere string
	for _, d := range report.LastRun(b.events).Deliveries {
		switch {
		case d.Failed:
		case d.How == "ff":
			forward = b.offTheBranch(ctx, d.Commit)
		case d.How == "push":
			remote := strings.TrimSuffix(d.Ref, "/wavex/"+run)
			elsewhere = fmt.Sprintf("\nto remove the pushed branch: git push %s --delete wavex/%s", plan.ShellQuote(remote), run)
		case d.How == "pr":
			elsewhere = "\nto close its pull request: gh pr close --delete-branch " + plan.ShellQuote(d.Ref)
		}
	}
	if forward+elsewhere == "" {
		return fmt.Sprintf("run %s has not moved your branch; its work is on wavex/%s", run, run)
	}
	return fmt.Sprintf("run %s worked in worktrees, and its delivery is yours to undo", run) + forward + elsewhere
}

// offTheBranch tells the commands that take the work of a run, up to the commit tip, off the user's branch, or "" if it
// is not there. Only a branch that ends with it can be set back without a loss.
func (b *rollback) offTheBranch(ctx context.Context, tip string) (ways string) {
	git, base := gitwork.NewGit(ctx, b.s.Config.Dir, os.Environ()), b.s.Config.Base
	if _, err := git.Output(ctx, "", "merge-base", "--is-ancestor", tip, "HEAD"); err != nil {
		return ""
	}
	if head, err := git.Output(ctx, "", "rev-parse", "HEAD"); err == nil && head == tip {
		ways = fmt.Sprintf("\nto take its commits off your branch: git reset --keep %.12s", base)
	}
	return ways + fmt.Sprintf("\nto undo them by new commits, after a push or other commits: "+
		"git revert --no-edit %.12s..%.12s", base, tip)
}

// resolveTarget resolves the argument. The id of a task or a list takes precedence over the words wave-N and run.
func (b *rollback) resolveTarget() error {
	s := b.s
	if s.Config.Isolation == event.Isolated && b.opts.target != "run" {
		return usage("run %s worked in worktrees: `wavex rollback run` tells how to undo its delivery, and each task's work "+
			"is a commit; see: git for-each-ref refs/wavex/%s", s.Config.Run, s.Config.Run)
	}
	i, isTask := s.Plan.Lookup(b.opts.target)
	group := s.Plan.Group(b.opts.target)
	wave, isWave := strings.CutPrefix(b.opts.target, "wave-")
	undone := func(j int) bool { return s.Tasks[j].Wave >= b.target.Wave }
	switch {
	case group != nil, isTask && s.Plan.Tasks[i].Group != "":
		return usage("a list is rolled back with its wave: wavex rollback wave-N; `wavex check` names the waves")
	case isTask:
		b.target.Task = s.Plan.Tasks[i].ID
		undone = func(j int) bool { return j == i }
	case b.opts.target == "run":
		b.target.Wave = 1
	case isWave:
		n, err := strconv.Atoi(wave)
		if err != nil || n < 1 || n > s.Waves {
			return usage("there is no wave %s; the plan has waves 1 to %d", wave, s.Waves)
		}
		b.target.Wave = n
	default:
		return usage("%q is no task of %s, no wave-N, and not run", b.opts.target, s.Plan.Path)
	}
	for j := range s.Tasks {
		t := &s.Plan.Tasks[j]
		if !undone(j) || s.Tasks[j].Attempts == 0 {
			continue
		}
		b.tasks = append(b.tasks, t.ID)
		if t.Reversibility == "1" {
			b.irreversible = append(b.irreversible, t.ID)
		}
	}
	if isTask {
		for _, j := range s.Plan.Graph.Descendants(i) {
			if s.Tasks[j].Status == event.Completed && !undone(int(j)) {
				b.descendants = append(b.descendants, s.Plan.Tasks[j].ID)
			}
		}
		b.target.Exclude = b.otherTasksPaths(undone)
	}
	if dir := s.Config.Track; dir != "" {
		// The tracking folder describes the run, and a rollback adds a note to it.
		b.target.Exclude = append(b.target.Exclude, dir)
	}
	return nil
}

// otherTasksPaths returns the paths, in git's form, that other tasks declare to write and the undone ones do not.
func (b *rollback) otherTasksPaths(undone func(task int) bool) []string {
	own := map[string]bool{}
	for i := range b.s.Plan.Tasks {
		for _, f := range b.s.Plan.Tasks[i].Files {
			if undone(i) {
				own[b.filePath(i, f.Path)] = true
			}
		}
	}
	var out []string
	for j := range b.s.Plan.Tasks {
		for _, f := range b.s.Plan.Tasks[j].Files {
			if path := b.filePath(j, f.Path); !undone(j) && f.Writes() && !own[path] {
				out = append(out, path)
			}
		}
	}
	return out
}

// warn prints a warning.
func (b *rollback) warn(err error) { fmt.Fprintln(b.std.Err, "wavex: warning:", err) }

// filePath returns the absolute path of a file that a task declares.
func (b *rollback) filePath(i int, file string) string {
	return filepath.Join(b.s.Plan.Tasks[i].WorkDir(b.s.Config.Dir), filepath.FromSlash(file))
}

func (b *rollback) run(ctx context.Context) error {
	if err := gitwork.CheckPrograms(gitwork.Options{Project: b.s.Config.Dir, Loop: b.s.Config.Loop, Run: b.s.Config.Run,
		Warn: b.warn}); err != nil {
		return usererr.Blocked(err)
	}
	points, err := gitwork.OpenCheckpoints(ctx, b.s.Config.Dir, b.s.Config.Run, os.Environ())
	if err != nil {
		return usererr.Blocked(fmt.Errorf(
			"%w: wavex keeps copies of files in git only, and can undo nothing of this run", err))
	}
	points.Own = b.s.Config.Outputs
	if b.target.Exclude, err = points.RelativePaths(b.target.Exclude); err != nil {
		return err
	}
	found, err := points.PlanRollback(ctx, b.target)
	if errors.Is(err, gitwork.ErrNoCheckpoint) {
		return usage(
			"there is no checkpoint of %s; in a git checkout, wavex makes one before the run (if it adds at most 64 MB), before each task with reversibility 2B or 1, and before the waves of a plan with such tasks", b.opts.target)
	}
	if err != nil {
		return usererr.Blocked(err)
	}
	b.printChanges(found)
	if err := b.checkConflicts(found); err != nil || !b.confirm(ctx) {
		return err
	}
	if err := points.Restore(ctx, found); err != nil {
		return usererr.Blocked(err)
	}
	a := runlog.Appender{State: b.s, Events: b.events}
	if err := a.Append(b.std.Err, func() event.Body {
		return event.RolledBack{What: b.opts.target, Tasks: b.tasks, From: found.Commit, Undo: found.Undo,
			Paths: len(found.Changes), Forced: b.opts.force}
	}, func() event.Body { return scheduler.EndAfterRollback(b.s, b.opts.target) }); err != nil {
		return err
	}
	if err := points.Delete(ctx, b.tasks, b.target.Wave); err != nil {
		return usererr.Blocked(err)
	}
	fmt.Fprintf(b.std.Out, "rolled back %s: %s; what was there is kept at %s\n", b.opts.target,
		report.Plural(len(found.Changes), "path", "paths"), found.Undo)
	fmt.Fprintf(b.std.Out, "pending again: %s; do it again with: %s\n", event.ListTasks(b.tasks, 0), b.s.Ended.Resume)
	return nil
}

// printChanges prints the changes, one per path.
func (b *rollback) printChanges(found *gitwork.Rollback) {
	out := b.std.Out
	for _, c := range found.Changes {
		note := ""
		if slices.Contains(found.ChangedByOthers, c.Path) && found.Unknown == "" {
			note = "  (changed since by somebody else)"
		}
		fmt.Fprintf(out, "%-10s %s%s\n", c.Action, textfmt.Line(c.Path), note)
	}
	for _, path := range found.Skipped {
		fmt.Fprintf(out, "%-10s %s  (declared by another task, a note about the run, or a repository of its own)\n", "leave",
			textfmt.Line(path))
	}
	if len(found.Changes) == 0 {
		fmt.Fprintln(out, "no file differs from the checkpoint")
	}
	if len(b.irreversible) > 0 {
		fmt.Fprintf(out, "reversibility 1: what %s did elsewhere than in files stays\n", event.ListTasks(b.irreversible, 0))
	}
}

// confirm reports whether to make the changes that were listed. It asks at a terminal.
func (b *rollback) confirm(ctx context.Context) bool {
	switch {
	case b.opts.dryRun:
		return false
	case b.opts.yes || !canPrompt(b.std):
		return true
	}
	return newPrompter(b.std).promptNoYes(ctx, "Make these changes?")
}

// checkConflicts returns an error if the rollback would lose other work.
func (b *rollback) checkConflicts(found *gitwork.Rollback) error {
	if b.opts.force {
		return nil
	}
	var why []string
	if len(b.descendants) > 0 {
		why = append(why, "completed tasks build on it: "+event.ListTasks(b.descendants, 0))
	}
	switch n := len(found.ChangedByOthers); {
	case n == 0:
	case found.Unknown != "":
		why = append(why, found.Unknown)
	default:
		why = append(why, report.Plural(n, "path was", "paths were")+" changed by somebody else since")
	}
	if why == nil {
		return nil
	}
	return usererr.Blocked(fmt.Errorf("nothing was changed: %s; --force goes on (what is there is kept below refs/wavex)",
		strings.Join(why, "; ")))
}
