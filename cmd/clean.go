package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/run"
	"wavex/internal/runlog"
	"wavex/internal/usererr"
)

type cleanOptions struct {
	run     string // "": all
	yes     bool
	project string
	output  string
}

func newClean(std Stdio) *cobra.Command {
	var o cleanOptions
	c := &cobra.Command{
		Use:   "clean",
		Short: "Remove the worktrees and branches of past runs",
		Long: `clean lists what runs have left, also in a .loop that --fresh moved aside:
worktrees, branches, temporary folders, git bundles, and the refs of attempts on
workers at the git remote; then, with --yes or when a person at a terminal
agrees, it removes them. It skips runs under way.
Nothing is lost: the content of a worktree is saved below refs/wavex first, a
branch wavex/RUN stays until its work is in another branch, and bundles stay
with it, or until the repository has their commits. Without its bundles a run
cannot go on in another clone.

Exit status: 0 listed or removed, 2 there is no such run, 5 something could not
be removed.`,
		Example: "  wavex clean\n  wavex clean --run 20260314-091500-k3fd --yes",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runClean(c.Context(), o, std) },
	}
	c.Flags().StringVar(&o.run, "run", "", "only this run")
	c.Flags().BoolVar(&o.yes, "yes", false, "remove without asking")
	projectFlag(c, &o.project)
	outputFlag(c, &o.output)
	return c
}

func runClean(ctx context.Context, o cleanOptions, std Stdio) error {
	dir, err := projectAt(o.project)
	if err != nil {
		return err
	}
	places, err := checkPlaces(ctx, loop.In(dir))
	if err != nil {
		return err
	}
	if o.run != "" && !slices.ContainsFunc(places, func(in loop.Dir) bool { return gitwork.Exists(in, o.run) }) {
		return usage("there is no run %s in %s", o.run, loop.In(dir))
	}
	std.tellPlace(dir)
	_ = proc.Subreaper() // lets wavex find git's helper processes sooner
	items, err := cleanPlaces(ctx, dir, places, o.run, true)
	if err != nil {
		return usererr.Blocked(err)
	}
	removable := 0
	refs, notReached := remoteItems(ctx, std.Fleet, dir, o.run, true)
	items = append(items, refs...)
	for _, it := range items {
		if it.Removed {
			removable++
		}
	}
	yes, stuck := o.yes, error(nil)
	if o.output == "text" && !o.yes {
		printItems(std, items, "would remove")
		if removable > 0 && canPrompt(std) {
			yes = newPrompter(std).promptNoYes(ctx, fmt.Sprintf("Remove %d of these?", removable))
		} else if removable > 0 {
			fmt.Fprintln(std.Err, "wavex: nothing was removed; to remove it: wavex clean --yes")
		}
	}
	if yes && removable > 0 {
		listed := items
		if items, err = cleanPlaces(ctx, dir, places, o.run, false); err != nil {
			return usererr.Blocked(err)
		}
		stuck = notRemoved(listed, items)
		refs, notReached = remoteItems(ctx, std.Fleet, dir, o.run, false)
		items = append(items, refs...)
		if o.output == "text" {
			printItems(std, items, "removed")
		}
	}
	switch {
	case o.output == "json":
		err = json.NewEncoder(std.Out).Encode(append([]gitwork.CleanupItem{}, items...)) // [], not null
	case len(items) == 0:
		fmt.Fprintln(std.Out, "nothing to clean")
	}
	if wrong := errors.Join(stuck, notReached); wrong != nil { // the rest was listed or removed
		return usererr.Blocked(wrong)
	}
	return err
}

// cleanPlaces is gitwork.CleanIn for several directories.
func cleanPlaces(ctx context.Context, project string, places []loop.Dir, run string,
	dry bool) (items []gitwork.CleanupItem, err error) {
	for _, in := range places {
		found, wrong := gitwork.CleanIn(ctx, project, in, run, dry)
		items, err = append(items, found...), errors.Join(err, wrong)
	}
	return items, err
}

// notRemoved returns an error about the items that were listed for removal and stay, or nil.
func notRemoved(listed, items []gitwork.CleanupItem) error {
	due := map[string]bool{}
	for _, it := range listed {
		due[it.Name] = it.Removed
	}
	var errs []error
	for _, it := range items {
		if due[it.Name] && !it.Removed {
			errs = append(errs, fmt.Errorf("not removed: %s %s: %s", it.Kind, it.Name, it.Why))
		}
	}
	return errors.Join(errs...)
}

// remoteItems lists the refs of a run, or of all runs, on the git remotes of their workers, and removes them unless dry
// is set. It skips runs under way. The refs of an unfinished run stay, since a resume may need them, unless the run is
// named. The error is about the remotes that could not be asked.
func remoteItems(ctx context.Context, fleet Fleet, dir, of string, dry bool) (items []gitwork.CleanupItem, err error) {
	events, err := runlog.Read(loop.In(dir))
	if err != nil {
		return nil, err
	}
	var errs []error
	last := runlog.Last(events)
	seen := map[[2]string]bool{} // a resume may have another remote
	for _, e := range events {
		b := e.Beginning()
		if b == nil || b.Config.Workers.Engine == "" || of != "" && b.Config.Run != of {
			continue
		}
		c := b.Config
		place := [2]string{c.Run, remoteName(c)}
		if seen[place] {
			continue
		}
		seen[place] = true
		if of == "" && last.Config.Run == c.Run && !last.Final() {
			continue
		}
		if fleet == nil {
			items = append(items, gitwork.CleanupItem{Kind: "refs", Run: c.Run, Name: "below refs/wavex of " + remoteName(c),
				Why: run.ErrNoFleet.Error()})
			continue
		}
		n, err := remoteRefs(ctx, fleet, dir, c, dry)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", c.Run, err))
		} else if n > 0 {
			items = append(items, gitwork.CleanupItem{Kind: "refs", Run: c.Run, Removed: true,
				Name: fmt.Sprintf("%d below refs/wavex of %s", n, remoteName(c))})
		}
	}
	return items, errors.Join(errs...)
}

// remoteRefs returns the number of refs of a run on the git remote of its workers, and removes them unless dry is set.
// It returns 0 if the run is under way.
func remoteRefs(ctx context.Context, fleet Fleet, dir string, c event.Config, dry bool) (n int, err error) {
	unlock, err := gitwork.Lock(loop.In(dir), c.Run)
	if unlock == nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return fleet.Clean(ctx, dir, c, dry)
}

// printItems prints the items, one per line.
func printItems(std Stdio, items []gitwork.CleanupItem, removed string) {
	for _, it := range items {
		line := fmt.Sprintf("%s %s %s", removed, it.Kind, it.Name)
		if !it.Removed {
			line = fmt.Sprintf("stays: %s %s (%s)", it.Kind, it.Name, it.Why)
		} else if it.Commit != "" {
			line += fmt.Sprintf(" (%.10s is kept by %s)", it.Commit, it.Kept)
		}
		fmt.Fprintln(std.Out, line)
	}
}
