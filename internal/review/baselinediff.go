package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
)

// maxDiff is the number of bytes that are read of each source of a diff. The panel shortens the
// diff further.
const maxDiff = 64 << 10

// maxFileList is the number of bytes that are read of a list of files.
const maxFileList = 4 << 20

// baseline is the state that a directory is compared with.
type baseline struct {
	dir   string
	base  string            // a commit; "": the state that env selects, else HEAD
	env   map[string]string // variables that make git compare with the directory before the run
	large []string          // untracked files that existed before, of unknown contents
}

// baselineOf returns the state of the project before the run, including the user's uncommitted changes.
// If that is unknown, it returns the commit that the project was at.
func (h *Coordinator) baselineOf(dir string) baseline {
	c := h.opts.Config
	if b, ok := gitwork.LoadBaseline(c.Loop.Run(c.Run, loop.Baseline)); ok && c.Isolation != event.Isolated {
		return baseline{dir: dir, env: b.Env, large: b.Large}
	}
	return baseline{dir: dir, base: cmp.Or(c.Base, "HEAD")}
}

// SaveBaseline records the state of a shared directory before a run of p, for reviewers and panels:
// they judge the work of tasks, not the user's uncommitted changes. The caller should report an
// error to people.
func SaveBaseline(ctx context.Context, p *plan.Plan, c event.Config) error {
	if c.Isolation == event.Isolated || !agent.NeedsAgent(p) || c.Base == "" && !inCheckout(ctx, c.Dir) {
		return nil
	}
	return gitwork.SaveBaseline(ctx, c.Dir, c.Loop.Run(c.Run, loop.Baseline), os.Environ())
}

// HeadCommit returns the commit that a project directory is at, or "".
func HeadCommit(ctx context.Context, dir string) string {
	if !gitwork.HasRepository(dir) {
		return ""
	}
	at, _ := git(ctx, maxFileList, dir, nil, "rev-parse", "--verify", "--quiet",
		"HEAD^{commit}") // an error: no repository, or no commit
	return strings.TrimSpace(at)
}

func inCheckout(ctx context.Context, dir string) bool {
	if !gitwork.HasRepository(dir) {
		return false
	}
	is, _ := git(ctx, maxFileList, dir, nil, "rev-parse", "--is-inside-work-tree") // an error: no repository
	return strings.TrimSpace(is) == "true"
}

// inCheckout reports whether the directory is in a checkout. A state that was read from a repository needs no git.
func (s baseline) inCheckout(ctx context.Context) bool {
	if s.env != nil || s.base != "HEAD" {
		return gitwork.HasRepository(s.dir)
	}
	return inCheckout(ctx, s.dir)
}

// diff returns git's diff of the directory, with paths relative to it, whatever the user's
// configuration of diffs is.
func (s baseline) diff(ctx context.Context, args ...string) (string, error) {
	return git(ctx, maxDiff, s.dir, s.env, s.diffArgs([]string{"--src-prefix=a/", "--dst-prefix=b/"}, args)...)
}

// changedFiles returns the files that diff shows.
func (s baseline) changedFiles(ctx context.Context, args ...string) ([]string, error) {
	out, err := git(ctx, maxFileList, s.dir, s.env, s.diffArgs([]string{"--name-only", "-z"}, args)...)
	return splitNUL(out), err
}

func (s baseline) diffArgs(how, args []string) []string {
	cmd := append([]string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"}, how...)
	if s.base != "" {
		cmd = append(cmd, s.base)
	}
	return append(cmd, args...)
}

// describeFiles returns the diff of the declared files, and the full text of those that git does not
// know. It is for people and experts to read, and cannot be applied. With an error it returns the
// part that it could read.
func (s baseline) describeFiles(ctx context.Context, files []string) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	var b strings.Builder
	var known []string
	var err error
	if s.inCheckout(ctx) {
		only := []string{"--"}
		for _, f := range files {
			only = append(only, ":(literal)"+f)
		}
		diff, err1 := s.diff(ctx, only...)
		list, err2 := git(ctx, maxFileList, s.dir, s.env, append([]string{"ls-files", "-z"}, only...)...)
		b.WriteString(diff)
		known, err = splitNUL(list), errors.Join(err1, err2)
	}
	for _, f := range files {
		if slices.Contains(known, f) {
			continue
		}
		if text := fileText(s.dir, f); text != "" && !appendNewFile(&b, f, text) {
			break
		}
	}
	return b.String(), err
}

// appendNewFile appends a file that git does not know. It returns false if there is no room for more.
func appendNewFile(b *strings.Builder, file, text string) bool {
	if b.Len() > 2*maxDiff {
		b.WriteString("and further new files\n")
		return false
	}
	fmt.Fprintf(b, "new file %s\n%s\n", file, text)
	return true
}

// splitNUL splits git's NUL-terminated output. It drops a last name without NUL, which may be cut off.
func splitNUL(out string) []string {
	end := strings.LastIndexByte(out, 0)
	if end < 0 {
		return nil
	}
	return strings.Split(out[:end], "\x00")
}

// git returns the first most bytes of the output of a read-only git command. env is added to
// wavex's environment.
func git(ctx context.Context, most int, dir string, env map[string]string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, errGitTimeout)
	defer cancel()
	return gitwork.Read(ctx, dir, env, most, args...)
}

// gitTimeout limits the time of one git command.
const gitTimeout = 10 * time.Second

var errGitTimeout = errors.New("git took too long")
