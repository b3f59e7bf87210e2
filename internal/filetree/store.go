package filetree

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"

	"wavex/internal/safefile"
)

// These bound the kept files, in bytes.
const (
	maxContent  = 8 << 20
	maxContents = 128 << 20
	maxListing  = 256 << 20
)

// Store is a directory of wavex's own that keeps listings, and the contents of files that git does not have. Env is the
// environment of git.
type Store struct {
	Dir string
	Env []string
}

// Kept names a stored tree.
type Kept struct {
	From    string `json:"from"` // id of a listing
	Changes Tree   `json:"changes,omitempty"`
}

// Put stores a tree, as the changes since the listing that it stored before if these are few.
func (l *Lister) Put(s Store, t Tree) (Kept, error) {
	if l != nil {
		l.mu.Lock()
		full, known := l.full[s.Dir]
		l.mu.Unlock()
		if changes := full.tree.Changes(t); known && 2*len(changes) <= len(t) {
			return Kept{full.id, changes}, nil
		}
	}
	id := t.ID()
	data, _ := json.Marshal(t) // a map of strings
	if err := s.write("tree-"+id, data); err != nil {
		return Kept{}, err
	}
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.full == nil {
			l.full = map[string]listing{}
		}
		l.full[s.Dir] = listing{id, t}
	}
	return Kept{From: id}, nil
}

// Get returns a stored tree.
func (s Store) Get(k Kept) (Tree, error) {
	data, err := s.read("tree-"+k.From, maxListing)
	if err != nil {
		return nil, err
	}
	var t Tree
	if json.Unmarshal(data, &t) != nil || t.ID() != k.From {
		return nil, fmt.Errorf("the listing %s is damaged", k.From)
	}
	return t.With(k.Changes), nil
}

// Keep stores the contents of the files of a tree of root that git does not have, and the .gitignore files. isSecret
// reports whether a content must not be stored. A file that is not stored has no earlier content.
func (s Store) Keep(root string, t Tree, inGit map[string]bool, isSecret func([]byte) bool) {
	sum := 0
	for name, state := range t {
		digest := state.Digest()
		if digest == "" || inGit[digest] && path.Base(name) != ".gitignore" || sum > maxContents {
			continue
		}
		if st, err := os.Lstat(filepath.Join(s.Dir, digest)); err == nil && st.Size() > 0 {
			continue
		}
		text, err := safefile.Read(filepath.Join(root, filepath.FromSlash(name)), maxContent)
		if err == nil && !isSecret(text) && s.write(digest, text) == nil {
			sum += len(text)
		}
	}
}

// Content returns the content of a regular file in an earlier state, from the store or the repository of root.
func (s Store) Content(ctx context.Context, root string, state State) ([]byte, error) {
	text, err := s.read(state.Digest(), maxContent)
	if err != nil {
		var out string
		out, err = git(ctx, root, s.Env, "", "cat-file", "blob", state.Digest())
		text = []byte(out)
	}
	if err != nil || digestOf(text) != state.Digest() {
		return nil, fmt.Errorf("the content %s was not kept", state.Digest())
	}
	return text, nil
}

var writing sync.Mutex // tasks that begin at the same time keep the same files

func (s Store) write(name string, data []byte) error {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid, and a buffer takes all
	_, _ = w.Write(data)
	_ = w.Close()
	writing.Lock()
	defer writing.Unlock()
	if err := safefile.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return safefile.Replace(filepath.Join(s.Dir, name), packed.Bytes(), 0o600, false)
}

func (s Store) read(name string, most int64) ([]byte, error) {
	packed, err := safefile.Read(filepath.Join(s.Dir, name), most)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, most))
}
