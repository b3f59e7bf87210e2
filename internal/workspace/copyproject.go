package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/usererr"
)

// This file copies a project, to keep the made-up work of a rehearsal out of the user's directory. Worktrees need no
// copy.

// maxCopy bounds the copy of a project, in bytes.
const maxCopy = 1 << 30

// CopyProject copies the directories, files and links of a project to dir, without .loop and .git, unless dir exists.
// An unfinished copy is made again. A copy of a git checkout is a repository without commits, so that git in it does
// not find the user's. The error is a *usererr.BlockedError if the project is larger than maxCopy.
func CopyProject(ctx context.Context, dir, project string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := dir + loop.PartMark
	if err := safefile.RemoveAll(part); err != nil {
		return err
	}
	left := int64(maxCopy)
	err := safefile.CopyTree(ctx, project, part, func(rel string, d fs.DirEntry) (bool, error) {
		if d.Name() == ".git" || loop.IsName(rel) {
			return true, nil
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			left -= info.Size()
		}
		if left < 0 {
			return false, usererr.Blocked(fmt.Errorf("it is larger than %d MB; rehearse in a clean git checkout, "+
				"whose worktrees need no copy, or give the tasks rehearse blocks", int64(maxCopy)>>20))
		}
		return false, nil
	})
	if err == nil && gitwork.HasRepository(project) {
		err = gitwork.Init(ctx, part, os.Environ())
	}
	if err == nil {
		err = safefile.Rename(part, dir)
	}
	return errors.Join(err, safefile.RemoveAll(part)) // after an error
}
