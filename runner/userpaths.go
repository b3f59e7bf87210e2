package runner

// This file lists the user's files that outlive a run, because later sessions of other programs obey them:
// settings of git, of the CLI, of shells and of package managers. A wall closes them.

import (
	"cmp"
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"wavex/internal/proc"
)

//go:embed userpaths.txt
var userPaths string

// toldOnly begins a line of the list, and a pattern, whose files are not put back.
const toldOnly = "?"

// UserPaths returns the absolute paths of the files and folders of the list that exist, for programs with an
// environment. Those that lead into the project directory, or to one that contains it, are work, and left out.
func UserPaths(env []string, project string) (out []string) {
	for _, pattern := range userPatterns(env) {
		matches, _ := filepath.Glob(strings.TrimPrefix(pattern, toldOnly)) // the list has no wrong pattern
		out = append(out, matches...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(path string) bool {
		st, err := os.Stat(path)
		return err != nil || !st.IsDir() && !st.Mode().IsRegular() || isWork(path, project)
	})
}

// userPatterns returns the list as absolute patterns of filepath.Glob, some after toldOnly. Lines of an unset variable
// are left out.
func userPatterns(env []string) (out []string) {
	home, mark := homeOf(env), ""
	add := func(dir, rest string) {
		if path := filepath.Join(quoted(dir), filepath.FromSlash(rest)); filepath.IsAbs(dir) {
			out = append(out, mark+path)
		}
	}
	for line := range strings.Lines(userPaths) {
		line = strings.TrimSpace(line)
		if mark = ""; strings.HasPrefix(line, toldOnly) {
			mark, line = toldOnly, line[len(toldOnly):]
		}
		if name, rest, is := strings.Cut(strings.TrimPrefix(line, "${"), "}"); is {
			name, line, _ = strings.Cut(name, ":-")
			add(proc.Getenv(env, name), rest)
			line += rest
		}
		switch {
		case strings.HasPrefix(line, "~"):
			add(home, line[1:])
		case strings.HasPrefix(line, "/"):
			add("/", line)
		}
	}
	return out
}

// isWork reports whether a path leads into the project directory, or to one that contains it.
func isWork(path, project string) bool {
	path, project = resolved(path), resolved(project)
	return isIn(path, project) || isIn(project, path)
}

func homeOf(env []string) string {
	return cmp.Or(proc.Getenv(env, "HOME"), proc.Getenv(env, "USERPROFILE"))
}

// quoted returns a path as a pattern of filepath.Glob, which has no quotes on Windows.
func quoted(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// isIn reports whether a path is a directory or in it.
func isIn(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}

// resolved returns a path without links, or as it is.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
