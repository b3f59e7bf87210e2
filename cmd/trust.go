package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/filetree"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/textfmt"
	"wavex/internal/userdata"
	"wavex/internal/usererr"
)

// This file asks before a plan from outside the repository is run. The current directory says what the
// user works on. The plan's defaults.dir does not: its author may be a stranger.

// checkTrust refuses a plan from outside, unless the user trusts its folder. A plan that a run in a known
// place has was agreed to when the run started. Jobs of CI name their plans themselves, and the user's task
// lists are the user's.
func (r *invocation) checkTrust(ctx context.Context) error {
	if r.opts.trust || inCI() || isUserList(r.plan.Path) {
		return nil
	}
	here, err := outside(r.plan, r.agreed)
	if err != nil || here == "" {
		return err
	}
	path, top := textfmt.Line(r.plan.Path), textfmt.Line(repositoryOf(here))
	folder := filepath.Dir(realPath(r.plan.AbsPath()))
	if r.opts.yes || r.opts.output != "text" || !canPrompt(r.std) || planfile.CheckReopenable(r.plan.Path) != nil {
		return untrusted(r.plan.Path, here)
	}
	printCommands(r.std.Err, r.plan.Commands())
	question := "Trust all plans in %s from now on?"
	if isShared(folder) {
		question = "Everyone can write to %s. Run the plan?"
	}
	if !r.terminalPrompter().promptNoYes(ctx, fmt.Sprintf("%s is outside %s, and its commands and agents act as you. "+
		question, path, top, textfmt.Line(folder))) {
		return usage("nothing was started; --trust takes the plan once")
	}
	if isShared(folder) {
		return nil
	}
	if err := userdata.Trusted().Add(folder); err != nil && userdata.Dir() != "" {
		return usererr.Blocked(fmt.Errorf("remembering the folder: %w; --trust takes the plan once", err))
	}
	return nil
}

// outside returns the current directory if a plan is from outside its repository and in no folder that the user
// trusts, else "". agreed is as in invocation.
func outside(p *plan.Plan, agreed string) (here string, err error) {
	if here, err = os.Getwd(); err != nil {
		return "", err
	}
	here = realPath(here)
	places := []string{filepath.Dir(realPath(p.AbsPath()))}
	if agreed != "" {
		places = append(places, realPath(agreed))
	}
	if slices.ContainsFunc(places, func(dir string) bool { return isOwn(dir, here) }) {
		return "", nil
	}
	trusted, err := userdata.Trusted().All()
	if err != nil {
		return "", usererr.Blocked(fmt.Errorf("reading the folders of trusted plans: %w", err))
	}
	if slices.ContainsFunc(places, func(dir string) bool { return slices.Contains(trusted, dir) && !isShared(dir) }) {
		return "", nil
	}
	return here, nil
}

func untrusted(path, here string) error {
	return usage("%s is outside %s, and its commands and agents act as you; "+
		"look at them with: wavex check %s; then add --trust", textfmt.Line(path),
		textfmt.Line(repositoryOf(here)), textfmt.Line(plan.ShellQuote(path)))
}

// isOwn reports whether the user who works in here needs no question about plans in folder: folder is in the
// repository of here (or in here, without a repository), or contains here, as for ../plan.json beside a clone. In
// a folder that all users share, such as /tmp, the plan may be of another user. All paths are without links.
func isOwn(folder, here string) bool {
	if isBelow(folder, repositoryOf(here)) {
		return true
	}
	return !isShared(folder) && isBelow(here, folder)
}

// isShared reports whether all users share a folder, or it cannot be read.
func isShared(folder string) bool {
	info, err := os.Stat(folder)
	return err != nil || info.Mode()&fs.ModeSticky != 0
}

// isBelow reports whether path is dir or in it.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// repositoryOf returns the top of the repository that contains dir, or dir if there is none. A shared folder does not
// count, because any user may have made a repository there.
func repositoryOf(dir string) string {
	for top := dir; ; top = filepath.Dir(top) {
		if filetree.IsRepository(filepath.Join(top, ".git")) && !isShared(top) {
			return top
		}
		if top == filepath.Dir(top) {
			return dir
		}
	}
}

// realPath returns path without links, or path itself if it cannot be resolved, as that of a pipe.
func realPath(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
