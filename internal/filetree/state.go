package filetree

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"wavex/internal/safefile"
)

// Lister makes trees. It remembers the states of files that have not changed since. Its methods are safe for concurrent
// use; a nil Lister remembers nothing.
type Lister struct {
	mu   sync.Mutex
	seen map[string]version // by absolute path
	full map[string]listing // by store
}

// listing is a stored tree.
type listing struct {
	id   string
	tree Tree
}

// version is a state that a file had.
type version struct {
	file  os.FileInfo
	state State
}

// maxHashed is the size of a file, in bytes, above which its size and time stand for its content.
const maxHashed = 512 << 20

// settled is the time after which a file that changes gets other times than before.
const settled = 100 * time.Millisecond

// state returns the state of the file at an absolute path.
func (l *Lister) state(path string) State {
	st, err := os.Lstat(path)
	switch {
	case err != nil && os.IsNotExist(err):
		return ""
	case err != nil:
		return unreadable
	case st.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(path)
		if err != nil {
			return unreadable
		}
		return State(linkState + to)
	case st.IsDir():
		return directory
	case !st.Mode().IsRegular():
		return special
	case st.Size() > maxHashed:
		return State(fmt.Sprintf("large %d %d", st.Size(), st.ModTime().UnixNano()))
	}
	if l == nil {
		return stateOf(path, st)
	}
	l.mu.Lock()
	was, known := l.seen[path]
	l.mu.Unlock()
	if known && sameVersion(was.file, st) {
		return was.state
	}
	s := stateOf(path, st)
	if changed, ok := changeTime(st); ok && time.Since(changed) > settled {
		l.mu.Lock()
		if l.seen == nil {
			l.seen = map[string]version{}
		}
		l.seen[path] = version{st, s}
		l.mu.Unlock()
	}
	return s
}

func sameVersion(a, b os.FileInfo) bool {
	then, ok := changeTime(a)
	now, _ := changeTime(b)
	return ok && then.Equal(now) && os.SameFile(a, b) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// stateOf reads a regular file.
func stateOf(path string, st os.FileInfo) State {
	f, err := safefile.Open(path)
	if err != nil {
		return unreadable
	}
	defer func() { _ = f.Close() }() // read only
	sum := newBlob(st.Size())
	if n, err := io.Copy(sum, f); err != nil || n != st.Size() {
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
