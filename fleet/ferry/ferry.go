package ferry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/async"
	"wavex/internal/gitwork"
)

// transferTimeout bounds one push or fetch.
const transferTimeout = 10 * time.Minute

// fetchTries is the number of tries to fetch refs that the remote has, and fetchPause the time between them.
const (
	fetchTries = 10
	fetchPause = 200 * time.Millisecond
)

var errTransferTimeout = fmt.Errorf("git took longer than %s", transferTimeout)

// Base returns the ref of a commit on which attempts of a run begin.
func Base(run, commit string) string { return prefix(run, "base") + commit }

// Work returns the ref of the work of an attempt, and Logs that of its log files.
func Work(run, task string, attempt int) string { return attemptRef(run, "away", task, attempt) }
func Logs(run, task string, attempt int) string { return attemptRef(run, "logs", task, attempt) }

func attemptRef(run, kind, task string, attempt int) string {
	return fmt.Sprintf("%s%s/%d", prefix(run, kind), gitwork.RefComponent(task), attempt)
}

func prefix(run, kind string) string {
	return "refs/wavex/" + gitwork.RefComponent(run) + "." + kind + "/"
}

// kinds has the kinds of refs of a run.
var kinds = []string{"base", "away", "logs"}

// Ferry moves commits between a repository and a remote. Its methods are safe for concurrent use. Their errors quote
// git.
type Ferry struct {
	git    gitwork.Git
	remote string
}

// New returns the Ferry between the repository in dir and a remote, which is a URL, a path, or the name of a remote of
// the repository. env is the environment from which that of git is made.
func New(ctx context.Context, dir, remote string, env []string) *Ferry {
	return &Ferry{gitwork.NewGit(ctx, dir, env), remote}
}

// Ref is a ref and its commit.
type Ref struct{ Name, Commit string }

// Push sets refs here and on the remote to commits of the repository. Either all refs of the remote change, or none.
func (f *Ferry) Push(ctx context.Context, refs ...Ref) error {
	var updates strings.Builder
	args := []string{"--atomic", f.remote}
	for _, r := range refs {
		fmt.Fprintf(&updates, "update %s %s\n", r.Name, r.Commit)
		args = append(args, "+"+r.Commit+":"+r.Name)
	}
	if _, err := f.git.Output(ctx, updates.String(), "update-ref", "--no-deref", "--stdin"); err != nil {
		return err
	}
	for left := len(refs); ; {
		err := f.push(ctx, args...)
		if err == nil {
			return nil
		}
		// Another push may just have made one of the refs: attempts that start together have the same base.
		missing := f.missing(ctx, refs)
		switch missing {
		case 0:
			return nil
		case left:
			return err
		}
		left = missing
	}
}

// missing returns the number of refs that the remote does not have, or all if it cannot be asked.
func (f *Ferry) missing(ctx context.Context, refs []Ref) (n int) {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	there, err := f.Find(ctx, names...)
	for _, r := range refs {
		if err != nil || there[r.Name] != r.Commit {
			n++
		}
	}
	return n
}

// Fetch brings refs of the remote, and their commits, to the repository. An error may mean that the remote has not all
// of them.
func (f *Ferry) Fetch(ctx context.Context, names ...string) error {
	args := []string{"fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", f.remote}
	for _, name := range names {
		args = append(args, "+"+name+":"+name)
	}
	for try := 1; ; try++ {
		err := f.transfer(ctx, args...)
		if err == nil || try == fetchTries {
			return err
		}
		// git refuses to fetch while another git makes a worktree of the repository, whose HEAD is not a commit yet.
		there, findErr := f.Find(ctx, names...)
		if findErr != nil || len(there) < len(names) || async.Sleep(ctx, fetchPause) != nil {
			return err
		}
	}
}

// Has reports whether the repository has a commit.
func (f *Ferry) Has(ctx context.Context, commit string) bool {
	_, err := f.git.Output(ctx, "", "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// Find returns the commits of those refs that the remote has, by name.
func (f *Ferry) Find(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := f.list(ctx, names...)
	for name := range out { // a pattern also matches the end of longer names
		if !slices.Contains(names, name) {
			delete(out, name)
		}
	}
	return out, err
}

// Sweep returns the number of refs of a run on the remote. Unless dry is set it removes them, and those of the
// repository, and returns how many it has removed from the remote.
func (f *Ferry) Sweep(ctx context.Context, run string, dry bool) (removed int, err error) {
	var args, patterns []string
	for _, kind := range kinds {
		patterns = append(patterns, prefix(run, kind)+"*")
	}
	there, err := f.list(ctx, patterns...)
	if err != nil || dry {
		return len(there), err
	}
	for name := range there {
		args = append(args, ":"+name)
	}
	slices.Sort(args)
	for part := range slices.Chunk(args, 500) { // arguments have a limit
		if err := f.push(ctx, append([]string{f.remote}, part...)...); err != nil {
			return removed, err
		}
		removed += len(part)
	}
	return removed, f.Forget(ctx, run)
}

// Forget removes the refs of a run from the repository alone.
func (f *Ferry) Forget(ctx context.Context, run string) error {
	var deletes strings.Builder
	for _, kind := range kinds {
		names, err := f.git.Output(ctx, "", "for-each-ref", "--format=delete %(refname)", prefix(run, kind))
		if err != nil {
			return err
		}
		if names != "" {
			deletes.WriteString(names + "\n")
		}
	}
	if deletes.Len() == 0 {
		return nil
	}
	_, err := f.git.Output(ctx, deletes.String(), "update-ref", "--no-deref", "--stdin")
	return err
}

// Kept returns the refs of the work and the logs of a run that the repository has.
func (f *Ferry) Kept(ctx context.Context, run string) (refs []Ref, err error) {
	out, err := f.git.Output(ctx, "", "for-each-ref", "--format=%(objectname) %(refname)", prefix(run, "away"),
		prefix(run, "logs"))
	for line := range strings.Lines(out) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs = append(refs, Ref{name, commit})
		}
	}
	return refs, err
}

// Probe pushes a commit to a ref of its own below refs/wavex and removes it again, to see whether the remote takes such
// refs.
func (f *Ferry) Probe(ctx context.Context, commit, name string) error {
	ref := "refs/wavex/probe." + gitwork.RefComponent(name)
	if err := f.push(ctx, f.remote, "+"+commit+":"+ref); err != nil {
		return err
	}
	return f.push(ctx, f.remote, ":"+ref)
}

// list returns the refs of the remote that patterns match.
func (f *Ferry) list(ctx context.Context, patterns ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, transferTimeout, errTransferTimeout)
	defer cancel()
	out, err := f.git.Output(ctx, "", append([]string{"ls-remote", "--refs", f.remote}, patterns...)...)
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			refs[name] = commit
		}
	}
	return refs, err
}

// push pushes refs and nothing else: settings of the user for pushes of branches, such as push.followTags, do not
// apply.
func (f *Ferry) push(ctx context.Context, args ...string) error {
	return f.transfer(ctx, append([]string{"push", "-q", "--no-verify", "--no-follow-tags", "--no-signed",
		"--recurse-submodules=no"}, args...)...)
}

// transfer runs a git that talks to the remote.
func (f *Ferry) transfer(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, transferTimeout, errTransferTimeout)
	defer cancel()
	_, err := f.git.Output(ctx, "", args...)
	return err
}
