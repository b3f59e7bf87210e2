package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file goes back to checkpoints. It looks first and says what would happen; what
// was there before is kept, so going back can itself be undone. It does not touch the
// user's index, branches or stash, and knows nothing of journals.

// Target is what is to be taken back: one task, or everything from a wave on.
type Target struct {
	Task string // "": a wave
	Wave int    // from 1; 1 is the whole run
	// Leave lists paths, relative to the top of the checkout and slash-separated, that are
	// not touched, directories with all that is in them: what other tasks declared (a task
	// that worked beside them is not taken for their work), and what people write.
	Leave []string
}

// Rollback is what going back to a checkpoint would change.
type Rollback struct {
	Ref     string   // the checkpoint, a ref
	Commit  string   // its commit
	Changes []Change // by path
	// Theirs are the paths among Changes that were changed after wavex last looked, by
	// somebody else: going back would lose that.
	Theirs []string
	// Unknown says why it cannot be told what is whose; everything may be somebody else's then.
	Unknown string
	Left    []string // paths that differ from the checkpoint and are not touched
	Undo    string   // the ref that keeps what was there before; set by Restore

	now string // commit of what is there
	end string // commit of what was there when wavex last looked
	// index are the lines by which git makes the checkpoint's entries of an index.
	index strings.Builder
}

// Change is one path of a Rollback.
type Change struct {
	Path   string // relative to the top of the checkout, slash-separated
	Action string // "restore", "bring back", "remove"
}

// ErrNoPoint says that there is no checkpoint of what is asked for.
var ErrNoPoint = errors.New("there is no checkpoint of it")

// Rollback looks what going back would do. The error is ErrNoPoint where the target has
// no checkpoint.
func (p *Points) Rollback(ctx context.Context, t Target) (*Rollback, error) {
	r := &Rollback{Ref: wavePoint(p.run, t.Wave)}
	until := endRef(p.run)
	if t.Task != "" {
		r.Ref, until = beforeRef(p.run, t.Task), afterRef(p.run, t.Task)
	}
	refs, err := p.Commits(ctx)
	if err != nil {
		return nil, err
	}
	if r.Commit = refs[r.Ref]; r.Commit == "" {
		return nil, ErrNoPoint
	}
	if r.now, err = p.snapshot(ctx, "Before a rollback"); err != nil {
		return nil, err
	}
	end := refs[until]
	if end == "" {
		end = r.now
		r.Unknown = "wavex was ended before it could look at the end, so what came after cannot be told apart"
	}
	r.end = end
	done, between, err := p.parted(ctx, r.Commit, end, refs) // what the target changed, and others meanwhile
	if err != nil {
		return nil, err
	}
	back, err := p.diff(ctx, r.now, r.Commit) // what would bring it back
	if err != nil {
		return nil, err
	}
	since, err := p.diff(ctx, end, r.now) // what came later
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(back)) {
		c := back[path]
		switch {
		case done[path] == diffed{}:
			continue // somebody else's alone
		case t.leaves(path), c.module:
			r.Left = append(r.Left, path)
			continue
		}
		action := map[byte]string{'A': "bring back", 'D': "remove"}[c.letter]
		if action == "" {
			action = "restore"
		}
		r.Changes = append(r.Changes, Change{path, action})
		fmt.Fprintf(&r.index, "%s %s\t%s\x00", c.mode, c.id, path)
		_, late := since[path]
		if _, theirs := between[path]; theirs || late || r.Unknown != "" {
			r.Theirs = append(r.Theirs, path)
		}
	}
	return r, nil
}

// leaves tells whether a path is not to be touched.
func (t Target) leaves(path string) bool {
	return slices.ContainsFunc(t.Leave, func(l string) bool { return path == l || strings.HasPrefix(path, l+"/") })
}

// diffed is how one path differs.
type diffed struct {
	letter   byte   // 'A', 'D', 'M', 'T'
	module   bool   // one side is a repository of its own
	mode, id string // on the far side; zeros where it is not there
}

// diff compares two commits: what leads from one to the other.
func (p *Points) diff(ctx context.Context, from, to string) (map[string]diffed, error) {
	out, err := p.g.out(ctx, "diff-tree", "-r", "-z", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	list := fields(out)
	paths := map[string]diffed{}
	for i := 0; i+1 < len(list); i += 2 {
		f := strings.Fields(strings.TrimPrefix(list[i], ":")) // modes, ids, letter
		if len(f) < 5 {
			return nil, fmt.Errorf("git diff-tree said %q", list[i])
		}
		paths[list[i+1]] = diffed{f[4][0], f[0] == "160000" || f[1] == "160000", f[1], f[3]}
	}
	return paths, nil
}

// Restore carries a Rollback out. What was there is kept at r.Undo before anything
// changes. After one that was cut off, Rollback and Restore do the rest.
func (p *Points) Restore(ctx context.Context, r *Rollback) error {
	undo := undoRef(p.run, r.now)
	if err := p.g.setRefs(ctx, undo, r.now); err != nil {
		return err
	}
	r.Undo = undo
	root, err := os.OpenRoot(p.g.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var back strings.Builder
	for _, c := range r.Changes {
		if c.Action != "remove" {
			back.WriteString(c.Path + "\x00")
			continue
		}
		if err := root.Remove(filepath.FromSlash(c.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// A directory that git would not know is not left behind. One that is not empty stays.
		for dir := filepath.Dir(filepath.FromSlash(c.Path)); dir != "." && root.Remove(dir) == nil; dir = filepath.Dir(dir) {
			continue
		}
	}
	for _, c := range r.Changes {
		if info, err := root.Lstat(filepath.FromSlash(c.Path)); c.Action != "remove" && err == nil && info.IsDir() {
			return fmt.Errorf("%s is a directory now, with files in it that git ignores; move them away first", c.Path)
		}
	}
	if back.Len() > 0 {
		g, done, err := p.aside(ctx, false)
		if err != nil {
			return err
		}
		defer done()
		if err := g.run(ctx, "read-tree", r.Commit); err != nil {
			return err
		}
		if _, err := g.feed(ctx, back.String(), "checkout-index", "-f", "-z", "--stdin"); err != nil {
			return err
		}
	}
	return p.seal(ctx, r)
}

// seal takes what was restored into what wavex last looked at, and nothing else: what
// somebody changed meanwhile stays somebody's.
func (p *Points) seal(ctx context.Context, r *Rollback) error {
	g, done, err := p.aside(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	if err := g.run(ctx, "read-tree", r.end); err != nil {
		return err
	}
	if r.index.Len() > 0 {
		if _, err := g.feed(ctx, r.index.String(), "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	id, err := p.commit(ctx, g, "After a rollback")
	if err != nil {
		return err
	}
	return p.g.setRefs(ctx, endRef(p.run), id)
}

// Forget drops the checkpoints of tasks that will be done again, and of the waves from
// one on (0: none): they would speak of the first time. It comes after the rollback is on
// record.
func (p *Points) Forget(ctx context.Context, tasks []string, from int) error {
	refs, err := p.Commits(ctx)
	if err != nil {
		return err
	}
	var gone []string
	for _, task := range tasks {
		gone = append(gone, beforeRef(p.run, task), afterRef(p.run, task))
	}
	if from > 0 {
		for ref := range refs {
			if n, err := strconv.Atoi(strings.TrimPrefix(ref, pointPrefix(p.run)+"wave/")); err == nil && n >= from {
				gone = append(gone, ref)
			}
		}
	}
	var pairs []string
	for _, ref := range gone {
		if refs[ref] != "" {
			pairs = append(pairs, ref, "")
		}
	}
	if pairs == nil {
		return nil
	}
	return p.g.setRefs(ctx, pairs...)
}

// Relative turns absolute paths into paths below the top of the checkout; those that are
// elsewhere are left out.
func (p *Points) Relative(paths []string) ([]string, error) {
	top, err := filepath.EvalSymlinks(p.g.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range paths {
		// The file itself may be a link, or not be there; its directories must be followed.
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			dir = filepath.Dir(path)
		}
		if rel, err := filepath.Rel(top, filepath.Join(dir, filepath.Base(path))); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out, nil
}
