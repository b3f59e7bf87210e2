// Package wall starts programs behind bubblewrap (bwrap), which binds the paths that a program must not write read-only
// for the program and all its descendants. All else is as without it, but for programs with rights of another user. It
// knows neither agents nor attempts.
//
// docs/containment.md lists the limits.
package wall

import (
	"errors"
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
// that does not exist is left out, and so are those after the first 100. The directory open may be below one of them:
// it stays as it is. Entries of a closed directory are not bound one by one, because wavex replaces some of them,
// and bwrap does not start if the source of a bind is replaced meanwhile (0.8.0).
func (w *Wall) Wrapper(closed []string, open string) []string {
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
	open, err := filepath.EvalSymlinks(open)
	if err == nil && slices.ContainsFunc(binds, func(p string) bool { return isBelow(open, p) }) {
		binds = append(binds, open)
	}
	slices.SortFunc(binds, func(a, b string) int { // a folder right before its entries
		return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	})
	args := w.args()
	last := ""
	for _, p := range binds {
		if p == open && isBelow(p, last) {
			args = append(args, "--bind", p, p)
			last = ""
			continue
		}
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
