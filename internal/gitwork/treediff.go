package gitwork

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This file finds the difference between two commits from their trees. It detects no renames.

const (
	dirMode  = "40000"
	linkMode = "160000" // a commit of another repository
)

// treeEntry is a file or a folder of a tree.
type treeEntry struct{ mode, id string }

// changesOf returns the changes that a commit makes to its first parent, by path.
func (g git) changesOf(ctx context.Context, c commitFacts) ([]change, error) {
	parent, _, _ := strings.Cut(c.parents, " ")
	read, err := g.readObjects(ctx, parent)
	if err != nil {
		return nil, err
	}
	if parent != "" && read[0].kind != "commit" {
		return nil, fmt.Errorf("the repository has no commit %s", parent)
	}
	var all []change
	err = g.diffTrees(ctx, "", read[0].commit().tree, c.tree, &all)
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return all, err
}

// diffTrees adds the differences of two trees, of which one may be "", to all. It reads the trees that differ.
func (g git) diffTrees(ctx context.Context, prefix, old, young string, all *[]change) error {
	if old == young {
		return nil
	}
	before, err := g.readTree(ctx, old)
	if err != nil {
		return err
	}
	after, err := g.readTree(ctx, young)
	if err != nil {
		return err
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for name := range names {
		a, b := before[name], after[name]
		if a == b {
			continue
		}
		path := prefix + name
		if err := g.diffTrees(ctx, path+"/", a.dir(), b.dir(), all); err != nil {
			return err
		}
		isFile, wasFile := b.mode != "" && b.dir() == "", a.mode != "" && a.dir() == ""
		switch {
		case isFile && !wasFile:
			*all = append(*all, change{path, 'A', b.mode == linkMode})
		case wasFile && !isFile:
			*all = append(*all, change{path, 'D', false})
		case isFile && a.mode[:3] != b.mode[:3]:
			*all = append(*all, change{path, 'T', b.mode == linkMode})
		case isFile:
			*all = append(*all, change{path, 'M', b.mode == linkMode})
		}
	}
	return nil
}

// dir returns the id of the tree of a folder, or "" for anything else.
func (e treeEntry) dir() string {
	if e.mode == dirMode {
		return e.id
	}
	return ""
}

// readTree returns the entries of a tree by name; the tree "" has none.
func (g git) readTree(ctx context.Context, id string) (map[string]treeEntry, error) {
	entries := map[string]treeEntry{}
	if id == "" {
		return entries, nil
	}
	read, err := g.readObjects(ctx, id)
	if err != nil {
		return nil, err
	}
	if read[0].kind != "tree" {
		return nil, fmt.Errorf("the repository has no tree %s", id)
	}
	rest, size := read[0].content, len(id)/2
	for rest != "" {
		head, tail, ok := strings.Cut(rest, "\x00") // MODE NAME, NUL, the bytes of the id
		mode, name, _ := strings.Cut(head, " ")
		if !ok || len(tail) < size {
			return nil, fmt.Errorf("the tree %s is damaged", id)
		}
		entries[name] = treeEntry{knownMode(mode), hex.EncodeToString([]byte(tail[:size]))}
		rest = tail[size:]
	}
	return entries, nil
}

// knownMode returns the mode by which git knows a mode of a tree: old trees have others.
func knownMode(mode string) string {
	mode = strings.TrimLeft(mode, "0")
	if !strings.HasPrefix(mode, "100") {
		return mode
	}
	if bits, err := strconv.ParseUint(mode, 8, 32); err == nil && bits&0o100 != 0 {
		return "100755"
	}
	return "100644"
}
