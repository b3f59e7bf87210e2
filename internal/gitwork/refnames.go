package gitwork

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// This file makes names of refs. It knows git's rules for them (git-check-ref-format) and not their
// targets.

func runBranch(run string) string { return "refs/heads/wavex/" + run }
func taskBranch(run, task string) string {
	return "refs/heads/wavex/" + run + ".tasks/" + RefComponent(task)
}
func taskRef(run, task string) string { return "refs/wavex/" + run + "/" + RefComponent(task) }
func preservedPrefix(run, task string) string {
	return "refs/wavex/" + run + ".kept/" + RefComponent(task) + "/"
}
func preservedRef(run, task, id string) string {
	return preservedPrefix(run, task) + id[:min(12, len(id))]
}
func runPrefix(run string) string    { return "refs/wavex/" + run + ".run/" }
func baseRef(run string) string      { return runPrefix(run) + "base" }
func tipRef(run string) string       { return runPrefix(run) + "tip" }
func waveRef(run, key string) string { return runPrefix(run) + "wave-" + key }

// RefComponent encodes an id as one component of a ref's name. Different ids have different
// components.
func RefComponent(id string) string {
	var b strings.Builder
	for i := 0; i < len(id); i++ {
		c := id[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= 0x80
		if c == '.' { // not first, last, doubled, or before "lock"
			plain = i > 0 && i < len(id)-1 && id[i+1] != '.' && !strings.EqualFold(id[i+1:], "lock")
		}
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	if b.Len() <= 150 {
		return b.String()
	}
	sum := sha256.Sum256([]byte(id)) // a file name has at most 255 bytes, and git appends to it
	return strings.ToValidUTF8(b.String()[:120], "_") + "==" + hex.EncodeToString(sum[:8])
}

// refSuffixes follow the id of a run in the names of its refs, or in those of earlier versions.
var refSuffixes = []string{".tasks", ".kept", ".run", ".points", ".base", ".away", ".logs"}

// validRunID reports whether a run id can name branches without colliding with another run's.
func validRunID(run string) bool {
	for _, ours := range refSuffixes {
		if strings.HasSuffix(run, ours) {
			return false
		}
	}
	return run != "" && RefComponent(run) == run && run[0] != '-'
}

// isObjectID reports whether a text is the id of an object in hex.
func isObjectID(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// shortID abbreviates a commit id for people.
func shortID(id string) string { return id[:min(10, len(id))] }

// branchName returns a ref without refs/heads/.
func branchName(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }
