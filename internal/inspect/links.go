package inspect

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"wavex/internal/plan"
)

// This file checks the links of a plan: files that must be connected.

// brokenLinks returns a gap for each link of a plan where one of the two files is missing or neither names the other.
// Files that cannot be read as text name nothing.
func brokenLinks(root fs.FS, links []plan.Link) []Gap {
	var out []Gap
	for _, l := range links {
		from, here := readText(root, path.Clean(l.From))
		to, there := readText(root, path.Clean(l.To))
		if here && mentionsFile(from, l.To) || there && mentionsFile(to, l.From) {
			continue
		}
		g := Gap{Type: BrokenLink, File: path.Clean(l.From), Description: "it is to be connected with " + l.To +
			", and neither names the other"}
		switch {
		case !here:
			g.Description = "it is to be connected with " + l.To + ", and is not there"
		case !there:
			g.Description = "it is to be connected with " + l.To + ", which is not there"
		}
		if l.Why != "" {
			g.Evidence = "asked for: " + l.Why
		}
		out = append(out, g)
	}
	return out
}

// mentionsFile reports whether a text contains the name of a file or, as in imports, its path without
// the extension at the end of a string.
func mentionsFile(text, file string) bool {
	base := path.Base(path.Clean(file))
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.Contains(text, base) || strings.Contains(text, "/"+stem+`"`) || strings.Contains(text, "/"+stem+"'")
}

// maxText bounds the size of the files that are read, in bytes.
const maxText = 1 << 20

// readText returns the content of a text file of at most maxText bytes.
func readText(root fs.FS, name string) (string, bool) {
	if !fs.ValidPath(name) {
		return "", false
	}
	// Opening a named pipe would block until another process writes to it.
	if st, err := fs.Stat(root, name); err != nil || !st.Mode().IsRegular() || st.Size() > maxText {
		return "", false
	}
	f, err := root.Open(name)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil || strings.IndexByte(string(text), 0) >= 0 {
		return "", false
	}
	return string(text), true
}
