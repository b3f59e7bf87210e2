// Package lint has tests of the source: of the language and layout of comments, documentation and commit subjects, of
// the order of files, and of ideas that are written once. `make lint` and `make test` run them.
//
// TestSource counts these faults in each directory, except in generated files and under testdata:
//
//   - "what": prose lines with a clause such as "what is", see [language]
//   - "nobody": prose lines with a person such as "nobody", "who" without a noun before it, or a noun that "is none"
//   - "long": Go lines over 120 columns; lines of documentation over 100 columns, outside tables and code
//   - "tuples": production statements that assign more than three variables at once
//
// A directory may have 5 "what" and 1 "nobody" per 1000 lines of prose, no tuples, and as many long lines as
// testdata/ceilings.txt says. `make ceilings` lowers the ceilings to the current counts and never raises one.
//
// TestSourceSizes counts production lines by room, lines of tests, packages and their imports, flags of run, keys of
// plans, types of events, fields of the scheduler's State and words of the documentation. None may exceed its ceiling
// in testdata/sizes.txt, which `make ceilings` lowers likewise.
//
// Functions over [maxFunc] lines and structs over [maxStruct] fields fail in production files, unless
// testdata/exceptions.txt lists them with a reason.
package lint

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "lower the ceilings in testdata to the current counts")

const root = "../.."

// TestSource counts the faults of the source.
func TestSource(t *testing.T) {
	t.Parallel()
	files, err := listFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	source, err := readFiles(root, files)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/ceilings.txt")
	if err != nil {
		t.Fatal(err)
	}
	most, err := parseCeilings(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		most = most.lower(source)
		if err := os.WriteFile("testdata/ceilings.txt", []byte(most.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range most.check(source) {
		t.Errorf("%s: %d %s, ceiling %d: %s%s", e.dir, len(e.faults), e.column, e.ceiling, e.column.fix(), places(e.faults))
	}
	if text, err = os.ReadFile("testdata/exceptions.txt"); err != nil {
		t.Fatal(err)
	}
	listed, err := parseExceptions(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range checkSizes(source, listed) {
		t.Error(line)
	}
}

// TestSubjects holds that the subjects of commits are short.
func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, s := range longSubjects(t.Context(), root) {
		t.Errorf("commit %s: subject over %d columns, reword it: %s", s.hash, maxSubject, s.text)
	}
}

func (c column) String() string {
	return [...]string{what: "what", nobody: "nobody", long: "long", tuples: "tuples"}[c]
}

// fix says how to remove a fault of this kind.
func (c column) fix() string {
	return [...]string{
		what:   `name the thing instead of a clause with "what": "the remaining checks", "the deadline has passed"`,
		nobody: `name the actor: the caller, a reviewer, another process; or the thing that "is none"; or use the passive`,
		long:   fmt.Sprintf("wrap Go at %d columns (a tab is one) and documentation at %d", maxGoLine, maxDocLine),
		tuples: "assign one variable per statement, or make a struct",
	}[c]
}

// places lists faults, one on a line.
func places(faults []fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "\n\t%s:%d: %.200s", f.file, f.line, f.text)
	}
	return b.String()
}
