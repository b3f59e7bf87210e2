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

// maxBinds bounds the paths that one program gets. bwrap reads the list of all mounts for each: 100 take 0.1 s, 1000
// more than 3 s (measured with bubblewrap 0.8.0).
const maxBinds = 100

// Wrapper returns the proc.Spec.Wrapper that closes paths to a program, with all that is below them. Paths are
// absolute. open lists paths below closed ones that stay as they are. A path that does not exist is left out, and so
// are those after the first 100.
func (w *Wall) Wrapper(closed, open []string) []string {
	if w == nil {
		return nil
	}
	real := func(paths []string) (out []string) {
		for _, p := range paths {
			if p, err := filepath.EvalSymlinks(p); err == nil {
				out = append(out, p)
			}
		}
		return out
	}
	binds := real(closed)
	for _, o := range real(open) {
		binds = except(binds, o)
	}
	slices.SortFunc(binds, func(a, b string) int { // a folder right before its entries
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	args := w.args()
	last, n := "", 0
	for _, p := range binds {
		if p == last || isBelow(p, last) {
			continue
		}
		if n++; n > maxBinds {
			break
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

// except returns the paths with each directory that has open below it replaced by its other entries.
func except(paths []string, open string) []string {
	var out []string
	for _, p := range paths {
		if !isBelow(open, p) {
			out = append(out, p)
			continue
		}
		list, _ := os.ReadDir(p) // what cannot be read cannot be written by name either
		for _, e := range list {
			at := filepath.Join(p, e.Name())
			if at != open && e.Type()&fs.ModeSymlink == 0 {
				out = append(out, except([]string{at}, open)...)
			}
		}
	}
	return out
}
