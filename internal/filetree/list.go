package filetree

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// listTimeout bounds the time for a tree.
const listTimeout = time.Minute

// ErrTooLarge is the error for a directory whose files cannot be compared in time.
var ErrTooLarge = errors.New("the project is too large to compare its files")

// First returns the tree of the directory root. In a git repository it has the tracked files and those that no
// .gitignore excludes, elsewhere all files but those of known caches. env is the environment of git. inGit are the
// digests of the contents that git has.
func (l *Lister) First(ctx context.Context, root string, env []string) (t Tree, inGit map[string]bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, ErrTooLarge)
	defer cancel()
	root = resolved(root)
	if HasRepository(root) {
		t, inGit = gitTree(ctx, root, env)
	}
	if len(t) == 0 { // no repository, or one that ignores the directory
		t, err = walk(ctx, root, env, Tree{}, rules{})
	}
	return t, inGit, cmp.Or(l.read(ctx, root, t), err)
}

// read sets the states of the files of a tree that have none. An ignored file is not read.
func (l *Lister) read(ctx context.Context, root string, t Tree) error {
	for name, state := range t {
		most := int64(maxHashed)
		if state == ignoredFile {
			most = -1
		}
		if (state == "" || state == ignoredFile) && ctx.Err() == nil {
			t[name] = state + l.State(filepath.Join(root, filepath.FromSlash(name)), most)
		}
	}
	return context.Cause(ctx)
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
	if err != nil {
		return nil, err
	}
	t, err := walk(ctx, root, env, was.With(last), rules)
	return t, cmp.Or(l.read(ctx, root, t), err)
}

// walk lists the files of root, without their states. The rules decide about new files and directories.
func walk(ctx context.Context, root string, env []string, was Tree, rules rules) (Tree, error) {
	w := walker{ctx: ctx, root: root, temp: tempIn(root), was: was, known: was.directories(), t: Tree{}}
	for todo := []string{"."}; len(todo) > 0; {
		w.files, w.dirs = nil, nil
		for _, w.top = range todo {
			_ = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(w.top)), w.visit) // it ends early after a stop
		}
		out, err := rules.ignore(ctx, env, slices.Concat(w.files, w.dirs))
		if err != nil {
			return nil, err
		}
		for _, name := range w.files {
			if w.t[name] = ""; out[name] {
				w.t[name] = ignoredFile
			}
		}
		todo = nil
		for _, name := range w.dirs {
			if out[name] {
				w.t[name] = ignoredState
			} else {
				todo = append(todo, name)
			}
		}
	}
	for name, state := range was {
		if name == "." || !filepath.IsLocal(name) { // not a file of root
			w.t[name] = state
		}
	}
	return w.t, nil
}

// walker walks once through a directory. It leaves new directories to the next time, when it is known whether they
// count.
type walker struct {
	ctx         context.Context
	root, top   string // top: where the walk begins
	temp        string // see tempIn
	was, t      Tree
	known       map[string]bool // directories of was
	files, dirs []string        // new ones
}

// visit is called twice for a directory that cannot be read, whose files are missing.
func (w *walker) visit(at string, d fs.DirEntry, _ error) error {
	rel, _ := filepath.Rel(w.root, at) // it is below
	name := filepath.ToSlash(rel)
	switch state := w.was[name]; {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case name == w.top: // it counts
	case d.Name() == ".git" || isOwn(name, w.temp):
		return skip(d)
	case state == ignoredState || state == directory && d.IsDir():
		w.t[name] = state
		return skip(d)
	case w.was["."] == "" && d.IsDir() && isCache(at, len(w.was) == 0):
		w.t[name] = ignoredState
		return skip(d)
	case d.IsDir() && !w.known[name]:
		w.dirs = append(w.dirs, name)
		return fs.SkipDir
	case d.IsDir():
	case state == "":
		w.files = append(w.files, name)
	case state.isIgnored():
		w.t[name] = ignoredFile
	default:
		w.t[name] = ""
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
		for dir := path.Dir(name); !all[dir]; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	return all
}
