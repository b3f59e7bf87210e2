// Package wall starts programs behind bubblewrap (bwrap), which binds the paths that a program must not write read-only
// for the program and all its descendants. All else is as without it, but for programs with rights of another user. It
// knows neither agents nor attempts.
//
// docs/containment.md lists the limits.
package wall

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Wall wraps programs in bwrap. It does not change, and its methods are safe for concurrent use.
type Wall struct {
	bwrap string // absolute
}

// ErrMissing means that bubblewrap is not installed.
var ErrMissing = errors.New("bubblewrap (bwrap) is not installed")

// maxBinds bounds the paths that one program gets. bwrap reads the list of all mounts for each: 100 take 0.03 s, 1000
// 3 s on a busy machine (measured with bubblewrap 0.8.0).
const maxBinds = 100

// Wrapper returns the proc.Spec.Wrapper that closes absolute paths to a program, with all that is below them. A path
// that does not exist is left out, and so are those after the first 100.
func (w *Wall) Wrapper(closed []string) []string {
	if w == nil {
		return nil
	}
	var binds []string
	for _, p := range closed {
		if p, err := filepath.EvalSymlinks(p); err == nil {
			binds = append(binds, p)
		}
	}
	binds = binds[:min(len(binds), maxBinds)]
	slices.SortFunc(binds, func(a, b string) int { // a folder right before its entries
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	args := w.args()
	last := ""
	for _, p := range binds {
		if p == last || isBelow(p, last) {
			continue
		}
		args = append(args, "--ro-bind-try", p, p) // "try": it may go meanwhile
		last = p
	}
	return append(args, "--cap-drop", "ALL")
}

// args returns bwrap with the options that leave all as it is.
func (w *Wall) args() []string {
	return []string{w.bwrap, "--die-with-parent", "--unshare-user", "--dev-bind", "/", "/", "--proc", "/proc"}
}

// isBelow reports whether path is in the directory dir, at any depth.
func isBelow(path, dir string) bool {
	return dir != "" && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Except returns what closes the directory dir but for the path open: dir itself if open is not below it, else the
// other entries of the directories between the two. Both are absolute.
func Except(dir, open string) []string {
	dir, derr := filepath.EvalSymlinks(dir)
	open, err := filepath.EvalSymlinks(open)
	switch {
	case derr != nil:
		return nil
	case err != nil || !isBelow(open, dir):
		return []string{dir}
	}
	var out []string
	list, _ := os.ReadDir(dir) // what cannot be read is not known by name either
	for _, e := range list {
		if at := filepath.Join(dir, e.Name()); at != open && e.Type()&fs.ModeSymlink == 0 {
			out = append(out, Except(at, open)...)
		}
	}
	return out
}
