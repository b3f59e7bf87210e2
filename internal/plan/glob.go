package plan

// This file finds the files that match a pattern. It reads no file's content and follows no link.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxGlobbed bounds the names that a pattern is compared with.
const maxGlobbed = 1_000_000

// glob returns the files below a directory that match a pattern, sorted; directories if the pattern ends in a slash.
// The elements of the pattern are those of path.Match, and ** stands for any number of directories. Wildcards do not
// match names that begin with a dot.
func glob(root, pattern string) ([]string, error) {
	dir, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // nothing is buffered
	pattern, dirs := strings.CutSuffix(pattern, "/")
	g := globber{fsys: dir.FS(), dirs: dirs, left: maxGlobbed, found: map[string]bool{}}
	elements := slices.CompactFunc(strings.Split(pattern, "/"), func(a, b string) bool { return a == "**" && b == "**" })
	if err := g.walk(".", elements); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(g.found))
	for file := range g.found {
		out = append(out, file)
	}
	slices.Sort(out)
	return out, nil
}

type globber struct {
	fsys  fs.FS
	dirs  bool // find directories
	left  int  // number of names that may still be compared; a folder counts as one, even if it is empty
	found map[string]bool
}

// walk finds what matches the elements below a directory.
func (g *globber) walk(dir string, elements []string) error {
	first, rest := elements[0], elements[1:]
	if first == "**" && len(rest) > 0 {
		if err := g.walk(dir, rest); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(g.fsys, dir)
	if err != nil {
		return nil // gone meanwhile, or not to be read: nothing there matches
	}
	if g.left -= 1 + len(entries); g.left < 0 {
		return fmt.Errorf("there are more than %d names to look at; begin the pattern with a folder", maxGlobbed)
	}
	for _, e := range entries {
		if !matchName(first, e.Name()) {
			continue
		}
		at := path.Join(dir, e.Name())
		if e.IsDir() == g.dirs && len(rest) == 0 && (g.dirs || e.Type().IsRegular()) {
			g.found[at] = true
		}
		switch {
		case !e.IsDir():
		case first == "**":
			err = g.walk(at, elements)
		case len(rest) > 0:
			err = g.walk(at, rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// matchName reports whether a name matches an element of a pattern.
func matchName(element, name string) bool {
	if name[0] == '.' && element[0] != '.' {
		return false
	}
	ok, err := path.Match(element, name)
	return ok && err == nil // the pattern was checked
}
