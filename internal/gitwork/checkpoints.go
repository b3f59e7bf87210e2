package gitwork

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	// HasSecret reports whether the contents of a file have a secret. Such a file is not saved in .loop. nil: none has.
	HasSecret func(contents []byte) bool
	// Warn gets problems that do not stop the run, from any goroutine: a large file in a checkpoint without a bound, and
	// work that is not saved in .loop. nil: they are not looked for.
	Warn func(error)
	// IndexDir is a folder of the run for the copies of the user's index; "": that of temporary files, and none is kept.
	IndexDir string

	run    string
	g      git      // in the top directory of the checkout
	before settings // when the session began
	index  string   // path of the user's

	base    string   // the commit that the run began on; valid with bundles
	bundles *bundles // nil: not opened

	making sync.Mutex  // one index at a time uses these
	add    []string    // arguments of git that add all files
	named  []string    // files that Warn was told of
	seed   os.FileInfo // of the user's index when keptIndex was copied; nil: it was not

	mu    sync.Mutex
	waves map[string]func() error // each makes a checkpoint once
	gaps  int                     // between sessions; -1: unknown
}

// OpenCheckpoints opens the repository of a project. An *Error says that there is none, and therefore no
// checkpoints.
func OpenCheckpoints(ctx context.Context, project, run string, env []string) (*Checkpoints, error) {
	if !validRunID(run) {
		return nil, &Error{Problem: BadRun, Text: fmt.Sprintf("%q cannot name a ref", run)}
	}
	g, _ := newGit(project, env).inRepository(project)
	c, err := findCheckout(ctx, g, project)
	if err != nil {
		var unfit *Error
		if errors.As(err, &unfit) {
			unfit.Fix = "" // the advice is about worktrees
		}
		return nil, err
	}
	before, err := g.readSettings(ctx)
	if err != nil {
		return nil, err
	}
	return &Checkpoints{run: run, g: g.inDir(c.top).asWavex().withoutHooks(), before: before, index: c.index,
		waves: map[string]func() error{}, gaps: -1, add: addSparse}, nil
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
	ref := waveStartRef(p.run, wave)
	return p.once(ref, func() error { return p.setIfMissing(ctx, ref, fmt.Sprintf("Before wave %d", wave), p.MaxNew) })
}

// once calls do for the first call with a name. Concurrent calls wait for it, and have its result.
func (p *Checkpoints) once(name string, do func() error) error {
	p.mu.Lock()
	once := p.waves[name]
	if once == nil {
		once = sync.OnceValue(do)
		p.waves[name] = once
	}
	p.mu.Unlock()
	return once()
}

// BeforeRun returns an environment with which git, with the filters from when p was opened, compares the checkout with
// the checkpoint from before the run: git diff shows the changes since, git ls-files --others the new files. Without
// one has is false, and git diff needs a commit. If err is nil, the caller must call done.
func (p *Checkpoints) BeforeRun(ctx context.Context) (env map[string]string, has bool, done func(), err error) {
	p.making.Lock()
	defer p.making.Unlock()
	g, err := p.g.withFiltersOf(ctx, p.before)
	if err == nil {
		has, err = p.HasRun(ctx)
	}
	done = func() {}
	if err == nil && has {
		user, _ := os.Stat(p.index)                            // nil: there is none
		if g, done, err = p.copyOfIndex(g, user); err == nil { // with times of files, so that git need not read them
			err = g.run(ctx, "read-tree", "--reset", waveStartRef(p.run, 1))
		}
	}
	if err != nil && done != nil {
		done()
	}
	env = map[string]string{}
	for _, kv := range filterEnv(g.env, indexVariable, settingsVariable) {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env, has, done, err
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

// RanHere reports whether the run has worked in this clone.
func (p *Checkpoints) RanHere(ctx context.Context) (bool, error) {
	id, err := p.g.resolve(ctx, hereRef(p.run))
	if err != nil || id != "" {
		return id != "", err
	}
	return p.HasRun(ctx) // by an older wavex
}

// SetRanHere records that the run works in this clone. A clone of the repository does not get the ref. Before the first
// commit of a repository the checkpoint of the run takes its place.
func (p *Checkpoints) SetRanHere(ctx context.Context) error {
	err := p.g.updateRefs(ctx, hereRef(p.run), "HEAD")
	if err != nil {
		if head, unknown := p.g.resolve(ctx, "HEAD"); unknown == nil && head == "" {
			return nil
		}
	}
	return err
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

// snapshot makes a commit of the checkout on top of HEAD, without a ref. If maxNew is above 0 and the files to add have
// more bytes, it returns an *Error with TooLarge.
func (p *Checkpoints) snapshot(ctx context.Context, subject string, maxNew int64) (id string, err error) {
	err = p.withAll(ctx, maxNew, func(g git) error {
		id, err = p.commit(ctx, g, subject)
		return err
	})
	return id, err
}

// addAll adds to the index g the changes of files, which are pathspecs.
func (p *Checkpoints) addAll(ctx context.Context, g git, files []string) error {
	for try := 1; ; try++ {
		// Agents may be at work: try again if a file disappears while it is read.
		err := g.run(ctx, slices.Concat(p.add, []string{"--"}, files)...)
		if exitCode(err) == usageError {
			p.add = addSparse[:2]
		}
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
		rel, err := filepath.Rel(p.g.dir, resolveLinks(path))
		if _, missing := os.Lstat(path); missing == nil && err == nil && filepath.IsLocal(rel) {
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

// largeFile is the size from which Warn is told of a file, in bytes.
const largeFile = 64 << 20

// checkNewFiles compares the index g with the files, and keeps the times of those that did not change in it: the next
// git does not read them. It tells Warn of large files among those that differ, and returns an *Error with TooLarge if
// they have more than most bytes; 0: no bound. It reports whether any differ.
func (p *Checkpoints) checkNewFiles(ctx context.Context, g git, most int64, specs []string) (changed bool, err error) {
	g = g.withEnv("GIT_OPTIONAL_LOCKS=1")
	out, err := g.output(ctx, append([]string{"status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all",
		"--ignore-submodules=dirty", "--"}, specs...)...)
	if err != nil {
		return false, err
	}
	total := int64(0)
	for _, line := range splitNUL(out) {
		path := statusPath(line)
		if path == "" || strings.HasPrefix(line, "1 ") && line[3] == '.' { // it is as in the index
			continue
		}
		changed = true
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path)))
		if err != nil || !info.Mode().IsRegular() { // others have no contents, or are gone
			continue
		}
		total += info.Size()
		if most == 0 && p.Warn != nil && info.Size() > largeFile && !slices.Contains(p.named, path) {
			p.named = append(p.named, path)
			p.Warn(fmt.Errorf("checkpoints store %q in the repository, %d MB; if they need not, let git ignore it", path,
				info.Size()>>20))
		}
	}
	if most > 0 && total > most {
		return false, &Error{Problem: TooLarge, Text: fmt.Sprintf("new and changed files have %d MB, more than %d MB",
			(total+1<<20-1)>>20, most>>20)}
	}
	return changed, nil
}

// commit makes a commit of an index on HEAD, if there is one, without a branch.
func (p *Checkpoints) commit(ctx context.Context, g git, subject string) (string, error) {
	id, err := p.commitOn(ctx, g, subject, "HEAD")
	if exitCode(err) <= 0 {
		return id, err
	}
	if head, failed := g.resolve(ctx, "HEAD"); failed != nil || head != "" {
		return "", err
	}
	return p.commitOn(ctx, g, subject, "")
}

// commitOn makes a commit of an index on a parent, or on none for "".
func (p *Checkpoints) commitOn(ctx context.Context, g git, subject, parent string) (string, error) {
	tree, err := g.output(ctx, "write-tree", "--missing-ok") // a partial clone need not fetch
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	gaps, err := p.countGaps(ctx)
	if err != nil {
		return "", err
	}
	return g.outputOf(ctx, fmt.Sprintf("%s\n\nWavex-Run: %s\n%s%d\n", subject, p.run, gapTrailer, gaps), args...)
}

func checkpointPrefix(run string) string { return "refs/wavex/" + run + ".points/" }
func beforeRef(run, task string) string {
	return checkpointPrefix(run) + "task/" + RefComponent(task) + "/before"
}
func afterRef(run, task string) string {
	return checkpointPrefix(run) + "task/" + RefComponent(task) + "/after"
}
func waveStartRef(run string, n int) string {
	return fmt.Sprintf("%swave/%d", checkpointPrefix(run), n)
}
func hereRef(run string) string     { return "refs/wavex/" + run + ".here" }
func endRef(run string) string      { return checkpointPrefix(run) + "end" }
func undoRef(run, id string) string { return checkpointPrefix(run) + "undo/" + id[:min(12, len(id))] }

// Refs returns the checkpoints of the run: the commit of each ref.
func (p *Checkpoints) Refs(ctx context.Context) (map[string]string, error) {
	return p.g.listRefs(ctx, checkpointPrefix(p.run))
}
