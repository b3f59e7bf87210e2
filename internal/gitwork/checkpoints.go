package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/safefile"
)

// This file makes checkpoints of a shared directory: commits of everything in the checkout that git
// does not ignore, below refs/wavex, without touching the user's index, branches and stash. It does
// not know which tasks need them; rollback.go returns to them.

// Checkpoints makes the checkpoints of one run. Its methods are safe for concurrent use.
type Checkpoints struct {
	// MaxNew bounds the contents that a checkpoint of a wave or of a session's end adds to the repository, in
	// bytes; 0: no bound. It must be set before the first checkpoint.
	MaxNew int64
	// Own lists absolute paths of files that no checkpoint includes: the outputs of wavex. It must be set before the
	// first checkpoint.
	Own []string
	// HasSecret reports whether the contents of a file have a secret. Such a file is not saved in .loop, and SecretLeft
	// gets its path, relative to the top directory. Both are nil, or neither.
	HasSecret  func(contents []byte) bool
	SecretLeft func(path string)

	run string
	g   git // in the top directory of the checkout

	base    string   // the commit that the run began on; valid with bundles
	bundles *bundles // nil: not opened

	leftSecrets []string // that SecretLeft got

	mu    sync.Mutex
	waves map[int]func() error // each makes a checkpoint once
}

// OpenCheckpoints opens the repository of a project. An *Error says that there is none, and therefore no
// checkpoints.
func OpenCheckpoints(ctx context.Context, project, run string, env []string) (*Checkpoints, error) {
	if !validRunID(run) {
		return nil, &Error{Problem: BadRun, Text: fmt.Sprintf("%q cannot name a ref", run)}
	}
	g := newGit(project, env)
	c, err := findCheckout(ctx, g, project)
	if err != nil {
		var unfit *Error
		if errors.As(err, &unfit) {
			unfit.Fix = "" // the advice is about worktrees
		}
		return nil, err
	}
	return &Checkpoints{run: run, g: g.inDir(c.top).withEnv("GIT_AUTHOR_NAME=wavex", "GIT_AUTHOR_EMAIL=wavex@localhost",
		"GIT_COMMITTER_NAME=wavex", "GIT_COMMITTER_EMAIL=wavex@localhost"), waves: map[int]func() error{}}, nil
}

// BeforeTask makes a checkpoint before a task begins. A later attempt does not replace it: it begins on
// the changes of the first.
func (p *Checkpoints) BeforeTask(ctx context.Context, task string) error {
	return p.setIfMissing(ctx, beforeRef(p.run, task), "Before task "+task, 0)
}

// AfterTask makes a checkpoint when an attempt has ended, with any outcome.
func (p *Checkpoints) AfterTask(ctx context.Context, task string) error {
	return p.setCheckpoint(ctx, afterRef(p.run, task), "After task "+task, 0)
}

// BeforeWave makes a checkpoint before a wave begins, unless an earlier call or session has made it.
// Concurrent calls wait for it. The error is an *Error with TooLarge if there is more than MaxNew to add.
func (p *Checkpoints) BeforeWave(ctx context.Context, wave int) error {
	p.mu.Lock()
	once := p.waves[wave]
	if once == nil {
		once = sync.OnceValue(func() error {
			return p.setIfMissing(ctx, waveStartRef(p.run, wave), fmt.Sprintf("Before wave %d", wave), p.MaxNew)
		})
		p.waves[wave] = once
	}
	p.mu.Unlock()
	return once()
}

// EndSession makes a checkpoint when a session ends. Later differences are not the run's.
func (p *Checkpoints) EndSession(ctx context.Context) error {
	return p.setCheckpoint(ctx, endRef(p.run), "The end of a session", p.MaxNew)
}

// HasRun reports whether there is a checkpoint from before the run.
func (p *Checkpoints) HasRun(ctx context.Context) (bool, error) {
	id, err := p.g.resolve(ctx, waveStartRef(p.run, 1))
	return id != "", err
}

func (p *Checkpoints) setIfMissing(ctx context.Context, ref, subject string, maxNew int64) error {
	if id, err := p.g.resolve(ctx, ref); err != nil || id != "" {
		return err
	}
	return p.setCheckpoint(ctx, ref, subject, maxNew)
}

func (p *Checkpoints) setCheckpoint(ctx context.Context, ref, subject string, maxNew int64) error {
	id, err := p.snapshot(ctx, subject, maxNew)
	if err != nil {
		return fmt.Errorf("making the checkpoint %s: %w", ref, err)
	}
	return p.g.updateRefs(ctx, ref, id)
}

// snapshot makes a commit of the checkout without a ref, on top of HEAD and of other parents. With maxNew above 0 it
// returns an *Error with TooLarge if the files to add are larger, in bytes.
func (p *Checkpoints) snapshot(ctx context.Context, subject string, maxNew int64, parents ...string) (string, error) {
	g, done, err := p.tempIndex(ctx, "")
	if err != nil {
		return "", err
	}
	defer done()
	if err := p.addAll(ctx, g, maxNew); err != nil {
		return "", err
	}
	return p.commit(ctx, g, subject, parents...)
}

// addAll adds all changes to the index g. It returns an *Error with TooLarge if they have more than most bytes; 0: no
// bound.
func (p *Checkpoints) addAll(ctx context.Context, g git, most int64) error {
	files, err := p.allFiles(ctx)
	if err != nil {
		return err
	}
	if most > 0 {
		if paths, err := g.checkNewFiles(ctx, most, files); err != nil || paths == 0 { // the index has everything
			return err
		}
	}
	for try := 1; ; try++ {
		// Agents may be at work: try again if a file disappears while it is read.
		err := g.run(ctx, append([]string{"add", "-A", "--"}, files...)...)
		if exitCode(err) <= 0 || try == 3 {
			return err
		}
	}
}

// allFiles returns the pathspecs of all files of a checkpoint. They do not name ignored files: git add fails if its
// pathspecs do, also to exclude them.
func (p *Checkpoints) allFiles(ctx context.Context) ([]string, error) {
	var own []string
	for _, path := range p.Own {
		if rel, err := filepath.Rel(p.g.dir, resolveLinks(path)); err == nil && filepath.IsLocal(rel) {
			own = append(own, filepath.ToSlash(rel))
		}
	}
	ignored, err := p.g.filterIgnored(ctx, own)
	specs := []string{":/"}
	for _, path := range own {
		if !slices.Contains(ignored, path) {
			specs = append(specs, ":(top,exclude,literal)"+path)
		}
	}
	return specs, err
}

// checkNewFiles returns the number of paths that differ from the index. It returns an *Error with TooLarge if the
// files there have more than most bytes.
func (g git) checkNewFiles(ctx context.Context, most int64, specs []string) (paths int, err error) {
	out, err := g.output(ctx, append([]string{"ls-files", "-z", "--modified", "--others", "--exclude-standard", "--"},
		specs...)...)
	if err != nil {
		return 0, err
	}
	list := splitNUL(out)
	size := int64(0)
	for _, path := range slices.Compact(list) {
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path)))
		if err == nil && info.Mode().IsRegular() { // others have no contents, or are gone
			size += info.Size()
		}
	}
	if size > most {
		return 0, &Error{Problem: TooLarge, Text: fmt.Sprintf(
			"new and changed files have %d MB, more than %d MB", (size+1<<20-1)>>20, most>>20)}
	}
	return len(list), nil
}

// commit makes a commit of an index on HEAD and parents, without a branch.
func (p *Checkpoints) commit(ctx context.Context, g git, subject string, parents ...string) (string, error) {
	head, err := g.resolve(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	return p.commitOn(ctx, g, subject, append([]string{head}, parents...)...)
}

func (p *Checkpoints) commitOn(ctx context.Context, g git, subject string, parents ...string) (string, error) {
	tree, err := g.output(ctx, "write-tree", "--missing-ok") // a partial clone need not fetch
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	for _, parent := range parents {
		if parent != "" {
			args = append(args, "-p", parent)
		}
	}
	refs, err := p.Refs(ctx)
	if err != nil {
		return "", err
	}
	return g.outputOf(ctx, fmt.Sprintf("%s\n\nWavex-Run: %s\n%s%d\n", subject, p.run, gapTrailer, countGaps(p.run, refs)),
		args...)
}

// maxIndex is the largest index that is read, in bytes.
const maxIndex = 1 << 30

// copyIndex copies the index of g's checkout, if there is one.
func (g git) copyIndex(ctx context.Context, to string) error {
	path, err := g.output(ctx, "rev-parse", "--git-path", "index")
	if err != nil {
		return err
	}
	path = absolute(g.dir, path)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) { // no file was ever added
		return nil
	}
	if err != nil {
		return err
	}
	text, err := safefile.Read(path, maxIndex)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return err
	}
	// git reads a file again that is as new as the index, since it may have changed without a change of its time.
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// tempIndex returns a git with an index of its own: that of a commit, or for "" a copy of the user's,
// which avoids reading every file. The caller must call done, which removes it.
func (p *Checkpoints) tempIndex(ctx context.Context, commit string) (g git, done func(), err error) {
	dir, err := os.MkdirTemp("", "wavex-index-")
	if err != nil {
		return g, nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) } // a folder that cannot be removed is a temporary one
	defer func() {
		if err != nil {
			remove()
		}
	}()
	index := filepath.Join(dir, "index")
	if g = p.g.withEnv("GIT_INDEX_FILE=" + index); commit == "" {
		err = p.g.copyIndex(ctx, index)
	} else {
		err = g.run(ctx, "read-tree", commit)
	}
	return g, remove, err
}

func checkpointPrefix(run string) string { return "refs/wavex/" + run + ".points/" }
func beforeRef(run, task string) string {
	return checkpointPrefix(run) + "task/" + refComponent(task) + "/before"
}
func afterRef(run, task string) string {
	return checkpointPrefix(run) + "task/" + refComponent(task) + "/after"
}
func waveStartRef(run string, n int) string {
	return fmt.Sprintf("%swave/%d", checkpointPrefix(run), n)
}
func endRef(run string) string      { return checkpointPrefix(run) + "end" }
func undoRef(run, id string) string { return checkpointPrefix(run) + "undo/" + id[:min(12, len(id))] }

// Refs returns the checkpoints of the run: the commit of each ref.
func (p *Checkpoints) Refs(ctx context.Context) (map[string]string, error) {
	out, err := p.g.output(ctx, "for-each-ref", "--format=%(objectname) %(refname)", checkpointPrefix(p.run))
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for _, line := range splitLines(out) {
		id, ref, _ := strings.Cut(line, " ")
		refs[ref] = id
	}
	return refs, nil
}
