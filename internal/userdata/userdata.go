// Package userdata keeps what belongs to the user and to the project beyond any run: maxims, learnings, and the
// agreements of the user. Runs and updates never overwrite these files.
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
	"strconv"
	"strings"

	"wavex/internal/safefile"
	"wavex/internal/usererr"
)

// EnvVar names the user's data folder.
const EnvVar = "WAVEX_DATA"

// Dir returns the user's data folder: WAVEX_DATA, or else the system's folder for such data. It
// returns "" if there is no home.
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
	// The XDG base directory specification ignores a relative path, which would differ for each
	// project.
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "wavex")
	}
	return filepath.Join(home, ".local", "share", "wavex")
}

// Existing returns the user's data folder as an absolute path, or "" if there is none.
func Existing() string {
	dir, err := filepath.Abs(Dir())
	if st, missing := os.Stat(dir); Dir() == "" || err != nil || missing != nil || !st.IsDir() {
		return ""
	}
	return dir
}

// ProjectDir returns the folder of a project's own learnings, kept with the code.
func ProjectDir(dir string) string { return filepath.Join(dir, ".wavex") }

// Maxims returns the user's rules: custom.md first, then the other files by name. An existing
// folder that cannot be read is an error, because no plan may be made without its rules.
func Maxims() ([]Note, error) {
	notes := []Note{}
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
		return nil, usererr.Blocked(fmt.Errorf("reading the maxims, without which nothing is planned: %w", err))
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Compare(fileRank(a.Name()), fileRank(b.Name()))
	})
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := safefile.Read(filepath.Join(dir, e.Name()), maxMaxim)
		if err != nil {
			return nil, usererr.Blocked(fmt.Errorf("reading the maxims, without which nothing is planned: %w", err))
		}
		notes = append(notes, Note{Title: "maxims/" + e.Name(), Text: string(text)})
	}
	return notes, nil
}

// maxMaxim bounds a file of rules, in bytes, because all of it goes into prompts.
const maxMaxim = 4 << 20

func fileRank(name string) int {
	if name == "custom.md" {
		return 0
	}
	return 1
}

// Learnings returns those of the project in dir and of the user. It calls say with a message
// about lines of a file that cannot be read.
func Learnings(dir string, say func(string)) ([]Learning, error) {
	var all []Learning
	for _, path := range LearningFiles(dir) {
		list, bad, err := LoadLearnings(path)
		if err != nil {
			return nil, usererr.Blocked(err)
		}
		if bad > 0 {
			say(fmt.Sprintf("%s: %d lines cannot be read and were passed over", path, bad))
		}
		all = append(all, list...)
	}
	return all, nil
}

// Agreed is the path of a file of agreements of the user, which hold for good: one quoted text a line. "": there is no
// home.
type Agreed string

// Trusted returns the file of the folders whose plans the user trusts.
func Trusted() Agreed {
	if Dir() == "" {
		return ""
	}
	return Agreed(filepath.Join(Dir(), "trusted"))
}

// All returns the texts of the file.
func (a Agreed) All() (texts []string, err error) {
	text, err := safefile.Read(string(a), maxMaxim)
	if a == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		if one, err := strconv.Unquote(strings.TrimSpace(line)); err == nil {
			texts = append(texts, one)
		}
	}
	return texts, err
}

// Add adds a text to the file.
func (a Agreed) Add(text string) error {
	if a == "" {
		return errors.New("there is no home directory")
	}
	if err := os.MkdirAll(filepath.Dir(string(a)), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(string(a), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, strconv.Quote(text))
	return errors.Join(err, f.Close())
}

// LearningFiles returns the paths of the files of learnings, whether or not they exist: the
// project's, then the user's.
func LearningFiles(dir string) []string {
	files := []string{filepath.Join(ProjectDir(dir), learningsFile)}
	if root := Dir(); root != "" {
		files = append(files, filepath.Join(root, learningsFile))
	}
	return files
}

// Note is a text for a planner, such as the rules of one file.
type Note struct{ Title, Text string }
