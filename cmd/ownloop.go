package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/safefile"
)

// This file refuses a .loop that others have made: a repository that was cloned may have brought it. Its links may lead
// to any directory, and its records may name any work.

// checkLoop returns an error if a file of a .loop directory is a link, or if git tracks one other than the user's
// experts and .gitignore. Every command that writes there calls it before it reads.
func checkLoop(ctx context.Context, in loop.Dir) error {
	if err := safefile.CheckTree(string(in)); errors.Is(err, safefile.ErrLink) {
		return usage("%s", err) // no work has been paid for yet, so this is a usage error
	} else if err != nil {
		return err
	}
	if _, err := os.Lstat(string(in)); err != nil {
		return nil // there is none yet
	}
	const most = 4 << 10 // bytes: one path
	project, name := filepath.Split(string(in))
	tracked, err := gitwork.Read(ctx, filepath.Clean(project), nil, most, "ls-files", "-z", "--", ":(literal)"+name,
		":(exclude,glob)"+name+"/"+loop.Gitignore, ":(exclude,glob)"+name+"/"+loop.Experts+"/*.md")
	path, _, _ := strings.Cut(tracked, "\x00")
	if err != nil || path == "" { // without a repository, or without git, it tracks nothing
		return nil
	}
	return usage("git tracks %s, and wavex uses only a %s that it has made itself: take it out of the repository with "+
		"git rm -r --cached %s, and remove it unless it is yours", filepath.Join(project, path), loop.Name, name)
}

// readPast calls checkLoop and then runlog.Read, for a command that writes. If fresh is true, it reads nothing: a fresh
// start must work with a journal that cannot be read.
func readPast(ctx context.Context, in loop.Dir, fresh bool) ([]event.Event, error) {
	if err := checkLoop(ctx, in); err != nil || fresh {
		return nil, err
	}
	return runlog.Read(in)
}

// checkPlaces is checkLoop for the .loop of a project and its backups, which it returns.
func checkPlaces(ctx context.Context, in loop.Dir) ([]loop.Dir, error) {
	places := append([]loop.Dir{in}, runlog.Backups(in)...)
	for _, p := range places {
		if err := checkLoop(ctx, p); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// checkLoopOf is checkLoop for the directory that the arguments of a command name, see findRun.
func checkLoopOf(ctx context.Context, args []string) error {
	_, args = splitRunID(args)
	in, _, err := findLoopDirLenient(args)
	if err != nil {
		return nil // the command reports it
	}
	return checkLoop(ctx, in)
}
