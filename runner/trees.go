package runner

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/filetree"
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

// list returns the present files.
func (t *attempt) list(ctx context.Context, before baseline) (filetree.Tree, error) {
	root := t.req.root()
	return t.Lister.Again(ctx, root, t.env, before.tree, t.now, func(s filetree.State) ([]byte, error) {
		return t.store().Content(ctx, root, s)
	})
}

func (t *attempt) compares() bool { return t.req.Trees != nil && t.req.Command == "" }

// listBefore lists the files before the work, if it can.
func (t *attempt) listBefore(ctx context.Context) {
	var err error
	if t.first, t.inGit, err = t.Lister.First(ctx, t.req.root(), t.env); err != nil {
		t.first = nil
	}
}

// filesBefore returns check.Place.Files for the checks before the work. In a shared directory it lists the files.
func (t *attempt) filesBefore(ctx context.Context) func() string {
	if !t.sharesResults() || !t.compares() {
		return t.hooks.Files
	}
	return func() string {
		t.listBefore(ctx)
		files := t.filesOf(t.first)
		t.began = cmp.Or(t.began, files)
		return files
	}
}

// sharesResults reports whether attempts in the same directory know the results of each other's checks.
func (t *attempt) sharesResults() bool { return t.hooks.Memory != nil && t.hooks.Files == nil }

// filesOf identifies the files of a tree of a shared directory that count; "": no results are remembered by them.
func (t *attempt) filesOf(tree filetree.Tree) string {
	if tree == nil || !t.sharesResults() {
		return ""
	}
	files := filetree.Tree{}.Edits(tree)
	maps.DeleteFunc(files, func(name string, _ filetree.State) bool { return declares(t.req.Trees.Own, name) })
	return files.ID() + " " + t.req.Dir
}

// compareTurn is compare at the end of the turn.
func (t *attempt) compareTurn(ctx context.Context, before baseline) {
	t.turned = nil
	t.compare(ctx, before)
	t.turned = t.now
}

// compare finds the files that were changed since before: declared ones, and the surplus, without files that only the
// checks after the turn changed.
func (t *attempt) compare(ctx context.Context, before baseline) {
	t.res.Changed, t.digests = before.changed(t.req.Dir, t.req.Files)
	t.surplus, t.own = nil, nil
	t.hidden, t.made = nil, nil
	t.res.Surplus, t.uncompared = nil, ""
	if !t.compares() {
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
	t.now = now
	own, others := t.declared(), slices.Concat(t.req.Trees.Own, t.req.Trees.Busy)
	for file := range before.tree.Edits(now) {
		switch {
		case declares(own, file):
			t.own = append(t.own, file)
		case t.turned != nil && t.turned[file] == before.tree[file]:
			t.made = append(t.made, file)
		case !declares(others, file):
			t.surplus = append(t.surplus, file)
			t.res.Surplus = append(t.res.Surplus, t.req.relative(file))
		}
	}
	t.hidden = slices.DeleteFunc(before.tree.Hidden(now), func(file string) bool {
		return declares(own, file) || declares(others, file) ||
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

// declares reports whether a file is one of the paths or below one.
func declares(paths []string, file string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return p == "." || p == file || strings.HasPrefix(file, p+"/")
	})
}
