package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"wavex/internal/decompose"
	"wavex/internal/learn"
)

// This file finds what belongs to the user and to the project beyond any run: maxims
// and learnings. Runs and updates never overwrite it (LEDGER S3-16).

// dataVar names the user's data folder.
const dataVar = "WAVEX_DATA"

// userData is the user's data folder: WAVEX_DATA, else where the system keeps such
// things. "" where there is no home.
func userData() string {
	if d := os.Getenv(dataVar); d != "" {
		return d
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "wavex")
	case "windows":
		return filepath.Join(cmp.Or(os.Getenv("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local")), "wavex")
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "wavex")
}

// projectData is the folder of a project's own learnings, to be kept with the code.
func projectData(dir string) string { return filepath.Join(dir, ".wavex") }

// maxims are the user's rules: custom.md first, then the other files by name. A folder
// that is there and cannot be read refuses: nothing is planned without them (LEDGER S3-03).
func maxims() ([]decompose.Note, error) {
	notes := []decompose.Note{}
	root := userData()
	if root == "" {
		return notes, nil
	}
	dir := filepath.Join(root, "maxims")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return notes, nil
	}
	if err != nil {
		return nil, &blockedError{fmt.Errorf("reading the maxims, without which nothing is planned: %w", err)}
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Compare(rank(a.Name()), rank(b.Name()))
	})
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, &blockedError{fmt.Errorf("reading the maxims, without which nothing is planned: %w", err)}
		}
		notes = append(notes, decompose.Note{Title: "maxims/" + e.Name(), Text: string(text)})
	}
	return notes, nil
}

func rank(name string) int {
	if name == "custom.md" {
		return 0
	}
	return 1
}

// learnings are those of the project and of the user.
func (q *request) learnings() ([]learn.Learning, error) {
	var all []learn.Learning
	for _, path := range learningFiles(q.dir) {
		list, bad, err := learn.Load(path)
		if err != nil {
			return nil, &blockedError{err}
		}
		if bad > 0 {
			q.say(fmt.Sprintf("%s: %d lines cannot be read and were passed over", path, bad))
		}
		all = append(all, list...)
	}
	return all, nil
}

func learningFiles(dir string) []string {
	files := []string{filepath.Join(projectData(dir), learn.FileName)}
	if root := userData(); root != "" {
		files = append(files, filepath.Join(root, learn.FileName))
	}
	return files
}
