// Package userfiles knows the user's files that outlive a run, because later sessions of other programs obey them:
// settings of git, of the CLI, of shells and of package managers, and programs on PATH. It lists them for a wall, and
// compares them and puts them back where one does not hold. It knows no attempt.
package userfiles

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

//go:embed paths.txt
var list string

// Paths returns the absolute paths of the files and folders that exist, and the folders on PATH, for programs with an
// environment. What belongs to the project directory, or contains it, is work, and left out.
func Paths(env []string, project string) []string {
	return slices.DeleteFunc(present(append(listed(env, true), programs(env, "/")...), project), func(path string) bool {
		st, err := os.Stat(path)
		return err != nil || !st.IsDir() && !st.Mode().IsRegular() || isWork(path, project)
	})
}

// listed returns the list as absolute patterns of filepath.Glob. Without all it leaves out those that are not compared.
func listed(env []string, all bool) (out []string) {
	home := homeOf(env)
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || !all && strings.HasSuffix(line, "/") {
			continue
		}
		if rest, is := strings.CutPrefix(line, "${"); is {
			name, rest, _ := strings.Cut(rest, "}")
			name, line, _ = strings.Cut(name, ":-")
			out, line = append(out, quoted(proc.Getenv(env, name))+rest), line+rest
		}
		if rest, is := strings.CutPrefix(line, "~"); is {
			line = quoted(home) + rest
		}
		out = append(out, line)
	}
	for i := range out {
		out[i] = filepath.FromSlash(strings.TrimSuffix(out[i], "/"))
	}
	return slices.DeleteFunc(out, func(path string) bool { return !filepath.IsAbs(path) })
}

// programs returns the folders on PATH that are in a directory, as patterns of filepath.Glob.
func programs(env []string, in string) (out []string) {
	for _, dir := range filepath.SplitList(proc.Getenv(env, "PATH")) {
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && dir != in && (in == "/" || isIn(dir, in)) {
			out = append(out, quoted(dir))
		}
	}
	return out
}

// present returns the existing paths of patterns that are not in the project directory.
func present(patterns []string, project string) (out []string) {
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // the list has no wrong pattern
		out = append(out, matches...)
	}
	out = slices.DeleteFunc(out, func(path string) bool { return isIn(path, project) })
	slices.Sort(out)
	return slices.Compact(out)
}

// isWork reports whether a path leads into the project directory, or to one that contains it.
func isWork(path, project string) bool {
	return isIn(resolved(path), resolved(project)) || isIn(resolved(project), resolved(path))
}

// quoted returns a path as a pattern of filepath.Glob.
func quoted(path string) string {
	if runtime.GOOS == "windows" {
		return path // it has no quotes
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func homeOf(env []string) string {
	return cmp.Or(proc.Getenv(env, "HOME"), proc.Getenv(env, "USERPROFILE"))
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
