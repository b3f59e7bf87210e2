//go:build unix

package ci

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/testrepo"
)

// This file holds the rules of the JUnit XML that CI systems read, from the schema junit-10 of
// the Jenkins xUnit plugin: the elements, their children, their attributes, the attributes'
// types, and which are required.

// element describes the attributes and the content that an element may have.
type element struct {
	attributes map[string]kind
	required   []string
	children   []string
	least      int  // of children
	text       bool // other than white space
}

// kind reports whether an attribute's value is of a type of XML Schema.
type kind func(value string) bool

var (
	natural = regexp.MustCompile(`^(\+?[0-9]+|-0+)$`).MatchString
	seconds = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{0,3}(\.[0-9]*)?|[0-9]+(\.[0-9]*)?)$`).MatchString
	moment  = regexp.MustCompile(`^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?$`)
)

func words(string) bool { return true }

func dateTime(value string) bool {
	if !moment.MatchString(value) {
		return false
	}
	_, local := time.Parse("2006-01-02T15:04:05", value)
	_, zoned := time.Parse(time.RFC3339, value)
	return local == nil || zoned == nil
}

var (
	reason = element{attributes: map[string]kind{"type": words, "message": words}, text: true}
	output = element{text: true}
	junit  = map[string]element{
		"testsuites": {
			attributes: map[string]kind{"name": words, "time": seconds, "tests": natural, "failures": natural,
				"errors": natural, "disabled": natural},
			children: []string{"testsuite"},
		},
		"testsuite": {
			attributes: map[string]kind{"name": words, "tests": natural, "failures": natural, "errors": natural,
				"skipped": natural, "disabled": natural, "group": words, "time": seconds, "timestamp": dateTime,
				"hostname": words, "id": words, "package": words, "file": words, "version": words},
			required: []string{"name", "tests"},
			children: []string{"properties", "testcase", "system-out", "system-err"},
		},
		"properties": {children: []string{"property"}, least: 1},
		"property": {
			attributes: map[string]kind{"name": words, "value": words},
			required:   []string{"name", "value"},
		},
		"testcase": {
			attributes: map[string]kind{"name": words, "classname": words, "assertions": words, "status": words,
				"time": seconds},
			required: []string{"name"},
			children: []string{"skipped", "error", "failure", "system-out", "system-err"},
		},
		"skipped": reason, "error": reason, "failure": reason,
		"system-out": output, "system-err": output,
	}
	roots = []string{"testsuites", "testsuite"}
)

// checkJUnit returns the first violation of the schema in a document.
func checkJUnit(document io.Reader) error {
	type open struct {
		name     string
		children int
	}
	var path []open
	rooted := false
	for d := xml.NewDecoder(document); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && rooted {
			return nil // the decoder ensures that every element is closed
		}
		if err != nil {
			return fmt.Errorf("reading XML: %w", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, may := token.Name.Local, roots
			if len(path) > 0 {
				path[len(path)-1].children++
				may = junit[path[len(path)-1].name].children
			}
			if token.Name.Space != "" || !slices.Contains(may, name) || (len(path) == 0 && rooted) {
				return fmt.Errorf("element %s may not stand in %v", name, path)
			}
			if err := checkAttributes(token, junit[name]); err != nil {
				return err
			}
			path, rooted = append(path, open{name: name}), true
		case xml.EndElement:
			last := path[len(path)-1]
			if last.children < junit[last.name].least {
				return fmt.Errorf("element %s is empty", last.name)
			}
			path = path[:len(path)-1]
		case xml.CharData:
			text := len(path) > 0 && junit[path[len(path)-1].name].text
			if !text && strings.TrimSpace(string(token)) != "" {
				return fmt.Errorf("text %q in %v", token, path)
			}
		case xml.Directive:
			return fmt.Errorf("directive %q", token)
		}
	}
}

func checkAttributes(token xml.StartElement, rule element) error {
	missing := slices.Clone(rule.required)
	seen := map[string]bool{}
	for _, a := range token.Attr {
		is, known := rule.attributes[a.Name.Local]
		if !known || a.Name.Space != "" || seen[a.Name.Local] || !is(a.Value) {
			return fmt.Errorf("%s: attribute %s=%q is unknown, there twice, or not of its type",
				token.Name.Local, a.Name.Local, a.Value)
		}
		seen[a.Name.Local] = true
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == a.Name.Local })
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: no attribute %v", token.Name.Local, missing)
	}
	return nil
}

// TestJUnitSchema checks every JUnit report of the tests against the schema.
func TestJUnitSchema(t *testing.T) {
	t.Parallel()
	reports, err := filepath.Glob("../../internal/report/testdata/*.xml")
	if err != nil || len(reports) < 4 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, path := range reports {
		f, err := os.Open(path)
		testrepo.Must(t, err)
		if err := checkJUnit(f); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		_ = f.Close()
	}
}
