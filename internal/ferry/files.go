package ferry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/internal/safefile"
)

// This file makes commits of files, and files of commits. Such a commit has no parents.

// MaxFile bounds a packed file, in bytes. Of a longer one the end is packed.
const MaxFile = 50 << 20

// maxFiles bounds the files of a commit that Unpack writes, and maxUnpacked their size, in bytes.
const (
	maxFiles    = 10_000
	maxUnpacked = 256 << 20
)

// Pack makes a commit of files. files has their paths on disk, and texts the contents of others, by their names in the
// commit, which are slash-separated. It leaves out files that do not exist.
func (f *Ferry) Pack(ctx context.Context, message string, files map[string]string,
	texts map[string][]byte) (commit string, err error) {
	var index strings.Builder
	for name, text := range texts {
		id, err := f.git.Output(ctx, string(text), "hash-object", "-w", "--no-filters", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&index, "100644 %s\t%s\x00", id, name)
	}
	for name, from := range files {
		id, err := f.store(ctx, from)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("packing %s: %w", name, err)
		}
		fmt.Fprintf(&index, "100644 %s\t%s\x00", id, name)
	}
	dir, err := os.MkdirTemp("", "wavex-index-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary index
	git := f.git.WithEnv("GIT_INDEX_FILE="+filepath.Join(dir, "index"), "GIT_AUTHOR_NAME=wavex",
		"GIT_AUTHOR_EMAIL=wavex@localhost", "GIT_COMMITTER_NAME=wavex", "GIT_COMMITTER_EMAIL=wavex@localhost")
	if index.Len() > 0 {
		if _, err := git.Output(ctx, index.String(), "update-index", "-z", "--index-info"); err != nil {
			return "", err
		}
	}
	tree, err := git.Output(ctx, "", "write-tree")
	if err != nil {
		return "", err
	}
	return git.Output(ctx, message+"\n", "commit-tree", tree)
}

// store adds a file to the objects of the repository.
func (f *Ferry) store(ctx context.Context, from string) (id string, err error) {
	info, err := os.Lstat(from)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", from)
	}
	if info.Size() <= MaxFile {
		return f.git.Output(ctx, "", "hash-object", "-w", "--no-filters", "--", from)
	}
	end, err := readEnd(from, info.Size())
	if err != nil {
		return "", err
	}
	return f.git.Output(ctx, end, "hash-object", "-w", "--no-filters", "--stdin")
}

// readEnd returns the last lines of a file of the given size, after a line with the number of missing bytes.
func readEnd(from string, size int64) (text string, err error) {
	file, err := safefile.Open(from)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // read only: no data can be lost
	end := make([]byte, MaxFile)
	n, err := file.ReadAt(end, size-MaxFile)
	if n < len(end) {
		return "", err
	}
	_, rest, _ := strings.Cut(string(end), "\n")
	return fmt.Sprintf("[wavex: the first %d bytes are missing]\n%s", size-int64(len(rest)), rest), nil
}

// Unpack writes the files of a commit, readable by the owner alone. A name has two parts: dirs has the directories by
// the first, and the second is the name of the file there. Files of other directories are left out. redact removes
// secrets from each file; nil: nothing is removed. A commit with anything but plain files with such names is an error,
// and nothing of it is written.
func (f *Ferry) Unpack(ctx context.Context, commit string, dirs map[string]string, redact func([]byte) []byte) error {
	list, err := f.git.Output(ctx, "", "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
	if err != nil {
		return err
	}
	paths := map[string]string{} // objects by path
	var size int64
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if entry == "" {
			continue
		}
		facts, name, _ := strings.Cut(entry, "\t")
		fields, kind, file := strings.Fields(facts), path.Dir(name), path.Base(name)
		if len(fields) != 4 || fields[0] != "100644" || strings.Contains(kind, "/") || filepath.Base(file) != file {
			return fmt.Errorf("commit %s has %q, which is no plain file", commit, entry)
		}
		n, err := strconv.ParseInt(fields[3], 10, 64)
		if size += n; err != nil || size > maxUnpacked || len(paths) == maxFiles {
			return fmt.Errorf("commit %s has more than %d files or %d bytes", commit, maxFiles, maxUnpacked)
		}
		if dir := dirs[kind]; dir != "" {
			paths[filepath.Join(dir, file)] = fields[2]
		}
	}
	for to, id := range paths {
		text, err := f.Show(ctx, id)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if redact != nil {
			text = redact(text)
		}
		if err == nil {
			err = safefile.Write(to, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Show returns the content of a file, which is an object id or COMMIT:NAME.
func (f *Ferry) Show(ctx context.Context, file string) ([]byte, error) {
	text, err := f.git.Raw(ctx, "cat-file", "blob", file)
	return []byte(text), err
}
