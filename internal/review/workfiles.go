package review

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/safefile"
)

// This file reads files of the work for reviewers and judges. Agents had access to the files: it
// follows no link out of the directory, opens no file that could block, and reads a limited number
// of bytes. Names have slashes and are relative to the directory.

// maxQuoteSearch is the number of bytes of a file that are searched for a quote.
const maxQuoteSearch = 8 << 20

// readStart returns the first bytes of a regular file, or nil if there is none.
func readStart(dir, file string, most int64) []byte {
	f, err := safefile.OpenIn(dir, file)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return text
}

// fileText returns the beginning of a text file, or the target of a link in the way of git; "" for
// other files.
func fileText(dir, file string) string {
	if to := readLink(dir, file); to != "" {
		return "a link to " + to
	}
	text := readStart(dir, file, maxDiff)
	if bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}

// readLink returns the target of a symbolic link, or "" for other files.
func readLink(dir, file string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }() // read only
	to, err := root.Readlink(filepath.FromSlash(file))
	if err != nil {
		return ""
	}
	return to
}

// containsQuote reports whether a file contains the quote, apart from white space.
func containsQuote(dir, file, quote string) bool {
	words := strings.Join(strings.Fields(quote), " ")
	if file == "" || len(words) < 3 {
		return false
	}
	return strings.Contains(strings.Join(strings.Fields(string(readStart(dir, file, maxQuoteSearch))), " "), words)
}

// fileDigest returns the SHA-256 of a regular file in hex, or "".
func fileDigest(dir, file string) string {
	sum, _ := safefile.Digest(safefile.OpenIn(dir, file))
	return sum
}

// foundText returns the texts of found files that the diff does not show.
func foundText(dir string, found, changed []string) string {
	var b strings.Builder
	for _, f := range found {
		if slices.Contains(changed, f) {
			continue
		}
		if text := fileText(dir, f); text != "" && b.Len() <= maxDiff {
			fmt.Fprintf(&b, "unchanged file %s, which a task found as it is\n%s\n", f, text)
		}
	}
	return b.String()
}
