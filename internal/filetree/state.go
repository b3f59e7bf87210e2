package filetree

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wavex/internal/safefile"
)

// Lister makes trees. It remembers the states of files that have not changed since. Its methods are safe for concurrent
// use.
type Lister struct {
	seen sync.Map // a version, by absolute path
	full sync.Map // a listing, by the directory of a store
}

// listing is a stored tree.
type listing struct {
	id   string
	tree Tree
}

// version is a state that a file had.
type version struct {
	file    os.FileInfo
	changed time.Time // changeTime
	state   State
}

// maxHashed is the size of a file, in bytes, above which its size and time stand for its content; of a file that git
// ignores they always do.
const maxHashed = 512 << 20

// settled is the time after which a file that changes gets other times than before.
const settled = 100 * time.Millisecond

// State returns the state of the file at an absolute path. Above a size its size and time stand for its content.
func (l *Lister) State(path string, most int64) State {
	st, err := os.Lstat(path)
	switch {
	case err != nil: // it is not there, or a folder on the way is a file
		return ""
	case st.Mode().Type() == fs.ModeSymlink:
		to, _ := os.Readlink(path) // a link that vanishes meanwhile has changed in any case
		return State(linkState + to)
	case st.IsDir():
		return directory
	case st.Size() > most:
		return State(fmt.Sprintf("large %d %d", st.Size(), st.ModTime().UnixNano()))
	}
	changed := changeTime(st)
	was, _ := l.seen.Load(path)
	if v, known := was.(version); known && v.changed.Equal(changed) && os.SameFile(v.file, st) {
		return v.state
	}
	s := stateOf(path, st)
	if time.Since(changed) > settled {
		l.seen.Store(path, version{st, changed, s})
	}
	return s
}

// parts has buffers: a new one for each file would cost a tenth of its reading.
var parts = sync.Pool{New: func() any { return new(make([]byte, 64<<10)) }}

// ChangedSince reports whether files or directories of root, or others in them, may have changed since the file at an
// absolute path was written.
func ChangedSince(root string, names []string, mark string) bool {
	since, err := os.Lstat(mark)
	visit := func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && !changeTime(st).Before(changeTime(since)) {
			err = fs.ErrExist
		}
		return err
	}
	return err != nil || slices.ContainsFunc(names, func(name string) bool {
		return filepath.WalkDir(filepath.Join(root, filepath.FromSlash(name)), visit) != nil
	})
}

// stateOf reads a file, which must be regular.
func stateOf(path string, st os.FileInfo) State {
	f, err := safefile.OpenFound(path)
	if err != nil {
		return unreadable
	}
	defer func() { _ = f.Close() }() // read only
	sum, part := newBlob(st.Size()), parts.Get().(*[]byte)
	defer parts.Put(part)
	if n, _ := io.CopyBuffer(sum, struct{ io.Reader }{f}, *part); n != st.Size() { // it changes now
		return unreadable
	}
	kind := plainState
	if st.Mode()&0o111 != 0 {
		kind = execState
	}
	return State(kind + hex.EncodeToString(sum.Sum(nil)))
}

// newBlob begins git's id of a blob.
func newBlob(size int64) hash.Hash {
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", size)
	return sum
}

func digestOf(text []byte) string {
	sum := newBlob(int64(len(text)))
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil))
}
