package gitwork

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/plan"
	"wavex/runner"
)

// This file is the directory that attempts share. Agents edit side by side, and checks run beside them. The
// exceptions are checks that must not see half an edit, and checks that changed files themselves when they last ran
// in the quiet directory: they wait until no agent edits.

// sharedDir is the user's directory, as a runner.Directory.
type sharedDir struct {
	lock    *sharedLock
	g       git // in the project
	project string
	own     []string // wavex's own folder and files
	single  bool     // tasks never run side by side

	mu      sync.Mutex
	writers map[string]bool  // whether checks changed files when they last ran, by checksID
	early   map[*func()]bool // ends the claim on quiet of checks from before an attempt
}

// patience is how long an attempt that is about to edit waits for the checks from before other attempts.
const patience = 5 * time.Second

func newSharedDir(g git, o Options) *sharedDir {
	d := &sharedDir{lock: newSharedLock(), g: g.inDir(o.Project).withoutHooks(), project: resolveLinks(o.Project),
		single: o.Width < 2, writers: map[string]bool{}, early: map[*func()]bool{}}
	for _, path := range append([]string{string(o.Loop)}, o.Own...) {
		d.own = append(d.own, resolveLinks(path))
	}
	return d
}

// Edit implements runner.Directory. Attempts that want to edit wait behind checks that wait for a quiet directory.
func (d *sharedDir) Edit(ctx context.Context) (end func(), err error) {
	defer time.AfterFunc(patience, d.giveUpQuiet).Stop()
	return d.lock.lock(ctx, editing)
}

// claimQuiet keeps the directory quiet until the call of leave, or until an attempt has waited long enough to edit.
func (d *sharedDir) claimQuiet() (leave func(), ok bool) {
	end, ok := d.lock.tryCheck()
	if !ok {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.early[&end] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.early, &end)
		end()
	}, true
}

// giveUpQuiet ends the claims of claimQuiet.
func (d *sharedDir) giveUpQuiet() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for end := range d.early {
		(*end)()
	}
}

// Check implements runner.Directory.
func (d *sharedDir) Check(ctx context.Context, when runner.CheckTime, checks []plan.Check, run func()) (bool, error) {
	quiet := d.lock.watch()
	switch when {
	case runner.AtOnce:
		run()
		return quiet(), nil
	case runner.IfQuiet:
		leave, ok := d.claimQuiet()
		if !ok {
			return false, nil
		}
		defer leave()
	default:
		leave, err := d.lock.lock(ctx, checking)
		if err != nil {
			return false, err
		}
		defer leave()
		quiet = d.lock.watch()
	}
	d.learn(ctx, checks, run, quiet)
	return quiet(), nil
}

// ChangesFiles implements runner.Directory. Checks that have not run in the quiet directory are not known to.
func (d *sharedDir) ChangesFiles(checks []plan.Check) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writers[checksID(checks)]
}

// checksID identifies checks by their commands.
func checksID(checks []plan.Check) string {
	var b strings.Builder
	for _, c := range checks {
		b.WriteString(c.Run + "\x00")
	}
	return b.String()
}

// learn calls run and learns whether the checks that it makes change files, if no agent edits meanwhile. Of checks
// that run at the same time, each counts as the one that changed a file, until it runs alone.
func (d *sharedDir) learn(ctx context.Context, checks []plan.Check, run func(), quiet func() bool) {
	id := checksID(checks)
	if d.single || strings.Trim(id, "\x00") == "" {
		run()
		return
	}
	before, known := d.fingerprint(ctx)
	run()
	after, stillKnown := d.fingerprint(ctx)
	if known && stillKnown && quiet() {
		d.mu.Lock()
		d.writers[id] = before != after
		d.mu.Unlock()
	}
}

// fingerprint identifies the files of the project by their sizes and times: those that git reports as changed and
// does not ignore, or all files if the project is in no checkout.
func (d *sharedDir) fingerprint(ctx context.Context) (sum [sha256.Size]byte, known bool) {
	h := sha256.New()
	out, err := d.g.output(ctx, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
		"--ignore-submodules=dirty", "--", ".")
	switch {
	case err != nil && context.Cause(ctx) != nil:
		return sum, false
	case err != nil:
		known = d.addTree(h)
	default:
		known = out == "" || d.addChanges(ctx, h, splitNUL(out))
	}
	return [sha256.Size]byte(h.Sum(nil)), known
}

// addChanges adds the files of git status to h.
func (d *sharedDir) addChanges(ctx context.Context, h hash.Hash, lines []string) bool {
	top, err := d.g.output(ctx, "rev-parse", "--show-toplevel")
	for _, line := range lines {
		if len(line) < 4 {
			continue
		}
		path := filepath.Join(filepath.FromSlash(top), filepath.FromSlash(line[3:]))
		if !d.isOwn(path) {
			fmt.Fprintf(h, "%q", line)
			addFile(h, path)
		}
	}
	return err == nil
}

// maxTree bounds the number of files that are compared where there is no git.
const maxTree = 20_000

// addTree adds all files of the project to h. It returns false if there are too many.
func (d *sharedDir) addTree(h hash.Hash) bool {
	n := 0
	err := filepath.WalkDir(d.project, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // removed meanwhile, or unreadable
		case e.IsDir() && (d.isOwn(path) || e.Name() == ".git"):
			return fs.SkipDir
		case e.IsDir() || d.isOwn(path):
			return nil
		}
		if n++; n > maxTree {
			return fs.SkipAll
		}
		fmt.Fprintf(h, "%q", path)
		addFile(h, path)
		return nil
	})
	return err == nil && n <= maxTree
}

// isOwn reports whether path is wavex's own folder or in it, or a file of wavex.
func (d *sharedDir) isOwn(path string) bool {
	return slices.ContainsFunc(d.own, func(own string) bool {
		rel, err := filepath.Rel(own, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

func addFile(h hash.Hash, path string) {
	if info, err := os.Lstat(path); err == nil {
		fmt.Fprintf(h, "%d %d %s\n", info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
}
