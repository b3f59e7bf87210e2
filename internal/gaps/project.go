package gaps

import (
	"io"
	"io/fs"
	"path"
	"strings"
)

// This file reads a project: what is where. It knows which folders are not the
// project's own work, nothing of languages.

type project struct {
	root fs.FS
	all  []string // every file of the project; see files
	seen bool

	modules  map[string]*module  // by directory of go.mod
	packages map[string]*goNames // by directory; with /_test, as its own tests see it
	lone     map[string]bool     // packages that are orphans
}

// read gives a text file of at most maxText bytes.
func (p *project) read(name string) (string, bool) {
	if !fs.ValidPath(name) {
		return "", false
	}
	// Opening a named pipe would wait for somebody who writes to it.
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

// is tells what a path is: "file", "dir", or "" for nothing.
func (p *project) is(name string) string {
	if !fs.ValidPath(name) {
		return ""
	}
	st, err := fs.Stat(p.root, name)
	switch {
	case err != nil:
		return ""
	case st.IsDir():
		return "dir"
	}
	return "file"
}

// foreign are folders of others' or of generated work.
var foreign = map[string]bool{"node_modules": true, "vendor": true, "dist": true, "build": true, "out": true,
	"target": true, "coverage": true, "__pycache__": true}

// files lists the project's files, the first maxFiles; whole is false when there are more.
func (p *project) files() (names []string, whole bool) {
	if !p.seen {
		p.seen = true
		_ = fs.WalkDir(p.root, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && d != nil && d.IsDir():
				return fs.SkipDir // what cannot be read is not looked at
			case err != nil:
				return nil
			case d.IsDir() && name != "." && (foreign[d.Name()] || strings.HasPrefix(d.Name(), ".")):
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

// inside joins a path that is relative to a file with the file's folder; ok is false when
// it leaves the project.
func inside(file, rel string) (string, bool) {
	joined := path.Join(path.Dir(file), rel)
	return joined, joined != ".." && !strings.HasPrefix(joined, "../") && !path.IsAbs(joined)
}

// lineOf is the line of a byte of a text, from 1.
func lineOf(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }
