package hearing

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
	"wavex/internal/plan"
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
	if c.Isolation == scheduler.Isolated || c.Base == "" && !inCheckout(ctx, c.Dir) || !agent.Needed(p) {
		return nil
	}
	return workspace.Remember(ctx, c.Dir, beforeDir(c), os.Environ())
}

// Base is the commit that a project directory is at, or "".
func Base(ctx context.Context, dir string) string {
	return strings.TrimSpace(git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
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
