package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"wavex/internal/wary"
)

// This file makes checkpoints of a shared directory: commits of everything in the checkout that git
// does not ignore, below refs/wavex, without touching the user's index, branches and stash. It does
// not know which tasks need them; rollback.go returns to them.

// Points makes the checkpoints of one run. Its methods are safe for concurrent use.
type Points struct {
	run string
	g   git // in the top directory of the checkout

	mu    sync.Mutex
	waves map[int]*once
}

// once makes a wave's checkpoint one time; concurrent callers wait for it.
type once struct {
	done chan struct{}
	err  error
}

// OpenPoints opens the repository of a project. An *Error says that there is none, and therefore no
// checkpoints.
func OpenPoints(ctx context.Context, project, run string, env []string) (*Points, error) {
	if !fitRun(run) {
		return nil, &Error{Problem: BadRun, Text: fmt.Sprintf("%q cannot name a ref", run)}
	}
	g := newGit(project, env)
	c, err := look(ctx, g, project)
	if err != nil {
		var unfit *Error
		if errors.As(err, &unfit) {
			unfit.Fix = "" // the advice is about worktrees
		}
		return nil, err
	}
	return &Points{run: run, g: g.at(c.top).with("GIT_AUTHOR_NAME=wavex", "GIT_AUTHOR_EMAIL=wavex@localhost",
		"GIT_COMMITTER_NAME=wavex", "GIT_COMMITTER_EMAIL=wavex@localhost"), waves: map[int]*once{}}, nil
}

// Before makes a checkpoint before a task begins. A later attempt does not replace it: it begins on
// the changes of the first.
func (p *Points) Before(ctx context.Context, task string) error {
	return p.first(ctx, beforeRef(p.run, task), "Before task "+task)
}

// After makes a checkpoint when an attempt has ended, with any outcome.
func (p *Points) After(ctx context.Context, task string) error {
	return p.set(ctx, afterRef(p.run, task), "After task "+task)
}

// Wave makes a checkpoint before a wave begins, unless an earlier call or session has made it.
// Concurrent calls wait for it.
func (p *Points) Wave(ctx context.Context, wave int) error {
	p.mu.Lock()
	o, begun := p.waves[wave]
	if !begun {
		o = &once{done: make(chan struct{})}
		p.waves[wave] = o
	}
	p.mu.Unlock()
	if !begun {
		o.err = p.first(ctx, wavePoint(p.run, wave), fmt.Sprintf("Before wave %d", wave))
		close(o.done)
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End makes a checkpoint when a session ends. Later differences are not the run's.
func (p *Points) End(ctx context.Context) error {
	return p.set(ctx, endRef(p.run), "The end of a session")
}

func (p *Points) first(ctx context.Context, ref, subject string) error {
	if id, err := p.g.resolve(ctx, ref); err != nil || id != "" {
		return err
	}
	return p.set(ctx, ref, subject)
}

func (p *Points) set(ctx context.Context, ref, subject string) error {
	id, err := p.snapshot(ctx, subject)
	if err != nil {
		return fmt.Errorf("making the checkpoint %s: %w", ref, err)
	}
	return p.g.setRefs(ctx, ref, id)
}

// snapshot makes a commit of the checkout without a ref.
func (p *Points) snapshot(ctx context.Context, subject string) (string, error) {
	g, done, err := p.aside(ctx, true)
	if err != nil {
		return "", err
	}
	defer done()
	for try := 1; ; try++ {
		// Agents may be at work: try again if a file disappears while it is read.
		err := g.run(ctx, "add", "-A", "--", ":/")
		if err == nil {
			break
		}
		if exitCode(err) <= 0 || try == 3 {
			return "", err
		}
	}
	return p.commit(ctx, g, subject)
}

// commit makes a commit of an index, without a branch.
func (p *Points) commit(ctx context.Context, g git, subject string) (string, error) {
	tree, err := g.out(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	head, err := g.resolve(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if head != "" {
		args = append(args, "-p", head)
	}
	refs, err := p.Commits(ctx)
	if err != nil {
		return "", err
	}
	return g.feed(ctx, fmt.Sprintf("%s\n\nWavex-Run: %s\n%s%d\n", subject, p.run, gapTrailer, gapsIn(p.run, refs)),
		args...)
}

// maxIndex is the largest index that is read, in bytes.
const maxIndex = 1 << 30

// aside returns a git with an index of its own: a copy of the user's, which avoids reading every
// file, or an empty one. The caller must call done, which removes it.
func (p *Points) aside(ctx context.Context, filled bool) (g git, done func(), err error) {
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
	if filled {
		path, err := p.g.out(ctx, "rev-parse", "--git-path", "index")
		if err != nil {
			return g, nil, err
		}
		if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
			path = filepath.Join(p.g.dir, path)
		}
		text, err := wary.Read(path, maxIndex)
		switch {
		case errors.Is(err, fs.ErrNotExist): // no file was ever added
		case err != nil:
			return g, nil, err
		default:
			if err := os.WriteFile(index, text, 0o600); err != nil {
				return g, nil, err
			}
		}
	}
	return p.g.with("GIT_INDEX_FILE=" + index), remove, nil
}

func pointPrefix(run string) string { return "refs/wavex/" + run + ".points/" }
func beforeRef(run, task string) string {
	return pointPrefix(run) + "task/" + component(task) + "/before"
}
func afterRef(run, task string) string {
	return pointPrefix(run) + "task/" + component(task) + "/after"
}
func wavePoint(run string, n int) string { return fmt.Sprintf("%swave/%d", pointPrefix(run), n) }
func endRef(run string) string           { return pointPrefix(run) + "end" }
func undoRef(run, id string) string      { return pointPrefix(run) + "undo/" + id[:min(12, len(id))] }

// Commits returns the checkpoints of the run: the commit of each ref.
func (p *Points) Commits(ctx context.Context) (map[string]string, error) {
	out, err := p.g.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)", pointPrefix(p.run))
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for _, line := range lines(out) {
		id, ref, _ := strings.Cut(line, " ")
		refs[ref] = id
	}
	return refs, nil
}
