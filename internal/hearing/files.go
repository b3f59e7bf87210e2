package hearing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/wary"
)

// This file reads files of the work for those who judge it. Agents have been there: it
// follows no link out of the directory, opens nothing that could block, and reads no more
// than it is told to. Names are slash-separated and relative to the directory.

// maxQuoted bounds, in bytes, what of a file is looked through for a quote.
const maxQuoted = 8 << 20

// read gives the first bytes of a regular file, nil where there is none.
func read(dir, file string, most int64) []byte {
	f, err := wary.OpenIn(dir, file)
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

// head is the begin of a text file, or where a link leads, as git shows one; "" of
// anything else.
func head(dir, file string) string {
	if to := link(dir, file); to != "" {
		return "a link to " + to
	}
	text := read(dir, file, maxChanges)
	if bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}

// link is what a symbolic link says, "" of anything else.
func link(dir, file string) string {
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

// quoted tells whether a file holds the words, blanks aside.
func quoted(dir, file, quote string) bool {
	words := strings.Join(strings.Fields(quote), " ")
	if file == "" || len(words) < 3 {
		return false
	}
	return strings.Contains(strings.Join(strings.Fields(string(read(dir, file, maxQuoted))), " "), words)
}

// fileSum is the sha256 of a regular file in hex, or "".
func fileSum(dir, file string) string {
	f, err := wary.OpenIn(dir, file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
