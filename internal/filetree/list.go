package filetree

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// These bound a tree.
const (
	maxFiles    = 200_000
	listTimeout = time.Minute
)

// ErrTooLarge is the error for a directory whose files cannot be compared within the bounds.
var ErrTooLarge = errors.New("the project is too large to compare its files")

// First returns the tree of the directory root. In a git repository it has the tracked files and those that no
// .gitignore excludes, elsewhere all files but those of known caches. env is the environment of git. inGit are the
// digests of the contents that git has.
func (l *Lister) First(ctx context.Context, root string, env []string) (t Tree, inGit map[string]bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, ErrTooLarge)
	defer cancel()
	root = resolved(root)
	t, inGit, err = gitTree(ctx, root, env)
	if err != nil || len(t) == 0 { // no repository, or one that ignores the directory
		t, err = l.walk(ctx, root, Tree{}, func([]string) (map[string]bool, error) { return nil, nil })
		return t, nil, err
	}
	for name, state := range t {
		if err := context.Cause(ctx); err != nil {
			return nil, nil, err
		} else if state == "" {
			t[name] = l.state(filepath.Join(root, filepath.FromSlash(name)))
		}
	}
	return t, inGit, nil
}

// Again returns the present tree of the directory root, whose tree was known before. What counts is decided by the
// .gitignore files of was: an agent can hide no file. last has the files that a later call found to count. contents
// returns the content of a .gitignore file.
func (l *Lister) Again(ctx context.Context, root string, env []string, was, last Tree,
	contents func(State) ([]byte, error)) (Tree, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, ErrTooLarge)
	defer cancel()
	root = resolved(root)
	rules, err := newRules(was, contents)
	defer rules.remove()
	if err != nil {
		return nil, err
	}
	ignored := func(names []string) (map[string]bool, error) { return rules.ignore(ctx, env, names) }
	return l.walk(ctx, root, was.With(last), ignored)
}

// walk lists the files of root. ignored returns those of some new files and directories that do not count.
func (l *Lister) walk(ctx context.Context, root string, was Tree,
	ignored func(names []string) (map[string]bool, error)) (Tree, error) {
	w := walker{Lister: l, ctx: ctx, root: root, was: was, known: was.directories(), t: Tree{}}
	for todo := []string{"."}; len(todo) > 0; {
		w.files, w.dirs = nil, nil
		for _, w.top = range todo {
			if err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(w.top)), w.visit); err != nil {
				return nil, err
			}
		}
		out, err := ignored(append(w.files, w.dirs...))
		if err != nil {
			return nil, err
		}
		for _, name := range w.files {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			if !out[name] {
				w.t[name] = l.state(filepath.Join(root, filepath.FromSlash(name)))
			}
		}
		todo = slices.DeleteFunc(w.dirs, func(name string) bool { return out[name] })
	}
	for name, state := range was {
		if name == "." || name == above || strings.HasPrefix(name, above+"/") {
			w.t[name] = state
		}
	}
	return w.t, nil
}

// walker walks once through a directory. It leaves new directories to the next time, when it is known whether they
// count.
type walker struct {
	*Lister
	ctx         context.Context
	root, top   string // top: where the walk begins
	was, t      Tree
	known       map[string]bool // directories of was
	files, dirs []string        // new ones
}

func (w *walker) visit(at string, d fs.DirEntry, err error) error {
	rel, rerr := filepath.Rel(w.root, at)
	name := filepath.ToSlash(rel)
	switch state := w.was[name]; {
	case context.Cause(w.ctx) != nil:
		return context.Cause(w.ctx)
	case name == w.top:
		return nil
	case d.Name() == ".git" || isOwn(name):
		return skip(d)
	case state == ignoredState || state == directory && d.IsDir():
		w.t[name] = state
		return skip(d)
	case err != nil || rerr != nil:
		w.t[name] = unreadable
		return nil
	case w.was["."] == "" && d.IsDir() && isCache(at, len(w.was) == 0):
		w.t[name] = ignoredState
		return skip(d)
	case d.IsDir() && !w.known[name]:
		w.dirs = append(w.dirs, name)
		return fs.SkipDir
	case d.IsDir():
		return nil
	case state == "":
		w.files = append(w.files, name)
	default:
		w.t[name] = w.state(at)
	}
	if len(w.t)+len(w.files) > maxFiles {
		return ErrTooLarge
	}
	return nil
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// directories returns the directories of the files of a tree.
func (t Tree) directories() map[string]bool {
	all := map[string]bool{}
	for name := range t {
		for dir := path.Dir(name); dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	return all
}
