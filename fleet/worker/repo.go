package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"wavex/fleet/ferry"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
)

// This file has the repositories of a worker.

// reposDir is the folder of the repositories in a worker's directory, and remoteKey the key of the git remote in the
// configuration of one.
const (
	reposDir  = "repos"
	remoteKey = "wavex.remote"
)

// repo is the repository of a git remote, which the attempts of all its runs share.
type repo struct {
	dir   string
	ferry *ferry.Ferry

	subjects sync.Map // of commits, by run and task

	mu   sync.Mutex
	runs map[string]*runTrees // by run
}

// runTrees has the worktrees of a run, as its plan sets them up.
type runTrees struct {
	*gitwork.Manager
	setup    plan.Setup
	noVerify bool
	attempts int // that use them
}

// repo returns the repository of a git remote. It makes one at the first call.
func (w *Worker) repo(ctx context.Context, remote string) (*repo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.repos[remote]; r != nil {
		return r, nil
	}
	sum := sha256.Sum256([]byte(remote))
	r := &repo{runs: map[string]*runTrees{}}
	r.dir = filepath.Join(w.opts.Dir, reposDir, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	if err := gitwork.Init(ctx, r.dir, w.opts.Env); err != nil {
		return nil, err
	}
	git := gitwork.NewGit(ctx, r.dir, w.opts.Env).AsWavex()
	if _, err := git.Output(ctx, "", "rev-parse", "--verify", "-q", "HEAD"); err != nil {
		if _, err := git.Output(ctx, "", "commit", "-q", "--allow-empty", "--no-verify", "--no-gpg-sign", "-m",
			"Nothing is checked out here"); err != nil {
			return nil, err
		}
	}
	if _, err := git.Output(ctx, "", "config", remoteKey, remote); err != nil {
		return nil, err
	}
	r.ferry = ferry.New(ctx, r.dir, remote, w.opts.Env)
	w.repos[remote] = r
	return r, nil
}

// loop returns the .loop of the repository.
func (r *repo) loop() loop.Dir { return loop.In(r.dir) }

// open returns the worktrees of the run of an attempt. The caller must call done after it.
func (r *repo) open(ctx context.Context, a *attempt) (m *gitwork.Manager, done func(), err error) {
	req := &a.req.Attempt
	run := req.Run
	r.subjects.Store(run+"/"+req.Task, a.req.Subject)
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.runs[run]
	// A resume may have another plan.
	if t != nil && (!reflect.DeepEqual(t.setup, a.req.Setup) || t.noVerify != a.req.NoVerify) {
		if t.attempts > 0 {
			return nil, nil, errors.New("attempts of an earlier session still use the setup of the plan before")
		}
		delete(r.runs, run)
		if err := t.Close(ctx); err != nil {
			return nil, nil, err
		}
		t = nil
	}
	if t == nil {
		t = &runTrees{setup: a.req.Setup, noVerify: a.req.NoVerify}
		t.Manager, err = gitwork.Open(ctx, gitwork.Options{Project: r.dir, Loop: r.loop(), Run: run,
			Mark: a.opts.Mark + "/" + run, Mode: gitwork.Worktree, Base: req.Commit, Setup: t.setup,
			NoVerify: t.noVerify, Env: a.opts.Env, Pass: a.opts.Pass, Warn: a.opts.Warn, Subject: func(task string) string {
				subject, _ := r.subjects.Load(run + "/" + task)
				text, _ := subject.(string)
				return text
			}})
		if err != nil {
			return nil, nil, fmt.Errorf("opening its worktrees: %w", err)
		}
		r.runs[run] = t
	}
	t.attempts++
	return t.Manager, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		t.attempts--
	}, nil
}

func (r *repo) close(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, t := range r.runs {
		errs = append(errs, t.Close(ctx))
	}
	return errors.Join(errs...)
}
