package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/runlog"
)

// This file finds the project directory of a command: where .loop is, and where tasks work.

// projectDir returns the project directory for the plan file at path; "" stands for a command that names no plan. It
// looks in the directories of upward. A plan works where it ran last, else in its own directory if that is one of them,
// else in the current directory. projectDir does not know defaults.dir of a plan.
func projectDir(path string) (string, error) {
	dirs, err := upward()
	if err != nil {
		return "", err
	}
	if path != "" {
		return dirOfPlan(path, dirs), nil
	}
	for _, dir := range dirs {
		switch own, err := planfile.Default(dir); {
		case err != nil || hasJournal(dir):
			return dir, nil
		case own != "":
			return dirOfPlan(filepath.Join(dir, own), dirs), nil
		}
	}
	return dirs[0], nil
}

// projectAt returns the value of --project, or that of projectDir without one.
func projectAt(dir string) (string, error) {
	if dir == "" {
		return projectDir("")
	}
	return filepath.Abs(dir)
}

// dirOfPlan returns the project directory for the plan file at path. dirs is the result of upward. A plan above them
// may have run in its own directory as well.
func dirOfPlan(path string, dirs []string) string {
	here := realPath(dirs[0])
	own := folderOf(path, here)
	at := slices.IndexFunc(dirs, func(dir string) bool { return sameFile(dir, own) })
	if at < 0 && isBelow(here, own) && !isShared(own) {
		dirs = append(dirs, own)
	}
	best, newest := dirs[max(at, 0)], time.Time{}
	if !slices.ContainsFunc(dirs, func(dir string) bool { return dir != best && hasJournal(dir) }) {
		return best // saves reading the journal
	}
	for _, dir := range dirs {
		if t := lastRunOf(path, dir); t.After(newest) {
			best, newest = dir, t
		}
	}
	return best
}

// projectOf returns the project directory of a plan: its defaults.dir, relative to its file, else that of projectDir.
func projectOf(p *plan.Plan) (string, error) {
	if p.Defaults.Dir != "" {
		return filepath.Join(filepath.Dir(p.AbsPath()), filepath.FromSlash(p.Defaults.Dir)), nil
	}
	return projectDir(p.Path)
}

// defaultPlan returns the plan file with a default name in the current directory or the nearest one above it in its
// repository, or "". It returns an absolute path if the file is above.
func defaultPlan() (string, error) {
	dirs, err := upward()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if name, err := planfile.Default(dir); err != nil || name != "" {
			if dir != dirs[0] {
				name = filepath.Join(dir, name)
			}
			return name, err
		}
	}
	return "", nil
}

// upward returns the current directory and those above it up to the top of its repository, below the user's home: a
// repository of the home's settings has no projects in it.
func upward() ([]string, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	top := repositoryOf(here)
	if realPath(top) != repositoryOf(realPath(here)) {
		top = here // a link led out of the repository
	}
	home, _ := os.UserHomeDir()
	dirs := []string{here}
	for dir := here; dir != top && !sameFile(filepath.Dir(dir), home); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// hasJournal reports whether a directory has a .loop with a journal.
func hasJournal(dir string) bool {
	_, err := os.Stat(loop.In(dir).Path(loop.Journal))
	return err == nil
}

// lastRunOf returns when the plan at path was last started or resumed in a directory, or the zero time. A damaged
// journal has the runs before the damage.
func lastRunOf(path, dir string) (last time.Time) {
	in := loop.In(dir)
	events, _ := runlog.Read(in)
	for n, e := range events {
		run := runlog.Last(events[n : n+1])
		if run != nil && planfile.SamePath(realPath(run.In(in).Plan), realPath(path)) {
			last = e.Time
		}
	}
	return last
}

// folderOf returns the directory that the plan at path, relative to here, belongs to: a plan in .loop belongs to the
// project, and a link to where it is.
func folderOf(path, here string) string {
	dir := realPath(filepath.Dir(path))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	if filepath.Base(dir) == loop.Name {
		dir = filepath.Dir(dir)
	}
	return dir
}

// sameFile reports whether two paths lead to the same file or directory.
func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// displayPath returns a path as a user would type it in the current directory.
func displayPath(path string) string {
	if here, err := os.Getwd(); err == nil {
		return relativePath(path, here)
	}
	return path
}

// relativePath returns path relative to dir if path is below dir, else path itself.
func relativePath(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// pathFromAnywhere returns the path of a plan, absolute if its project is not the current directory. The path is part
// of advice, which must be right in both.
func pathFromAnywhere(path string) (string, error) {
	dir, err := projectDir(path)
	if err != nil || sameFile(dir, ".") {
		return path, err
	}
	return filepath.Abs(path)
}

// tellPlace says once where a command works, if that is not the current directory.
func (s Stdio) tellPlace(dir string) {
	if s.told == nil || *s.told || dir == "" || sameFile(dir, ".") {
		return
	}
	*s.told = true
	fmt.Fprintln(s.Err, "wavex: working in "+dir)
}
