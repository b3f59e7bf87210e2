package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/agent"
	"wavex/internal/proc"
	"wavex/internal/workspace"
	"wavex/scheduler"
)

// maxChanges bounds, in bytes, what is read of each source of a diff; the panel cuts
// it to its own measure.
const maxChanges = 64 << 10

// since is what the state of a directory is told against.
type since struct {
	dir   string
	base  string            // a commit; "": what env says, else HEAD
	env   map[string]string // compares with how the directory was before the run
	large []string          // untracked files that were there, contents unknown
}

// since compares with how the project was before the run, the user's uncommitted changes
// included; where that is not known, with the commit that it was at.
func (r *Session) since(dir string) since {
	if b, ok := workspace.Remembered(r.beforeDir()); ok && r.config.Isolation != scheduler.Isolated {
		return since{dir: dir, env: b.Env, large: b.Large}
	}
	return since{dir: dir, base: cmp.Or(r.config.Base, "HEAD")}
}

func (r *Session) beforeDir() string {
	return filepath.Join(r.config.Loop, "runs", r.config.Run, "before")
}

// remember keeps how the directory that tasks share is before the run, for reviewers and
// panels: they judge what tasks did, not what the user had not committed yet.
func (r *Session) remember(ctx context.Context) {
	if r.config.Isolation == scheduler.Isolated || r.config.Base == "" && !inCheckout(ctx, r.config.Dir) || !agent.Needed(r.plan) {
		return
	}
	if err := workspace.Remember(ctx, r.config.Dir, r.beforeDir(), os.Environ()); err != nil {
		fmt.Fprintln(r.opts.Err, "wavex: warning: reviewers will see your uncommitted changes as work of the tasks:", err)
	}
}

func inCheckout(ctx context.Context, dir string) bool {
	return strings.TrimSpace(git(ctx, dir, nil, "rev-parse", "--is-inside-work-tree")) == "true"
}

// diff gives git's diff of paths of the directory.
func (s since) diff(ctx context.Context, args ...string) string {
	cmd := []string{"diff", "--no-color", "--no-ext-diff"}
	if s.base != "" {
		cmd = append(cmd, s.base)
	}
	return git(ctx, s.dir, s.env, append(cmd, args...)...)
}

// changes tells what the declared files look like now, and in full where git does not know
// them. It is for people and experts to read, not to apply; what cannot be had is left out.
func (s since) changes(ctx context.Context, files []string) string {
	if len(files) == 0 {
		return ""
	}
	out := s.diff(ctx, append([]string{"--"}, files...)...)
	var b strings.Builder
	b.WriteString(out)
	for _, f := range files {
		if strings.Contains(out, "/"+f) || git(ctx, s.dir, s.env, "ls-files", "--", f) != "" {
			continue
		}
		if text := head(filepath.Join(s.dir, filepath.FromSlash(f))); text != "" {
			fmt.Fprintf(&b, "new file %s\n%s\n", f, text)
		}
	}
	return b.String()
}

func head(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxChanges))
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}

// git gives the output of a read-only git command, or nothing. env is added to ours.
func git(ctx context.Context, dir string, env map[string]string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out := &bounded{left: maxChanges}
	p, err := proc.Start(proc.Spec{Argv: append([]string{"git", "--no-optional-locks"}, args...), Dir: dir,
		Env: proc.Environ(os.Environ(), env), Combined: out})
	if err != nil {
		return ""
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill()
	}
	if p.Wait().Code != 0 {
		return ""
	}
	return out.b.String()
}

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
