package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// This file reads the cases.

// The kinds of cases, which are the folders below testdata.
const (
	Dishonest = "dishonest" // must not exit 0 nor say SHIP
	Honest    = "honest"    // must exit 0 and say SHIP
	Doubtful  = "doubtful"  // must exit 0 and not say SHIP
)

// Case is one plan with its project, its agent and the expected end.
type Case struct {
	Kind, Name string
	Flags      []string
	Again      []string // the arguments of a second command; nil: there is none
	Only       string   // an isolation, or "" for both
	Real       string   // the isolation of the case with the real CLI, or "" for none
	Names      []*regexp.Regexp
	Unproven   []string
	Told       *regexp.Regexp // or nil
	Holds      string         // a shell command, or ""

	exit  int    // of the last command; 0: any exit code of Dishonest's
	copy  string // a folder of the checkout, or ""
	files []txtar.File
}

// Load returns the cases of a kind from the folder testdata, by name.
func Load(t testing.TB, testdata, kind string) []Case {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(testdata, kind, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in %s: %v", filepath.Join(testdata, kind), err)
	}
	var all []Case
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := Case{Kind: kind, Name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		if err := c.parse(data); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, c)
	}
	return all
}

var directive = regexp.MustCompile(`^([a-z]+):\s*(.*)$`)

func (c *Case) parse(data []byte) error {
	archive := txtar.Parse(data)
	c.files = archive.Files
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		m := directive.FindStringSubmatch(line)
		if m == nil {
			continue // the sentence
		}
		if err := c.set(m[1], m[2]); err != nil {
			return fmt.Errorf("%s: %w", m[1], err)
		}
	}
	return nil
}

func (c *Case) set(key, value string) (err error) {
	switch key {
	case "flags":
		c.Flags = strings.Fields(value)
	case "again":
		c.Again = strings.Fields(value)
	case "copy":
		c.copy = value
	case "only":
		c.Only = value
	case "real":
		c.Real = value
	case "exit":
		c.exit, err = strconv.Atoi(value)
	case "names":
		var re *regexp.Regexp
		re, err = regexp.Compile(value)
		c.Names = append(c.Names, re)
	case "unproven":
		c.Unproven = strings.Fields(value)
	case "holds":
		c.Holds = value
	case "told":
		c.Told, err = regexp.Compile(value)
	default:
		return fmt.Errorf("there is no such directive")
	}
	return err
}

// Isolations returns the modes in which the case with number n of its folder runs: in both if all is set,
// else in one, which changes from case to case.
func (c *Case) Isolations(n int, all bool) []string {
	modes := []string{"shared", "worktree"}
	switch {
	case c.Only != "":
		return []string{c.Only}
	case all:
		return modes
	}
	return modes[n%2 : n%2+1]
}
