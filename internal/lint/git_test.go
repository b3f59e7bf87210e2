package lint

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
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
