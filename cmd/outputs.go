package cmd

import (
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/loop"
)

// This file finds the files that wavex itself writes into the project. They are not work of the tasks.

// maxSearched is the number of directory entries that are searched for the files that streams go to.
const maxSearched = 20_000

// outputs returns the outputs of the run: those of earlier sessions, and the reports and the redirected output of
// this one.
func (r *invocation) outputs() []string {
	out := slices.Clone(r.config.Outputs)
	for _, f := range r.reports {
		out = append(out, f.path)
	}
	out = append(out, redirected(r.config.Dir, r.std.Out, r.std.Err)...)
	slices.Sort(out)
	return slices.Compact(out)
}

// redirected returns the files below dir that streams go to. It searches directories near dir first.
func redirected(dir string, streams ...any) (paths []string) {
	var open []os.FileInfo
	for _, s := range streams {
		f, ok := s.(*os.File)
		if !ok {
			continue
		}
		st, err := f.Stat()
		if err == nil && st.Mode().IsRegular() && !containsFile(open, st) {
			open = append(open, st)
		}
	}
	dirs := []string{dir}
	for n := 0; len(paths) < len(open) && len(dirs) > 0 && n < maxSearched; dirs = dirs[1:] {
		entries, err := os.ReadDir(dirs[0])
		if err != nil {
			continue // unreadable, or removed meanwhile
		}
		n += len(entries)
		for _, e := range entries {
			path := filepath.Join(dirs[0], e.Name())
			if e.IsDir() && e.Name() != ".git" && e.Name() != loop.Name {
				dirs = append(dirs, path)
			}
			if !e.Type().IsRegular() {
				continue
			}
			if st, err := e.Info(); err == nil && containsFile(open, st) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func containsFile(list []os.FileInfo, st os.FileInfo) bool {
	return slices.ContainsFunc(list, func(one os.FileInfo) bool { return os.SameFile(one, st) })
}
