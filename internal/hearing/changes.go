package hearing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/agent"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/verify"
	"wavex/internal/workspace"
	"wavex/scheduler"
)

// maxChanges bounds, in bytes, what is read of each source of a diff; the panel cuts
// it to its own measure.
const maxChanges = 64 << 10

// maxNames bounds, in bytes, what is read of a list of files.
const maxNames = 4 << 20

// since is what the state of a directory is told against.
type since struct {
	dir   string
	base  string            // a commit; "": what env says, else HEAD
	env   map[string]string // compares with how the directory was before the run
	large []string          // untracked files that were there, contents unknown
}

// since compares with how the project was before the run, the user's uncommitted changes
// included; where that is not known, with the commit that it was at.
func (h *Hearing) since(dir string) since {
	if b, ok := workspace.Remembered(beforeDir(h.o.Config)); ok && h.o.Config.Isolation != scheduler.Isolated {
		return since{dir: dir, env: b.Env, large: b.Large}
	}
	return since{dir: dir, base: cmp.Or(h.o.Config.Base, "HEAD")}
}

// beforeDir is where it is kept how the project was before a run.
func beforeDir(c scheduler.Config) string { return filepath.Join(c.Loop, "runs", c.Run, "before") }

// Remember keeps how the directory that tasks share is before a run of p, for reviewers
// and panels: they judge what tasks did, not what the user had not committed yet. That it
// cannot be kept is for people to know.
func Remember(ctx context.Context, p *plan.Plan, c scheduler.Config) error {
	if c.Isolation == scheduler.Isolated || !agent.Needed(p) || c.Base == "" && !inCheckout(ctx, c.Dir) {
		return nil
	}
	return workspace.Remember(ctx, c.Dir, beforeDir(c), os.Environ())
}

// Base is the commit that a project directory is at, or "".
func Base(ctx context.Context, dir string) string {
	at, _ := git(ctx, maxNames, dir, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") // no repository, or no commit
	return strings.TrimSpace(at)
}

func inCheckout(ctx context.Context, dir string) bool {
	is, _ := git(ctx, maxNames, dir, nil, "rev-parse", "--is-inside-work-tree") // no repository
	return strings.TrimSpace(is) == "true"
}

// diff gives git's diff of the directory, in paths of the directory, whatever the user
// has told git of how diffs are to look.
func (s since) diff(ctx context.Context, args ...string) (string, error) {
	return git(ctx, maxChanges, s.dir, s.env, s.args([]string{"--src-prefix=a/", "--dst-prefix=b/"}, args)...)
}

// differ lists the files that diff tells of.
func (s since) differ(ctx context.Context, args ...string) ([]string, error) {
	out, err := git(ctx, maxNames, s.dir, s.env, s.args([]string{"--name-only", "-z"}, args)...)
	return names(out), err
}

func (s since) args(how, args []string) []string {
	cmd := append([]string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"}, how...)
	if s.base != "" {
		cmd = append(cmd, s.base)
	}
	return append(cmd, args...)
}

// changes tells what the declared files look like now, and in full where git does not know
// them. It is for people and experts to read, not to apply. With an error it is what
// could be had.
func (s since) changes(ctx context.Context, files []string) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	var b strings.Builder
	var known []string
	var err error
	if inCheckout(ctx, s.dir) {
		only := []string{"--"}
		for _, f := range files {
			only = append(only, ":(literal)"+f)
		}
		diff, err1 := s.diff(ctx, only...)
		list, err2 := git(ctx, maxNames, s.dir, s.env, append([]string{"ls-files", "-z"}, only...)...)
		b.WriteString(diff)
		known, err = names(list), errors.Join(err1, err2)
	}
	for _, f := range files {
		if slices.Contains(known, f) {
			continue
		}
		if text := head(s.dir, f); text != "" && !show(&b, f, text) {
			break
		}
	}
	return b.String(), err
}

// show adds a file that git does not know; false says that there is no room for more.
func show(b *strings.Builder, file, text string) bool {
	if b.Len() > 2*maxChanges {
		b.WriteString("and further new files\n")
		return false
	}
	fmt.Fprintf(b, "new file %s\n%s\n", file, text)
	return true
}

// names splits what git ended by NULs; the last name may have been cut off.
func names(out string) []string {
	end := strings.LastIndexByte(out, 0)
	if end < 0 {
		return nil
	}
	return strings.Split(out[:end], "\x00")
}

// git gives the begin of what a read-only git command prints. env is added to ours.
func git(ctx context.Context, most int, dir string, env map[string]string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitWait, errLong)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	// What git warns of on its standard error is no part of the answer.
	said := &bounded{left: 1 << 10}
	p, err := proc.Start(proc.Spec{Argv: append([]string{"git", "--no-optional-locks", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false"}, args...),
		Dir: dir, Env: proc.Environ(os.Environ(), env), Stderr: said})
	if err != nil {
		return "", err
	}
	out := &bounded{left: most}
	whole := make(chan struct{})
	go func() {
		defer close(whole)
		_, _ = io.Copy(out, p.Stdout) // an error is the end of it: the exit code tells
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill()
	}
	exit := p.Wait()
	<-whole
	switch {
	case exit.Code == 0:
		return out.b.String(), nil
	case context.Cause(ctx) != nil:
		return "", fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	return "", fmt.Errorf("git %s: exit code %d: %s", args[0], exit.Code, verify.OneLine(said.b.String(), 300))
}

// gitWait bounds one git command.
const gitWait = 10 * time.Second

var errLong = errors.New("git took too long")

// bounded keeps the first bytes and takes the rest without keeping them.
type bounded struct {
	b    bytes.Buffer
	left int
}

func (w *bounded) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.b.Write(p[:n])
	return len(p), nil
}
