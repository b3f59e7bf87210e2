package gitwork

import (
	"context"
	"os"
	"strings"
	"time"
)

// This file measures how long the checkout of a worktree takes on this machine.

const (
	measuredFrom = 2000             // files; the checkout of fewer takes no time worth telling
	sampleFiles  = 200              // files that are written to measure
	slowCheckout = 10 * time.Second // from here on advice is given
)

// MeasureCheckout estimates the time of a checkout of the repository that a project is in: it writes some of its
// files, evenly chosen, into a temporary folder of the repository. Filters of git run on them. It returns 0 for a small
// repository, and if the files cannot be written.
func MeasureCheckout(ctx context.Context, project string, env []string) (time.Duration, error) {
	g := newGit(project, env)
	c, err := findCheckout(ctx, g, project)
	if err != nil {
		return 0, err
	}
	g = g.inDir(c.top)
	listed, err := g.output(ctx, "ls-files", "-z", "-t")
	var all []string
	for _, entry := range splitNUL(listed) {
		if tag, path, _ := strings.Cut(entry, " "); tag != "S" { // S: outside of a sparse checkout
			all = append(all, path)
		}
	}
	if err != nil || len(all) < measuredFrom {
		return 0, err
	}
	dir, err := os.MkdirTemp(c.common, "wavex-checkout-")
	if err != nil {
		return 0, nil // the repository is read-only
	}
	defer func() { _ = os.RemoveAll(dir) }() // only named after the measurement, and refilled by none
	var some []string
	for i := range sampleFiles {
		some = append(some, all[i*len(all)/sampleFiles])
	}
	start := time.Now()
	if _, err := g.outputOf(ctx, strings.Join(some, "\x00"), "checkout-index", "-q", "-f", "-z", "--stdin",
		"--prefix="+dir+"/"); err != nil {
		return 0, nil // a path is in conflict, or a filter is missing; a run names such things
	}
	return time.Since(start) * time.Duration(len(all)) / sampleFiles, nil
}

// SlowAdvice says what helps if a checkout takes long, or "" if it does not.
func SlowAdvice(checkout time.Duration) string {
	if checkout < slowCheckout {
		return ""
	}
	return "fewer files by git sparse-checkout, `git config core.untrackedCache true`, `git maintenance start`, " +
		"or as root --trees overlay, which makes one checkout for all"
}
