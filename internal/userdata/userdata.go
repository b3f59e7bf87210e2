// Package userdata finds what belongs to the user and to the project beyond any run:
// maxims and learnings. Runs and updates never overwrite it (LEDGER S3-16). What it is
// used for is others' business.
package userdata

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
	"wavex/internal/refuse"
	"wavex/internal/wary"
)

// EnvVar names the user's data folder.
const EnvVar = "WAVEX_DATA"

// Dir is the user's data folder: WAVEX_DATA, else where the system keeps such
// things. "" where there is no home.
func Dir() string {
	if d := os.Getenv(EnvVar); d != "" {
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
	// The XDG base directory specification has a relative path ignored: it would lead
	// somewhere else from each project.
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "wavex")
	}
	return filepath.Join(home, ".local", "share", "wavex")
}

// Project is the folder of a project's own learnings, to be kept with the code.
func Project(dir string) string { return filepath.Join(dir, ".wavex") }

// Maxims are the user's rules: custom.md first, then the other files by name. A folder
// that is there and cannot be read refuses: nothing is planned without them (LEDGER S3-03).
func Maxims() ([]decompose.Note, error) {
	notes := []decompose.Note{}
	root := Dir()
	if root == "" {
		return notes, nil
	}
	dir := filepath.Join(root, "maxims")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return notes, nil
	}
	if err != nil {
		return nil, refuse.Blocked(fmt.Errorf("reading the maxims, without which nothing is planned: %w", err))
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Compare(rank(a.Name()), rank(b.Name()))
	})
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := wary.Read(filepath.Join(dir, e.Name()), maxMaxim)
		if err != nil {
			return nil, refuse.Blocked(fmt.Errorf("reading the maxims, without which nothing is planned: %w", err))
		}
		notes = append(notes, decompose.Note{Title: "maxims/" + e.Name(), Text: string(text)})
	}
	return notes, nil
}

// maxMaxim bounds a file of rules, in bytes: all of it goes into prompts.
const maxMaxim = 4 << 20

func rank(name string) int {
	if name == "custom.md" {
		return 0
	}
	return 1
}

// Learnings are those of the project in dir and of the user. That lines of a file cannot
// be read is told to say.
func Learnings(dir string, say func(string)) ([]learn.Learning, error) {
	var all []learn.Learning
	for _, path := range LearningFiles(dir) {
		list, bad, err := learn.Load(path)
		if err != nil {
			return nil, refuse.Blocked(err)
		}
		if bad > 0 {
			say(fmt.Sprintf("%s: %d lines cannot be read and were passed over", path, bad))
		}
		all = append(all, list...)
	}
	return all, nil
}

// LearningFiles are the files that learnings are recalled from, whether they are there or
// not: the project's, then the user's.
func LearningFiles(dir string) []string {
	files := []string{filepath.Join(Project(dir), learn.FileName)}
	if root := Dir(); root != "" {
		files = append(files, filepath.Join(root, learn.FileName))
	}
	return files
}
