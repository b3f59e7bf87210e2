package plan

// This file names the tasks of a list's items. The name of an item is the same in every list and at every place in it.

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxID is the maximum length of an id in bytes: ids are names of folders.
const maxID = 100

// maxKey bounds the part of a task's id that comes from an item, in bytes.
const maxKey = 60

// memberID returns the id of the task of an item, by the item's key: ID[key]. A slash becomes a tilde. Another
// character that has no place in a name of a folder becomes a dash, and then the id ends in a digest of the key.
func memberID(group, key string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c == '/':
			return '~'
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', strings.ContainsRune("._-+=@,", c):
			return c
		}
		return '-'
	}, key)
	limit := min(maxKey, maxID-len(group)-len("[]")) // a step has room besides
	if name != strings.ReplaceAll(key, "/", "~") || strings.Contains(key, "~") || len(name) > limit {
		sum := sha256.Sum256([]byte(key))
		tail := "-" + hex.EncodeToString(sum[:4])
		name = name[:min(len(name), limit-len(tail))] + tail
	}
	return group + "[" + name + "]"
}

// splitMember returns the group, the key, and the name of the step with its dot, of an id in the form ID[key] or
// ID[key].NAME; "" if it has another.
func splitMember(id string) (group, key, step string) {
	group, key, _ = strings.Cut(id, "[")
	end := strings.LastIndexByte(key, ']')
	if end < 0 {
		return "", "", ""
	}
	return group, key[:end], key[end+1:]
}
