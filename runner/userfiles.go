package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wavex/internal/filetree"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// These are bounds of the comparison.
const (
	maxUserFile   = 1 << 20  // bytes of a file that can be put back
	maxSaved      = 32 << 20 // bytes of all of them
	maxUserFolder = 500      // files of a listed folder; a larger one is not compared
	maxNewFiles   = 20       // new files that are removed at once; if there are more, no file is
	maxTold       = 20       // changes that are told at once
)

// clockSkew is how far the time of a file may be behind that of the machine.
const clockSkew = 2 * time.Second

// UserFilesOptions are the circumstances of UserFiles.
type UserFilesOptions struct {
	Env     []string    // of the processes of tasks
	Project string      // absolute; its files are work
	Kept    string      // the folder in Project for changed versions; it need not exist
	Owner   bool        // no other wavex puts the files of this user back
	Closed  bool        // a wall closes the listed files that exist, so they are not compared
	Warn    func(error) // told of changes while no agent works
}

// UserFiles compares the user's files that outlive the run with those of its beginning, and puts them back. Its methods
// are safe for concurrent use.
type UserFiles struct {
	UserFilesOptions
	home  string // "": nothing is put back
	began time.Time

	mu      sync.Mutex
	lister  filetree.Lister
	listed  []string               // patterns of filepath.Glob, some after toldOnly
	omitted map[string]bool        // listed paths of the project, and folders with too many files
	dirs    map[string]os.FileInfo // folders of files, and those above, by path
	files   map[string]*userFile   // by path
	left    int64                  // of maxSaved
	kept    int                    // the last number of a file in Kept
	changes []Tamper
	said    int // changes that this comparison told
	working int // attempts of agents
}

// userFile is a file as it was; one that is new has no state.
type userFile struct {
	state, told filetree.State // at the beginning, and when a change was last told
	program     bool           // compared by size and time
	closed      bool           // not compared
	stays       error          // why it is not put back; nil: it is
	text        []byte         // if it has a state and is put back
	mode        fs.FileMode
}

// GuardUserFiles returns the UserFiles as they are now.
func GuardUserFiles(o UserFilesOptions) *UserFiles {
	g := &UserFiles{UserFilesOptions: o, home: homeOf(o.Env), began: time.Now().Add(-clockSkew), left: maxSaved,
		listed: userPatterns(o.Env), omitted: map[string]bool{}, dirs: map[string]os.FileInfo{},
		files: map[string]*userFile{}}
	if filepath.Dir(g.home) == g.home {
		g.home = ""
	}
	for i := 0; i < len(g.listed); i++ { // the target of a link extends the list
		pattern, only := strings.CutPrefix(g.listed[i], toldOnly)
		if g.noteDir(filepath.Dir(pattern)) || filepath.Base(pattern) == "wavex" { // which writes there itself
			g.listed[i], pattern = "", ""
		}
		matches, _ := filepath.Glob(pattern) // the list has no wrong pattern
		for _, path := range matches {
			g.add(path, only, false)
		}
	}
	for _, dir := range filepath.SplitList(proc.Getenv(o.Env, "PATH")) { // new programs are what tasks install
		if dir = filepath.Clean(dir); isIn(dir, g.home) && dir != g.home {
			g.add(resolved(dir), true, true)
		}
	}
	return g
}

// noteDir notes the folders that match a pattern, and those above, and reports whether one is in the project.
func (g *UserFiles) noteDir(pattern string) (work bool) {
	if g.dirs[pattern] != nil {
		return false
	}
	matches, _ := filepath.Glob(pattern)
	for _, dir := range matches {
		if isIn(resolved(dir), resolved(g.Project)) {
			work = true
		} else if st, err := os.Stat(dir); err == nil {
			g.dirs[dir] = st
		}
	}
	if up := filepath.Dir(pattern); up != pattern {
		work = g.noteDir(up) || work
	}
	return work
}

// add notes an existing file, link, or folder. It lists the target of a link.
func (g *UserFiles) add(path string, only, program bool) {
	paths := walk(path)
	if isWork(path, g.Project) || len(paths) > maxUserFolder {
		g.omitted[path] = true
		return
	}
	for _, at := range paths {
		if g.files[at] == nil && (!program || filepath.Base(at) != "claude") { // its updater moves this link
			g.noteDir(quoted(filepath.Dir(at)))
			if g.files[at] = (&userFile{closed: true}); !g.Closed || program {
				g.note(at, newFile(only, program))
			}
		}
	}
	if _, err := os.Readlink(path); err == nil && !program {
		target := quoted(resolved(path))
		if only {
			target = toldOnly + target
		}
		if !slices.Contains(g.listed, target) {
			g.listed = append(g.listed, target)
		}
	}
}

func newFile(only, program bool) *userFile {
	f := &userFile{program: program}
	if only {
		f.stays = errors.New("ordinary work does this, too")
	}
	return f
}

// note notes the state of a file, and its text if that can be put back.
func (g *UserFiles) note(path string, f *userFile) {
	f.state = g.state(path, f)
	f.told, g.files[path] = f.state, f
	if f.stays != nil || f.state == "" {
		return
	}
	st, err := os.Lstat(path)
	if err == nil && st.Mode().IsRegular() && isPlain(st) && st.Size() <= min(maxUserFile, g.left) {
		g.left += int64(len(f.text)) - st.Size()
		f.text, err = safefile.Read(path, st.Size())
		if f.mode = st.Mode().Perm(); err == nil && g.state(path, f) == f.state {
			return
		}
	}
	f.stays = errors.New("it was a link, shared or too large, or cannot be read")
}

// state returns the state of a file. It does not read programs.
func (g *UserFiles) state(path string, f *userFile) filetree.State {
	if f.program {
		return g.lister.State(path, -1)
	}
	return g.lister.State(path, maxUserFile)
}

// walk returns a file, or the files of a folder, at most one more than maxUserFolder.
func walk(dir string) (paths []string) {
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read is not compared
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case len(paths) > maxUserFolder:
			return fs.SkipAll
		case !d.IsDir() && d.Name() != nextUserFile:
			paths = append(paths, at)
		}
		return nil
	})
	return paths
}

// addNew adds the listed files that are new, and returns them. It notes them as they are if they are many.
func (g *UserFiles) addNew() (paths []string) {
	for _, pattern := range g.listed {
		pattern, only := strings.CutPrefix(pattern, toldOnly)
		matches, _ := filepath.Glob(pattern)
		for _, path := range matches {
			if g.omitted[path] || isIn(path, g.Project) || isIn(path, resolved(g.Project)) {
				continue
			}
			for _, at := range walk(path) {
				if g.files[at] == nil {
					g.files[at] = newFile(only, false)
					paths = append(paths, at)
				}
			}
		}
	}
	if len(paths) > maxNewFiles {
		for _, path := range paths {
			g.note(path, g.files[path])
		}
	}
	return paths
}

// Changes puts changed files back, and returns all changes but the first since ones, also those that other calls have
// found. begun is 1 where an agent's attempt begins, and -1 where one ends. A change while none works is the user's.
func (g *UserFiles) Changes(since, begun int) []Tamper {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.compare()
	g.working += begun
	return slices.Clone(g.changes[since:])
}

func (g *UserFiles) compare() {
	g.said = 0
	if fresh := g.addNew(); len(fresh) > maxNewFiles {
		g.tell(fresh[0], fmt.Sprintf("it and %d more new files outlive the run; not put back, since they are many",
			len(fresh)-1))
	}
	for _, path := range slices.Sorted(maps.Keys(g.files)) {
		f := g.files[path]
		if f.closed {
			continue
		}
		now := g.state(path, f)
		if now == f.told || now == f.state {
			f.told = now
			continue
		}
		if g.working == 0 {
			g.tell(path, "it outlives the run; not put back, since no agent worked")
			g.note(path, f)
			continue
		}
		said, err := g.putBack(path, f)
		if f.told = f.state; err != nil {
			said = "not put back, since " + err.Error()
		}
		if err != nil && !errors.Is(err, errChanging) { // else it is tried again
			if f.told = now; f.state == "" {
				f.stays = err // a later change does not remove it
			}
		}
		g.tell(path, "it outlives the run; "+said)
	}
	if g.said > maxTold {
		g.say(g.Kept, fmt.Sprintf("%d more files that outlive the run were changed, and told by no name", g.said-maxTold))
	}
}

// tell tells a change, unless the comparison has told many.
func (g *UserFiles) tell(path, why string) {
	if g.said++; g.said <= maxTold {
		g.say(path, why)
	}
}

func (g *UserFiles) say(path, why string) {
	if rel, err := filepath.Rel(g.home, path); g.home != "" && err == nil && filepath.IsLocal(rel) {
		path = "~/" + filepath.ToSlash(rel)
	}
	c := Tamper{Path: path, Why: why}
	if g.working == 0 {
		g.Warn(fmt.Errorf("while no agent worked, something changed %s", c))
		return
	}
	g.changes = append(g.changes, c)
}

// putBack restores a changed file, or removes a new one, and returns the result in words. All of it happens in the open
// folder, which is the one that it was, or is below that without a link.
func (g *UserFiles) putBack(path string, f *userFile) (said string, err error) {
	switch {
	case f.stays != nil:
		return "", f.stays
	case !g.Owner:
		return "", errors.New("another run of yours may do it, or none can")
	case !isIn(path, g.home):
		return "", errors.New("it is outside of your home directory")
	}
	var missing fs.FileMode // the mode of folders that are missing; 0: they are not made
	if f.state != "" {
		missing = 0o700
	}
	dir, err := g.open(filepath.Dir(path), missing)
	if err != nil {
		return "", errors.New("its folder is no longer the one that it was")
	}
	defer func() { _ = dir.Close() }() // a directory
	said = "put back"
	name := filepath.Base(path)
	st, err := dir.Lstat(name)
	if err == nil {
		if _, err := dir.Lstat("HEAD"); f.state == "" && (err == nil || !st.Mode().IsRegular() ||
			st.ModTime().Before(g.began)) { // a link, or a folder of git or another one that was moved
			return "", errors.New("it is no file that was made during the run")
		}
		at, err := g.keep(dir, st)
		if err != nil {
			return "", fmt.Errorf("the changed one cannot be kept: %w", err)
		}
		said += "; the changed one is " + at
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if f.state != "" {
		return said, replaceIfSame(dir, name, st, f.text, f.mode)
	}
	if err := checkSame(dir, name, st); err != nil {
		return "", err
	}
	return said, dir.Remove(name)
}

// open opens a folder that is noted and still the same, or a folder below it, without following a link. It makes
// missing folders if mode is not 0.
func (g *UserFiles) open(path string, mode fs.FileMode) (*os.Root, error) {
	if was, noted := g.dirs[path]; noted {
		at, err := os.OpenRoot(path)
		if err == nil {
			if st, err := at.Stat("."); err == nil && os.SameFile(st, was) {
				return at, nil
			}
			_ = at.Close() // a directory
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fs.ErrInvalid
		}
		delete(g.dirs, path) // it is made again
	}
	up := filepath.Dir(path)
	if up == path {
		return nil, fs.ErrInvalid
	}
	above, err := g.open(up, mode)
	if err != nil {
		return nil, err
	}
	defer func() { _ = above.Close() }() // a directory
	return safefile.Enter(above, filepath.Base(path), mode)
}

// keep copies the changed version of a file into the folder of the run, and returns its path in the project.
func (g *UserFiles) keep(dir *os.Root, st os.FileInfo) (string, error) {
	text, err := changedText(dir, st, maxUserFile)
	if err != nil {
		return "", err
	}
	if err := safefile.MkdirAll(g.Kept, 0o700); err != nil {
		return "", err
	}
	for {
		g.kept++
		at := filepath.Join(g.Kept, strconv.Itoa(g.kept)+"-"+st.Name())
		next, err := safefile.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) { // of an earlier session of the run
			continue
		}
		if err == nil {
			_, err = next.Write(text)
			err = errors.Join(err, next.Sync(), next.Close())
		}
		rel, _ := filepath.Rel(g.Project, at) // it is below
		return filepath.ToSlash(rel), err
	}
}
