package runner

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/check"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/plan"
)

// This file finds out which files an attempt changed: the difference in bytes between the files before the task's first
// attempt and those after the turn, by whatever means. Tool calls show nothing.

// Trees makes the runner compare the files of the project. Paths are of the project, slash-separated.
type Trees struct {
	Store string `json:"-"` // absolute; listings and old contents go here
	// Own are wavex's own files, and Busy those that tasks declare which may run at the same time in the same directory.
	Own  []string `json:"own,omitempty"`
	Busy []string `json:"busy,omitempty"`
}

func (t *attempt) store() filetree.Store { return filetree.Store{Dir: t.req.Trees.Store, Env: t.env} }

// list returns the present files. Those from before the work need not be known.
func (t *attempt) list(ctx context.Context, before baseline) (tree filetree.Tree, err error) {
	root := t.req.root()
	if before.tree == nil {
		if tree, t.inGit, err = t.Lister.First(ctx, root, t.env); err != nil {
			tree = nil
		}
		return tree, err
	}
	return t.Lister.Again(ctx, root, t.env, before.tree, t.now, func(s filetree.State) ([]byte, error) {
		return t.store().Content(ctx, root, s)
	})
}

func (t *attempt) compares() bool { return t.req.Trees != nil && t.req.Command == "" }

// edited returns a function that reports whether the attempt, whose edits have not ended, may have changed a file: one
// differs from before the work, and is not as another attempt left it, or is new where files are not read.
func (t *attempt) edited(ctx context.Context, before baseline) func(left filetree.Tree) bool {
	begun := attempt{Local: t.Local, req: t.req, env: t.env, first: t.first}
	return func(left filetree.Tree) bool {
		probe := begun
		if probe.first == nil || !probe.compares() {
			return true
		}
		now, err := probe.list(ctx, before)
		changes := probe.first.Changes(now)
		maps.DeleteFunc(changes, func(file string, is filetree.State) bool {
			was, known := left[file]
			return known && was == is || Declares(probe.req.Trees.Own, file)
		})
		return err != nil || len(changes) > 0 || filetree.ChangedSince(probe.req.root(), now.Unread(),
			filepath.Join(probe.req.LogDir, loop.PromptFile))
	}
}

// sharedFiles identifies the files of a directory that attempts share, around checks. By them others know the results,
// and which checks change files. "": they are not known, or an attempt edits them.
type sharedFiles struct {
	since         string // hooks.Files before the checks
	before, after string
	ran           int // number of commands of the checks before the work that ran
}

// beginShared begins to identify the files.
func (t *attempt) beginShared() {
	t.shared = sharedFiles{ran: -1} // filesBefore is called before the first check, too
	if t.hooks.Directory != nil && t.hooks.Files != nil && t.req.Trees != nil && len(t.req.Checks) > 0 {
		t.shared.since = t.hooks.Files()
	}
}

// filesOf identifies the files of a tree that count, with their times: a check may write the same bytes.
func (t *attempt) filesOf(tree filetree.Tree) string {
	if tree == nil || t.shared.since == "" {
		return ""
	}
	files := filetree.Tree{}.Edits(tree)
	maps.DeleteFunc(files, func(name string, _ filetree.State) bool { return Declares(t.req.Trees.Own, name) })
	for name, state := range files {
		st, err := os.Lstat(filepath.Join(t.req.root(), filepath.FromSlash(name)))
		if err == nil && state.Digest() != "" {
			files[name] += filetree.State(st.ModTime().String())
		}
	}
	if t.hooks.Files() != t.shared.since {
		return ""
	}
	return t.shared.since + " " + files.ID() + " " + t.req.Dir
}

// listShared returns filesOf the present files.
func (t *attempt) listShared(ctx context.Context, before baseline) (files string) {
	if t.shared.since != "" {
		if tree, err := t.list(ctx, before); err == nil {
			files = t.filesOf(tree)
		}
	}
	return files
}

// filesBefore returns check.Place.Files for the checks before the work. In a directory that others share these are the
// files before the first check: endBefore lists them again.
func (t *attempt) filesBefore(ctx context.Context) func() string {
	if t.hooks.Directory == nil {
		return t.hooks.Files
	}
	t.beginShared()
	t.shared.before = t.listShared(ctx, baseline{})
	return func() string {
		if t.shared.ran++; t.hooks.Memory == nil || t.shared.since == "" || t.hooks.Files() != t.shared.since {
			return ""
		}
		return t.shared.before
	}
}

// endBefore ends the checks before the work. It drops results on files that the checks changed, and failures: a check
// may pass later because of files that do not count.
func (t *attempt) endBefore(ctx context.Context, evidence []check.Evidence) {
	if t.shared.since == "" {
		return
	}
	t.first, _ = t.list(ctx, baseline{})
	f := &t.shared
	if f.after = t.filesOf(t.first); f.ran > 0 {
		t.learn(f.ran == len(evidence) && check.Passed(evidence))
	}
	if f.before == f.after {
		f.before = "" // nothing is forgotten but failures
	}
	if t.hooks.Memory != nil {
		t.hooks.Memory.Forget(f.before)
	}
}

// learn tells the directory whether the checks changed files. Where some did not run, or failed, others may.
func (t *attempt) learn(whole bool) {
	f := t.shared
	if changed := f.before != f.after; f.before != "" && f.after != "" && (changed || whole) {
		t.directory.Learn(t.req.Checks, changed)
	}
}

// compareTurn is compare at the end of the turn.
func (t *attempt) compareTurn(ctx context.Context, before baseline) {
	t.turned = nil
	t.beginShared()
	t.compare(ctx, before)
	t.turned, t.shared.before = t.now, t.shared.after
}

// compare finds the files that were changed since before: declared ones, and the surplus, without files that only the
// checks after the turn changed.
func (t *attempt) compare(ctx context.Context, before baseline) {
	t.res.Changed, t.digests = before.changed(t.req.Dir, t.req.Files)
	t.surplus, t.own = nil, nil
	t.hidden, t.made = nil, nil
	t.res.Surplus, t.uncompared, t.shared.after = nil, "", ""
	if !t.compares() {
		t.shared.after = t.listShared(ctx, before)
		return
	}
	if before.tree == nil {
		t.uncompared = "the files from before the task are not known"
		if t.req.Turn != nil { // its worker, which is gone, knew them
			t.res.Surplus = t.req.Turn.Result.Surplus
		}
		return
	}
	now, err := t.list(ctx, before)
	if err != nil {
		t.uncompared = err.Error()
		return
	}
	t.now, t.shared.after = now, t.filesOf(now)
	own, others := t.declared(), slices.Concat(t.req.Trees.Own, t.req.Trees.Busy)
	for file := range before.tree.Edits(now) {
		switch {
		case Declares(own, file):
			t.own = append(t.own, file)
		case t.turned != nil && t.turned[file] == before.tree[file]:
			t.made = append(t.made, file)
		case !Declares(others, file):
			t.surplus = append(t.surplus, file)
			t.res.Surplus = append(t.res.Surplus, t.req.relative(file))
		}
	}
	t.hidden = slices.DeleteFunc(before.tree.Hidden(now), func(file string) bool {
		return Declares(own, file) || Declares(others, file) ||
			t.turned != nil && t.turned[file] == before.tree[file]
	})
	slices.Sort(t.res.Surplus)
	t.res.Surplus = t.res.Surplus[:min(len(t.res.Surplus), maxSurplus)]
}

// maxSurplus bounds Result.Surplus.
const maxSurplus = 100

// declared returns the files that the task declares to write, as paths of the project.
func (t *attempt) declared() (own []string) {
	for _, p := range plan.Written(t.req.Files) {
		own = append(own, path.Join(t.req.Settings.Dir, filepath.ToSlash(p)))
	}
	return own
}

// relative makes a path of the project relative to the attempt's directory.
func (r *Request) relative(file string) string {
	under := filepath.FromSlash(path.Clean(r.Settings.Dir))
	rel, _ := filepath.Rel(under, filepath.FromSlash(file)) // both are in the project
	return filepath.ToSlash(rel)
}

// Declares reports whether a file is one of the paths or below one.
func Declares(paths []string, file string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return p == "." || p == file || strings.HasPrefix(file, p+"/")
	})
}
