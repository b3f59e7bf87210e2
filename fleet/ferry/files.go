package ferry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/safefile"
)

// This file makes commits of files, and files of commits. Such a commit has no parents.

// MaxFile bounds a packed file, in bytes. Log files are shorter by themselves, see runner.Host.CreateLog.
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
	ids, err := f.storeFiles(ctx, files)
	if err != nil {
		return "", err
	}
	var index strings.Builder
	for name, text := range texts {
		if ids[name], err = f.git.Output(ctx, string(text), "hash-object", "-w", "--no-filters", "--stdin"); err != nil {
			return "", err
		}
	}
	for name, id := range ids {
		fmt.Fprintf(&index, "100644 %s\t%s\x00", id, name)
	}
	git, done, err := f.git.AsWavex().EmptyIndex()
	if err != nil {
		return "", err
	}
	defer done()
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

// storeFiles adds files to the objects of the repository, and returns the ids of those that exist, by their names.
func (f *Ferry) storeFiles(ctx context.Context, files map[string]string) (ids map[string]string, err error) {
	ids = map[string]string{}
	var names []string // of files that one git can add
	var paths strings.Builder
	for name, from := range files {
		info, err := os.Lstat(from)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("packing %s: %s is no regular file", name, from)
		case info.Size() > MaxFile:
			return nil, fmt.Errorf("packing %s: it has %d bytes, more than %d", from, info.Size(), MaxFile)
		case strings.Contains(from, "\n"):
			if ids[name], err = f.git.Output(ctx, "", "hash-object", "-w", "--no-filters", "--", from); err != nil {
				return nil, err
			}
		default:
			names = append(names, name)
			paths.WriteString(from + "\n")
		}
	}
	if len(names) == 0 {
		return ids, nil
	}
	out, err := f.git.Output(ctx, paths.String(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	all := strings.Fields(out)
	if err == nil && len(all) != len(names) {
		err = fmt.Errorf("git hash-object printed %d ids for %d files", len(all), len(names))
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		ids[name] = all[i]
	}
	return ids, nil
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
	texts := map[string][]byte{}
	if size <= batchedBytes {
		if texts, err = f.contents(ctx, slices.Collect(maps.Values(paths))); err != nil {
			return err
		}
	}
	for to, id := range paths {
		text, known := texts[id]
		if !known {
			if text, err = f.Show(ctx, id); err != nil {
				return err
			}
		}
		if redact != nil {
			text = redact(text)
		}
		if err := safefile.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if old, err := safefile.Read(to, int64(len(text))+1); err == nil && bytes.Equal(old, text) {
			continue // others may read it: attempts share large outputs
		}
		if err := safefile.Write(to, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// batchedBytes bounds the files that are read by one git and held in memory together.
const batchedBytes = 4 << 20

// contents returns the contents of blobs by their ids.
func (f *Ferry) contents(ctx context.Context, ids []string) (map[string][]byte, error) {
	texts := map[string][]byte{}
	if len(ids) == 0 {
		return texts, nil
	}
	out, err := f.git.Raw(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch")
	for rest := out; err == nil && rest != ""; {
		var head string
		head, rest, _ = strings.Cut(rest, "\n") // ID blob SIZE
		fields := strings.Fields(head)
		n := -1
		if len(fields) == 3 && fields[1] == "blob" {
			n, err = strconv.Atoi(fields[2])
		}
		if err != nil || n < 0 || n >= len(rest) {
			return nil, fmt.Errorf("git cat-file printed %q", head)
		}
		texts[fields[0]], rest = []byte(rest[:n]), rest[n+1:]
	}
	return texts, err
}

// Show returns the content of a file, which is an object id or COMMIT:NAME.
func (f *Ferry) Show(ctx context.Context, file string) ([]byte, error) {
	text, err := f.git.Raw(ctx, "", "cat-file", "blob", file)
	return []byte(text), err
}
