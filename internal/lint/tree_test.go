package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// column is one of the counts.
type column int

const (
	what column = iota
	nobody
	long
	tuples
)

// fault is one line with a fault.
type fault struct {
	file   string // relative to the root, with slashes
	line   int
	column column
	text   string
}

// directory holds the faults of the files in one directory, without those below it.
type directory struct {
	lines  int // of prose: comments, or documentation outside code
	faults []fault

	tooLarge map[string]int // sizes by "path func|struct Name"
}

// tree holds the directories of the repository by name, with "." for the root.
type tree map[string]*directory

func (d *directory) add(f fault) {
	f.text = strings.TrimSpace(f.text)
	d.faults = append(d.faults, f)
}

// readParagraph counts the language of p; lines are those of its file.
func (d *directory) readParagraph(path string, p paragraph, lines []string) {
	for _, line := range p.lines {
		if line != "" {
			d.lines++
		}
	}
	for _, line := range p.language(whatClause) {
		d.add(fault{path, line, what, lines[line-1]})
	}
	for _, line := range p.language(person) {
		d.add(fault{path, line, nobody, lines[line-1]})
	}
}

// width returns the columns of a line. A tab is one column.
func width(line string) int { return utf8.RuneCountInString(line) }

// readFiles counts the Go files and the documentation among files, without those under testdata.
func readFiles(root string, files []string) (tree, error) {
	t := tree{}
	for _, name := range files {
		isGo := strings.HasSuffix(name, ".go")
		if !isGo && !isDoc(name) || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		full := filepath.Join(root, filepath.FromSlash(name))
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
			continue // deleted from the worktree but not yet from git's index, or a link
		}
		src, err := os.ReadFile(full)
		if err != nil {
			return nil, fmt.Errorf("reading a source file: %w", err)
		}
		d := t[path.Dir(name)]
		if d == nil {
			d = &directory{tooLarge: map[string]int{}}
			t[path.Dir(name)] = d
		}
		if !isGo {
			d.readDoc(name, src)
		} else if err := d.readGo(name, src); err != nil {
			return nil, err
		}
	}
	return t, nil
}
