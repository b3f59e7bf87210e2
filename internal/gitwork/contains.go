package gitwork

import "context"

// Contains reports whether HEAD of the checkout in a project directory has the work of a commit: it descends
// from the commit, or a merge of the commit would change nothing, as after a rebase or a squash. It returns
// false for an unknown commit and outside of a checkout. The error is the cause of ctx's end, or git cannot be
// run.
func Contains(ctx context.Context, project, commit string, env []string) (bool, error) {
	g := newGit(project, env)
	err := g.run(ctx, "merge-base", "--is-ancestor", commit, "HEAD")
	if code := exitCode(err); code <= 0 {
		return err == nil, err
	}
	return g.mergesToNothing(ctx, "HEAD", commit)
}

// mergesToNothing reports whether a merge of a commit into head would change nothing.
func (g git) mergesToNothing(ctx context.Context, head, commit string) (bool, error) {
	merged, err := g.output(ctx, "merge-tree", "--write-tree", head, commit)
	if code := exitCode(err); code != 0 {
		return false, ignoreFailure(err) // a conflict, or a git that is too old
	}
	tree, err := g.output(ctx, "rev-parse", head+"^{tree}")
	return err == nil && tree == merged, err
}

// ignoreFailure returns an error other than that of a git command that failed.
func ignoreFailure(err error) error {
	if exitCode(err) > 0 {
		return nil
	}
	return err
}

// Follows reports whether the repository of a project directory has a commit that descends from HEAD. The error is
// the cause of ctx's end, or git cannot be run.
func Follows(ctx context.Context, project, commit string, env []string) (bool, error) {
	err := newGit(project, env).run(ctx, "merge-base", "--is-ancestor", "HEAD", commit)
	return err == nil, ignoreFailure(err)
}
