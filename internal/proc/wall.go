package proc

// This file starts programs behind bubblewrap (bwrap), which binds the paths that a program must not write read-only
// for the program and all its descendants. All else is as without it, but for programs with rights of another user. A
// strict wall is the reverse: a program writes the paths that are opened to it, and nothing else. The package knows
// neither agents nor attempts.
//
// docs/containment.md lists the limits.

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// Wall wraps programs in bwrap. It does not change, and its methods are safe for concurrent use.
type Wall struct {
	bwrap  string // absolute
	strict bool
	open   []string // of a strict wall: more directories that programs may write, without links
	closed []string // closed to every program
}

// ErrNoBwrap means that bubblewrap is not installed.
var ErrNoBwrap = errors.New("bubblewrap (bwrap) is not installed")

// maxBinds bounds the closed paths that one program gets, unless the wall is strict. bwrap reads the list of all mounts
// for each: 100 take 0.03 s, 1000 3 s on a busy machine (measured with bubblewrap 0.8.0).
const maxBinds = 100

// privateTmp is the directory that a strict wall replaces by an empty one for each program.
const privateTmp = "/tmp"

// access says how a program sees a path, and all below it.
type access int

// If a path has several of these, the first one counts.
const (
	readOnly access = iota
	writable
	private // writable, empty, and gone with the program
)

type bind struct {
	path   string
	access access
	fixed  bool // it is bound also where all around it has the same access, so that it cannot be renamed
}

// With returns a copy of the wall that closes more paths to every program. If it is strict, programs may also write the
// directories of open: those to which their links lead now, and only while no link replaces them.
func (w *Wall) With(open, closed []string) *Wall {
	if w == nil {
		return nil
	}
	c := *w
	c.open, c.closed = append(slices.Clone(w.open), resolved(open)...), append(slices.Clone(w.closed), closed...)
	return &c
}

// resolved returns the paths that exist, without links.
func resolved(paths []string) (out []string) {
	for _, p := range paths {
		if p, err := filepath.EvalSymlinks(p); err == nil && filepath.IsAbs(p) {
			out = append(out, p)
		}
	}
	return out
}

// Wrapper returns the proc.Spec.Wrapper that closes absolute paths to a program, with all that is below them. A path
// that does not exist is left out, and so are those after the first 100, unless the wall is strict. The paths of open
// may be below one of them: they stay as they are. A strict wall closes all paths but these, those of With and
// temporary files. Entries of a closed directory are not bound one by one, because wavex replaces some of them, and
// bwrap does not start if the source of a bind is replaced meanwhile (0.8.0).
func (w *Wall) Wrapper(closed []string, open ...string) []string {
	if w == nil {
		return nil
	}
	return append(w.binds(closed, open), "--cap-drop", "ALL")
}

// Offline is Wrapper of a strict wall for a program that needs no network: it has a loopback of its own and no more.
// Without a strict wall it returns nil.
func (w *Wall) Offline(closed []string, open ...string) []string {
	if w == nil || !w.strict {
		return nil
	}
	return append(w.binds(closed, open), "--unshare-net", "--cap-drop", "ALL")
}

// Strict reports whether it is a strict wall.
func (w *Wall) Strict() bool { return w != nil && w.strict }

// binds returns bwrap with the options of Wrapper for the paths.
func (w *Wall) binds(closed, open []string) []string {
	var list []bind
	add := func(access access, paths ...string) {
		for _, p := range resolved(paths) {
			list = append(list, bind{path: p, access: access})
		}
	}
	add(readOnly, closed...)
	if !w.strict {
		list = list[:min(len(list), maxBinds)]
	}
	add(readOnly, w.closed...)
	add(writable, open...)
	base := bind{path: "/", access: writable}
	if w.strict {
		for _, p := range resolved(w.open) {
			if slices.Contains(w.open, p) { // else a program has made it a link
				list = append(list, bind{p, writable, true})
			}
		}
		add(private, privateTmp)
		base.access = readOnly
	}
	slices.SortFunc(list, func(a, b bind) int { // a folder right before its entries
		return cmp.Or(strings.Compare(strings.ReplaceAll(a.path, "/", "\x00"), strings.ReplaceAll(b.path, "/", "\x00")),
			cmp.Compare(a.access, b.access))
	})
	args, around := w.args(), []bind{base}
	for _, b := range list {
		for !isBelow(b.path, around[len(around)-1].path) && b.path != around[len(around)-1].path {
			around = around[:len(around)-1]
		}
		outer := around[len(around)-1]
		if b.access == outer.access && !b.fixed || b.path == outer.path {
			continue
		}
		switch around = append(around, b); b.access {
		case readOnly:
			args = append(args, "--ro-bind-try", b.path, b.path) // "try": it may go meanwhile
		case writable:
			args = append(args, "--bind", b.path, b.path)
		case private:
			args = append(args, "--tmpfs", b.path)
		}
	}
	return args
}

// args returns bwrap with the options that leave all as it is, or of a strict wall all but devices read-only.
func (w *Wall) args() []string {
	args := []string{w.bwrap, "--die-with-parent", "--unshare-user"}
	if w.strict {
		return append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--ro-bind", "/dev/null", "/dev/tty", // no terminal
			"--proc", "/proc", "--setenv", "TMPDIR", privateTmp)
	}
	return append(args, "--dev-bind", "/", "/", "--proc", "/proc")
}

// isBelow reports whether path is in the directory dir, at any depth.
func isBelow(path, dir string) bool {
	return dir != "" && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
