package filetree

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	was, _ := l.full.Load(s.Dir)
	full, _ := was.(listing) // none: all are changes
	if changes := full.tree.Changes(t); 2*len(changes) < len(t) {
		return Kept{full.id, changes}, nil
	}
	id := t.ID()
	data, _ := json.Marshal(t) // a map of strings
	if err := s.write("tree-"+id, data); err != nil {
		return Kept{}, err
	}
	l.full.Store(s.Dir, listing{id, t})
	return Kept{From: id}, nil
}

// Get returns a stored tree.
func (s Store) Get(k Kept) (Tree, error) {
	var t Tree
	_ = json.Unmarshal(s.read("tree-"+k.From, maxListing), &t) // the id tells
	if t.ID() != k.From {
		return nil, fmt.Errorf("the listing %s is damaged", k.From)
	}
	return t.With(k.Changes), nil
}

// Keep stores the contents of the files of a tree of root that git does not have, and the .gitignore files. isSecret
// reports whether a content must not be stored. A file that is not stored has no earlier content.
func (s Store) Keep(root string, t Tree, inGit map[string]bool, isSecret func([]byte) bool) {
	var sum int
	for name, state := range t {
		digest := state.Digest()
		if digest == "" || inGit[digest] && path.Base(name) != ".gitignore" || sum > maxContents ||
			exists(filepath.Join(s.Dir, digest)) {
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
	text := s.read(state.Digest(), maxContent)
	if digestOf(text) != state.Digest() {
		out, _ := git(ctx, root, s.Env, "", "cat-file", "blob", state.Digest()) // the digest tells
		text = []byte(out)
	}
	if digestOf(text) != state.Digest() {
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
	return errors.Join(safefile.MkdirAll(s.Dir, 0o700),
		safefile.Replace(filepath.Join(s.Dir, name), packed.Bytes(), 0o600, false))
}

// read returns a stored file, cut off if it is damaged.
func (s Store) read(name string, most int64) []byte {
	packed, _ := safefile.Read(filepath.Join(s.Dir, name), most)
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(r, most))
	return text
}
