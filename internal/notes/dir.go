// Package notes maintains the tracking directory of a loop, .claude/pensieve/loop/DATE-SLUG of the
// project. It has files that people write (_meta.md, _context.md, plans and designs), to which a
// run adds entries. The package knows these files and the meaning of a run's events for them. It
// never overwrites existing text.
package notes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"wavex/internal/textfmt"
)

// The names in a tracking directory.
const (
	MetaFile    = "_meta.md"
	ContextFile = "_context.md"
)

// root is the parent of tracking directories, below the project directory.
var root = []string{".claude", "pensieve", "loop"}

// maxSlug is the maximum length of a slug, in runes.
const maxSlug = 60

// ErrExists means that a tracking directory of that name and day exists.
var ErrExists = errors.New("it is there already, and is not overwritten")

// Meta is the content of _meta.md.
type Meta struct {
	Slug     string
	Goal     string // "": a person fills it in
	Pipeline string // the phases before and with the tasks: "tasks", "plan -> design -> tasks"
	At       time.Time
}

// Slug makes a directory name from a text: letters and digits in lower case, other characters as
// single dashes. It returns "" if nothing remains.
func Slug(text string) string {
	var b strings.Builder
	dash, n := false, 0
	for _, r := range strings.ToLower(text) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			dash = b.Len() > 0
			continue
		}
		if n++; n > maxSlug {
			break
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Create makes the tracking directory of a loop in a project, with its _meta.md, and returns its path.
// The error wraps ErrExists if the directory exists.
func Create(project string, m Meta) (string, error) {
	parent := filepath.Join(append([]string{project}, root...)...)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	dir := filepath.Join(parent, m.At.Format(time.DateOnly)+"-"+m.Slug)
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s: %w", dir, ErrExists)
	} else if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, MetaFile), []byte(m.text()), 0o644)
}

func (m Meta) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nslug: %s\ncreated: %s\npipeline: %q\ngoal: %q\n---\n\n# %s\n\n## Goal\n\n", m.Slug,
		m.At.UTC().Format(time.RFC3339), m.Pipeline, m.Goal, m.Slug)
	goal := cmp.Or(strings.TrimSpace(m.Goal), "(to be filled in)")
	fmt.Fprintf(&b, "%s\n\n## Pipeline\n\n%s\n", textfmt.Block(goal), textfmt.Line(m.Pipeline))
	return b.String()
}

// FindDir returns the tracking directory that name refers to: a directory with a _meta.md or a
// _context.md, else the newest one with that slug.
func FindDir(project, name string) (string, error) {
	dir := name
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(project, dir)
	}
	if IsNotesDir(dir) {
		return filepath.Clean(dir), nil
	}
	var found []string
	if slug := Slug(name); slug != "" {
		entries, err := os.ReadDir(filepath.Join(append([]string{project}, root...)...))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, e := range entries {
			if day, rest, ok := splitDay(e.Name()); ok && (rest == slug || day+"-"+rest == slug) {
				found = append(found, e.Name())
			}
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no tracking directory %s; make one with: wavex init SLUG", name)
	}
	return filepath.Join(append(append([]string{project}, root...), slices.Max(found))...), nil
}

func splitDay(name string) (day, slug string, ok bool) {
	if len(name) <= len(time.DateOnly) || name[len(time.DateOnly)] != '-' {
		return "", "", false
	}
	day, slug = name[:len(time.DateOnly)], name[len(time.DateOnly)+1:]
	_, err := time.Parse(time.DateOnly, day)
	return day, slug, err == nil
}

// DirOf returns the tracking directory of a project that contains file, or "".
func DirOf(project, file string) string {
	dir := filepath.Dir(file)
	if filepath.Dir(dir) != filepath.Join(append([]string{project}, root...)...) || !IsNotesDir(dir) {
		return ""
	}
	return dir
}

// IsNotesDir reports whether dir is a tracking directory.
func IsNotesDir(dir string) bool {
	return slices.ContainsFunc([]string{MetaFile, ContextFile}, func(name string) bool {
		st, err := os.Stat(filepath.Join(dir, name))
		return err == nil && st.Mode().IsRegular()
	})
}
