package userfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"wavex/internal/filetree"
	"wavex/internal/safefile"
	"wavex/runner"
)

// These are bounds of the comparison. A listed folder with more files is not compared, and a larger file, by its size
// and time, is not put back.
const (
	maxFiles = 2_000
	maxFile  = 1 << 20
	maxSaved = 32 << 20 // bytes of all files together
)

// Guard compares the user's files with those of its beginning, of which it has copies in memory, and puts them back.
// Its methods are safe for concurrent use.
type Guard struct {
	home, project string
	patterns      []string
	kept          string // the folder of changed versions
	warn          func(error)

	mu      sync.Mutex
	lister  filetree.Lister
	real    []string        // files and folders behind links
	omitted map[string]bool // listed paths of the project, and folders with too many files
	was     filetree.Tree   // by absolute paths
	saved   map[string]saved
	changes []runner.Tamper
	working int // attempts
}

// saved is a file as it was.
type saved struct {
	mode fs.FileMode
	text []byte
	link string
}

// New returns a Guard of the files as they are now. It moves changed versions into the folder kept, which need not
// exist. It tells warn of changes while no attempt works. Behind a wall agents cannot write the folders on PATH, so
// what changes there is the user's, and not compared.
func New(env []string, project, kept string, walled bool, warn func(error)) *Guard {
	g := &Guard{home: homeOf(env), project: project, kept: kept, warn: warn, omitted: map[string]bool{},
		saved: map[string]saved{}}
	if g.patterns = listed(env, false); !walled {
		g.patterns = append(g.patterns, programs(env, g.home)...)
	}
	for _, path := range present(g.patterns, project) {
		if real := resolved(path); isWork(path, project) {
			g.omitted[path] = true
		} else if real != path {
			g.real = append(g.real, real)
		}
	}
	g.was = g.scan()
	for path := range g.omitted {
		maps.DeleteFunc(g.was, func(at string, _ filetree.State) bool { return isIn(at, path) })
	}
	left := int64(maxSaved)
	for path := range g.was {
		st, err := os.Lstat(path)
		if err != nil || st.Size() > min(left, maxFile) {
			continue
		}
		s := saved{mode: st.Mode()}
		if s.mode.IsRegular() {
			s.text, err = safefile.Read(path, maxFile)
		} else {
			s.link, err = os.Readlink(path)
		}
		if err == nil {
			g.saved[path], left = s, left-st.Size()
		}
	}
	return g
}

// scan returns the files as they are now.
func (g *Guard) scan() filetree.Tree {
	t := filetree.Tree{}
	for _, path := range append(present(g.patterns, g.project), g.real...) {
		if g.omitted[path] {
			continue
		}
		n := 0
		_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // unreadable files are not compared
			case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
				return fs.SkipDir
			case d.IsDir() || d.Type()&^fs.ModeSymlink != 0 || d.Name() == "claude": // its updater moves this link
				return nil
			}
			if n++; g.was == nil && n > maxFiles {
				g.omitted[path] = true
				return fs.SkipAll
			}
			t[at] = g.lister.State(at, maxFile)
			return nil
		})
	}
	return t
}

// Changes puts changed files back, and returns all changes since the number of them was since, also those that other
// calls have found. begun is 1 where an attempt begins, and -1 where one ends.
func (g *Guard) Changes(since, begun int) []runner.Tamper {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.compare()
	g.working += begun
	return slices.Clone(g.changes[since:])
}

// compare finds changes and puts the files back.
func (g *Guard) compare() {
	changes := g.was.Changes(g.scan())
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if _, err := os.Lstat(path); err != nil && g.was[path] == "" {
			continue // it went with its folder
		}
		name := path
		if rel, err := filepath.Rel(g.home, path); err == nil && filepath.IsLocal(rel) {
			name = "~/" + filepath.ToSlash(rel)
		}
		c := runner.Tamper{Path: name, Why: "it outlives the run; " + g.putBack(path)}
		if g.changes = append(g.changes, c); g.working == 0 {
			g.warn(fmt.Errorf("while no task worked, something changed %s", c))
		}
		if g.was[path] = g.lister.State(path, maxFile); g.was[path] == "" {
			delete(g.was, path)
		}
	}
}

// putBack restores a file, and returns the result in words.
func (g *Guard) putBack(path string) string {
	was, known := g.saved[path]
	if g.was[path] != "" && !known {
		return "not put back, since it was too large to keep or cannot be read"
	}
	said, err := "put back", error(nil)
	if _, gone := os.Lstat(path); gone == nil {
		at := filepath.Join(g.kept, strconv.Itoa(len(g.changes)+1)+"-"+filepath.Base(path))
		rel, _ := filepath.Rel(g.project, at) // both are absolute
		said += "; the changed one is " + filepath.ToSlash(rel)
		err = errors.Join(safefile.MkdirAll(g.kept, 0o700), move(path, at))
	}
	switch {
	case err != nil || !known:
	case was.link != "":
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(was.link, path))
	default:
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), safefile.Replace(path, was.text, 0o600, false),
			os.Chmod(path, was.mode.Perm()))
	}
	if err != nil {
		return "it cannot be put back: " + err.Error()
	}
	return said
}

// move moves a file or a folder into .loop, where no link may be: it writes the target of a link, and leaves out those
// in a folder.
func move(from, to string) error {
	if link, err := os.Readlink(from); err == nil {
		return errors.Join(safefile.Write(to, []byte("a link to "+link+"\n"), 0o600), os.Remove(from))
	}
	err := safefile.CopyTree(context.Background(), from, to, func(_ string, d fs.DirEntry) (bool, error) {
		return d.Type()&fs.ModeSymlink != 0, nil
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(from)
}
