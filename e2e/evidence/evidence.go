package evidence

import (
	"bytes"
	"encoding/json"
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

// The kinds of cases, which are the folders below testdata. The end that a case writes down comes before that
// of its kind: none of a Dishonest case is better, none of an Honest one is worse, and a Doubtful one ends so.
const (
	Dishonest = "dishonest" // must not exit 0 nor say SHIP
	Honest    = "honest"    // must exit 0 and say SHIP
	Doubtful  = "doubtful"  // must exit 0 and not say SHIP
)

// Case is one plan with its project, its agent and the expected end.
type Case struct {
	Kind, Name string // the name is FOLDER/NAME for a case in a folder of its kind
	Flags      []string
	Again      []string // the arguments of a second command; nil: there is none
	Only       string   // an isolation, or "" for both
	Real       string   // the isolation of the case with the real CLI, or "" for none
	Names      []*regexp.Regexp
	Told       *regexp.Regexp // or nil
	Shown      *regexp.Regexp // or nil
	Holds      string         // a shell command, or ""

	exit  int             // of the last command; 0: any exit code of Dishonest's
	ends  map[string]Ends // by review
	git   string          // one of "yes" and "no", or "" for both
	each  string          // one of the texts of the case, which stands for EACH, or ""
	copy  string          // a folder of the checkout, or ""
	files []txtar.File
}

// Load returns the cases of a kind from the folder testdata, by name.
func Load(t testing.TB, testdata, kind string) []Case {
	t.Helper()
	var all []Case
	for _, pattern := range []string{"*.txtar", "*/*.txtar"} {
		paths, err := filepath.Glob(filepath.Join(testdata, kind, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			all = append(all, load(t, filepath.Join(testdata, kind), path)...)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no cases in %s", filepath.Join(testdata, kind))
	}
	return all
}

// load returns the cases in one file.
func load(t testing.TB, folder, path string) []Case {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(folder, strings.TrimSuffix(path, ".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Kind: filepath.Base(folder), Name: filepath.ToSlash(name)}
	archive := txtar.Parse(data)
	var all []Case
	for line := range strings.Lines(string(archive.Comment)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "each: "); ok {
			one := c
			one.Name = fmt.Sprintf("%s/%d", c.Name, len(all)+1)
			all = append(all, one)
			all[len(all)-1].each = text
		}
	}
	if all == nil {
		all = []Case{c}
	}
	for i := range all {
		if err := all[i].parse(archive); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return all
}

var directive = regexp.MustCompile(`^([a-z]+):\s*(.*)$`)

func (c *Case) parse(archive *txtar.Archive) error {
	for _, f := range archive.Files {
		text := c.each
		if strings.HasSuffix(f.Name, ".json") {
			quoted, _ := json.Marshal(text) // a string can always be encoded
			text = string(quoted[1 : len(quoted)-1])
		}
		name := strings.ReplaceAll(f.Name, "EACH", c.each)
		c.files = append(c.files, txtar.File{Name: name, Data: bytes.ReplaceAll(f.Data, []byte("EACH"), []byte(text))})
	}
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		m := directive.FindStringSubmatch(line)
		if m == nil || m[1] == "each" {
			continue // the sentence, and what load has read
		}
		if err := c.set(m[1], strings.ReplaceAll(m[2], "EACH", regexp.QuoteMeta(c.each))); err != nil {
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
	case "git":
		c.git = value
	case "real":
		c.Real = value
	case "exit":
		c.exit, err = strconv.Atoi(value)
	case "ends":
		return c.setEnds(strings.Fields(value))
	case "holds":
		c.Holds = value
	case "names":
		var re *regexp.Regexp
		re, err = regexp.Compile(value)
		c.Names = append(c.Names, re)
	case "told":
		c.Told, err = regexp.Compile(value)
	case "shown":
		c.Shown, err = regexp.Compile(value)
	default:
		return fmt.Errorf("there is no such directive")
	}
	return err
}
