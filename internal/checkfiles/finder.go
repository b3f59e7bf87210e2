package checkfiles

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"wavex/internal/safefile"
)

// This file lists and reads the files of a project.

// These bound the search for the files of a project.
const (
	maxWalk  = 20_000 // entries of one directory tree
	maxFiles = 5_000  // files of one check
	maxText  = 1 << 20
	maxDepth = 2 // scripts that scripts run
)

// Finder finds files below Root, which is absolute. It reads each directory tree once, so it is for one moment, and
// not safe for concurrent use.
type Finder struct {
	Root string
	// NoHelpers omits the packages of Go that tests assert with. It is for a second search, for new files: a new helper
	// disables no test, and the search for helpers reads all tests.
	NoHelpers bool

	trees    map[string][]string // files by directory
	kinds    map[string]Kind     // by file
	imported map[string][]string // packages by file
}

// walk returns the files below dir, without those of skipped directories.
func (f *Finder) walk(dir string) []string {
	if files, known := f.trees[dir]; known {
		return files
	}
	var files []string
	seen := 0
	_ = filepath.WalkDir(f.abs(dir), func(at string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case seen > maxWalk:
			return fs.SkipAll
		case err != nil: // unreadable files are not known
		case d.IsDir():
			if at != f.abs(dir) && skipDir(d.Name()) {
				return fs.SkipDir
			}
		default:
			if rel, err := filepath.Rel(f.Root, at); err == nil {
				files = append(files, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	if f.trees == nil {
		f.trees = map[string][]string{}
	}
	f.trees[dir] = files
	return files
}

// list returns the files in dir itself.
func (f *Finder) list(dir string) (files []string) {
	entries, _ := os.ReadDir(f.abs(dir)) // an unreadable directory has no known files
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, path.Join(dir, e.Name()))
		}
	}
	return files
}

// kindOf returns the kind of a file.
func (f *Finder) kindOf(file string) Kind {
	kind, known := f.kinds[file]
	if !known {
		if f.kinds == nil {
			f.kinds = map[string]Kind{}
		}
		kind = kindOf(file)
		f.kinds[file] = kind
	}
	return kind
}

func (f *Finder) abs(file string) string { return filepath.Join(f.Root, filepath.FromSlash(file)) }

// text returns the beginning of a file of the project, or nil.
func (f *Finder) text(file string) []byte {
	text, _ := safefile.ReadHead(f.abs(file), maxText) // a missing file has no text
	return text
}

func (f *Finder) isFile(dir, word string) bool {
	st, err := os.Lstat(f.abs(path.Join(dir, word)))
	return err == nil && !st.IsDir()
}

func (f *Finder) isDir(dir, word string) bool {
	st, err := os.Stat(f.abs(path.Join(dir, word)))
	return err == nil && st.IsDir()
}
