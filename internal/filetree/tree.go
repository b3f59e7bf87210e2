package filetree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tree maps the paths of files to their states. Paths are relative to the root of the tree and slash-separated. A file
// that is not there has no entry, or the state "".
type Tree map[string]State

// State identifies a version of a file: its type, whether it is executable, and its content. "" is a missing file.
type State string

const (
	plainState, execState, linkState = "file ", "exec ", "link "
	directory                        = State("directory")  // a repository of its own, or a folder in place of a file
	unreadable                       = State("unreadable") // also a pipe or a device
)

// Digest returns git's SHA-1 of the content of a regular file in hex; "" for others.
func (s State) Digest() string {
	if strings.HasPrefix(string(s), plainState) || strings.HasPrefix(string(s), execState) {
		return string(s[len(plainState):])
	}
	return ""
}

// Ignored returns the ignored files and directories in a tree.
func (t Tree) Ignored() (out []string) {
	for name, state := range t {
		if state.isIgnored() && name != "." {
			out = append(out, name)
		}
	}
	return out
}

// Unread returns the directories and files in a tree whose contents are not read: ignored ones and other repositories.
func (t Tree) Unread() (out []string) {
	for name, state := range t {
		if state == directory {
			out = append(out, name)
		}
	}
	return append(out, t.Ignored()...)
}

// isIgnored reports whether git ignores the file or directory.
func (s State) isIgnored() bool { return strings.HasPrefix(string(s), string(ignoredState)) }

// ID identifies the files of a tree.
func (t Tree) ID() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if t[name] != "" {
			fmt.Fprintf(sum, "%s\x00%s\x00", name, t[name])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Changes returns the states in to of the files that differ from t. A file that is missing in to has the state "".
func (t Tree) Changes(to Tree) Tree {
	out := Tree{}
	for name, is := range to {
		if t[name] != is {
			out[name] = is
		}
	}
	for name, was := range t {
		if _, there := to[name]; !there && was != "" {
			out[name] = ""
		}
	}
	return out
}

// Edits returns Changes without the files that are ignored, before or now.
func (t Tree) Edits(to Tree) Tree {
	out := t.Changes(to)
	maps.DeleteFunc(out, func(name string, is State) bool { return is.isIgnored() || t[name].isIgnored() })
	return out
}

// Hidden returns the ignored files in to that differ from t, sorted. They may be new.
func (t Tree) Hidden(to Tree) (out []string) {
	for name, is := range t.Changes(to) {
		if is.isIgnored() && is != ignoredState {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// With returns t with the changes of another tree, which win. Without changes it returns t itself, which may be nil.
func (t Tree) With(changes Tree) Tree {
	if len(changes) == 0 {
		return t
	}
	out := Tree{}
	maps.Copy(out, t)
	maps.Copy(out, changes)
	return out
}
