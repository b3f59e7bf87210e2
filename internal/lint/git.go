package main

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// base is the commit since which subjects are counted. Its own subject has 71 columns.
	base       = "2801c53cc23d19ab7ab1d4a1b4be74a1b986f51d"
	maxSubject = 72 // columns
)

// git runs git in root and returns its standard output.
func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// listFiles returns the files of the repository that git does not ignore, relative to root and with slashes. In an
// exported tree without git it returns all files outside hidden directories.
func listFiles(ctx context.Context, root string) ([]string, error) {
	out, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err == nil && out != "" {
		return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
	}
	return walkFiles(root)
}

// walkFiles returns the files below root outside hidden directories, relative to root and with slashes.
func walkFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != root && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		rel, err := filepath.Rel(root, name)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	return files, err
}

type subject struct{ hash, text string }

// longSubjects returns the commits after base whose subjects are too long. It returns none if the history does not
// reach back to base, as in a shallow clone or an exported tree.
func longSubjects(ctx context.Context, root string) []subject {
	if _, err := git(ctx, root, "merge-base", "--is-ancestor", base, "HEAD"); err != nil {
		return nil
	}
	out, err := git(ctx, root, "log", "--no-merges", "--format=%h %s", base+"..HEAD")
	if err != nil {
		return nil
	}
	return longSubjectsIn(out)
}

// longSubjectsIn returns the long subjects among lines of hash and subject.
func longSubjectsIn(log string) []subject {
	var found []subject
	for line := range strings.Lines(log) {
		hash, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if width(text) > maxSubject {
			found = append(found, subject{hash, text})
		}
	}
	return found
}

// additions holds added lines by file. Line 0 stands for every line of a new file.
type additions map[string]map[int]bool

func (a additions) has(f fault) bool { return a[f.file][f.line] || a[f.file][0] }

// addedLines returns the lines that were added since the ceilings were last written, committed or not. A fault above a
// ceiling is most likely among them. It returns nil without git.
func addedLines(ctx context.Context, root string) additions {
	commit, err := git(ctx, root, "log", "-1", "--format=%H", "--", "internal/lint/testdata/ceilings.txt")
	if err != nil || commit == "" {
		return nil
	}
	diff, err := git(ctx, root, "diff", "--unified=0", "--no-ext-diff", "--no-color", "--src-prefix=a/",
		"--dst-prefix=b/", strings.TrimSpace(commit))
	if err != nil {
		return nil
	}
	added := parseDiff(diff)
	untracked, err := git(ctx, root, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return added
	}
	for file := range strings.SplitSeq(untracked, "\x00") {
		added[file] = map[int]bool{0: true}
	}
	return added
}

// parseDiff returns the added lines of a unified diff without context.
func parseDiff(diff string) additions {
	added := additions{}
	file := ""
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = name
			added[file] = map[int]bool{}
			continue
		}
		if !strings.HasPrefix(line, "@@ ") || file == "" {
			continue
		}
		_, hunk, _ := strings.Cut(line, " +")
		hunk, _, _ = strings.Cut(hunk, " ")
		first, size, ranged := strings.Cut(hunk, ",")
		start, _ := strconv.Atoi(first)
		n := 1
		if ranged {
			n, _ = strconv.Atoi(size)
		}
		for i := range n {
			added[file][start+i] = true
		}
	}
	return added
}
