package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/gitwork"
)

// maxDiff is the number of bytes that are read of each source of a diff. The panel shortens the
// diff further.
const maxDiff = 64 << 10

// maxFileList is the number of bytes that are read of a list of files.
const maxFileList = 4 << 20

// baseline is the state that a directory is compared with.
type baseline struct {
	dir   string
	base  string            // a commit; "": the state that env selects
	env   map[string]string // variables of git
	whole bool              // env selects the state of the directory before the run
}

// baselineOf returns the state of the project before the run, with the user's uncommitted changes, which are not work
// of tasks, or the commit that the run began on without a checkpoint. If err is nil, the caller must call done.
func (h *Coordinator) baselineOf(ctx context.Context, dir string) (b baseline, done func(), err error) {
	b.dir = dir
	if h.opts.Checkpoints == nil {
		if h.opts.Config.Isolation == event.Isolated {
			b.base = h.opts.Config.Base
		}
		return b, func() {}, nil
	}
	if b.env, b.whole, done, err = h.opts.Checkpoints.BeforeRun(ctx); !b.whole {
		b.base = h.opts.Config.Base
	}
	return b, done, err
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

// inGit reports whether git can compare the directory with the state.
func (s baseline) inGit() bool { return (s.whole || s.base != "") && gitwork.HasRepository(s.dir) }

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
// know. It is for people and experts to read, and cannot be applied. If it returns an error, it
// also returns the part that it could read.
func (s baseline) describeFiles(ctx context.Context, files []string) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	var b strings.Builder
	var known []string
	var err error
	if s.inGit() {
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
