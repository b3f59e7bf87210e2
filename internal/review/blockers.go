package review

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"wavex/counsel"
)

// This file tells whether the files of open blockers have changed.

// reopen prepares the open blockers of a case for another review: those whose files have changed since they were
// confirmed are asked about. The others wait for a person.
func reopen(c counsel.ReviewCase) {
	for i := range c.Open {
		f := &c.Open[i]
		if f.Resolution == "skipped" {
			continue // a person has decided
		}
		f.Severity, f.Confirmed, f.Resolution = counsel.Blocker, true, counsel.Unchanged
		if f.Changed = f.Digest != namedDigest(c, *f); f.Changed {
			f.Resolution = ""
		}
	}
}

// recordDigests adds the digests of the blockers that were confirmed now.
func recordDigests(c counsel.ReviewCase, findings []counsel.Finding) {
	for i := range findings {
		if f := &findings[i]; f.Blocks() && f.Digest == "" {
			f.Digest = namedDigest(c, *f)
		}
	}
}

// namedDigest identifies the files of the case that a finding names, or all of them if it names none that exists.
func namedDigest(c counsel.ReviewCase, f counsel.Finding) string {
	all := append(slices.Clone(c.Files), f.File)
	named := slices.DeleteFunc(slices.Clone(all), func(file string) bool {
		return file != f.File && !strings.Contains(f.Text, file)
	})
	return cmp.Or(digestOf(c.Dir, named), digestOf(c.Dir, all), "none")
}

// digestOf identifies the contents of files; "": none exists.
func digestOf(dir string, files []string) string {
	h, some := sha256.New(), false
	for _, file := range files {
		sum := fileDigest(dir, file)
		some = some || sum != ""
		fmt.Fprintf(h, "%q %s\n", file, sum)
	}
	if !some {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
