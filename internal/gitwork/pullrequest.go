package gitwork

import (
	"cmp"
	"context"
	"errors"

	"wavex/internal/proc"
)

// This file opens the pull request of a run.

// openPullRequest pushes the branch and opens a pull request for it.
func (m *Manager) openPullRequest(ctx context.Context, d Delivery) (Delivery, error) {
	c, err := m.readCheckout(ctx)
	if err != nil {
		return d, err
	}
	if err := m.suggestCommand(ctx, &d, c, nil); err != nil {
		return d, err
	}
	remote, err := m.pushBranch(ctx, d)
	if err != nil {
		return d, err
	}
	head := branchName(runBranch(m.opts.Run))
	gh := m.g.withEnv("GH_PROMPT_DISABLED=1")
	gh.program = "gh"
	gh.env = append(gh.env, filterEnv(m.opts.Env, "GH_", "GITHUB_")...)
	if url, err := gh.output(ctx, "pr", "view", head, "--json", "url", "--jq", ".url"); err == nil && url != "" {
		d.How, d.Ref, d.Command = "pr", url, ""
		d.Why = "the pull request was there already and has the new commits"
		return d, nil
	}
	args := []string{"pr", "create", "--head", head, "--title", cmp.Or(m.opts.Title, "wavex run "+m.opts.Run)}
	if m.state.Branch != "" {
		args = append(args, "--base", branchName(m.state.Branch))
	}
	if m.opts.BodyFile != "" {
		args = append(args, "--body-file", m.opts.BodyFile)
	} else {
		args = append(args, "--body", "")
	}
	url, err := gh.output(ctx, args...)
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		return d, &Error{PushFailed, err.Error(), "install gh, or open the pull request by hand: the branch " + head +
			" is pushed to " + remote}
	case exitCode(err) > 0:
		return d, &Error{PushFailed, err.Error(), "the branch " + head + " is pushed to " + remote}
	case err != nil:
		return d, err
	}
	all := splitLines(url)
	d.How, d.Command = "pr", ""
	if len(all) > 0 {
		d.Ref = all[len(all)-1]
	}
	return d, nil
}
