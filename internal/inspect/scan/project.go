package scan

import (
	"io"
	"io/fs"
	"strings"
)

// This file reads the files of a project. It knows which folders hold foreign work, and nothing
// of languages.

type project struct {
	root   fs.FS
	all    []string // all files of the project; see files
	listed bool

	notUsers []string        // files that use no file that they name
	searched map[string]bool // folders of Go packages whose users were searched for
}

// read returns the content of a text file of at most maxText bytes.
func (p *project) read(name string) (string, bool) {
	if !fs.ValidPath(name) {
		return "", false
	}
	// Opening a named pipe would block until another process writes to it.
	if st, err := fs.Stat(p.root, name); err != nil || !st.Mode().IsRegular() || st.Size() > maxText {
		return "", false
	}
	f, err := p.root.Open(name)
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

// exists reports whether a path leads to a file or a folder.
func (p *project) exists(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	_, err := fs.Stat(p.root, name)
	return err == nil
}

// skippedDirs holds the names of folders of foreign or generated work.
var skippedDirs = map[string]bool{"node_modules": true, "vendor": true, "dist": true, "build": true, "out": true,
	"target": true, "coverage": true, "__pycache__": true}

// files returns the project's files, at most maxFiles; whole is false if there are more.
func (p *project) files() (names []string, whole bool) {
	if !p.listed {
		p.listed = true
		_ = fs.WalkDir(p.root, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && d != nil && d.IsDir():
				return fs.SkipDir // skip what cannot be read
			case err != nil:
				return nil
			case d.IsDir() && name != "." && (skippedDirs[d.Name()] || strings.HasPrefix(d.Name(), ".")):
				return fs.SkipDir
			case d.Type().IsRegular():
				p.all = append(p.all, name)
			}
			if len(p.all) > maxFiles {
				return fs.SkipAll
			}
			return nil
		})
	}
	return p.all, len(p.all) <= maxFiles
}

// lineOf returns the line of the byte at index at, from 1.
func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }
