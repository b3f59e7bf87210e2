package runner

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// misjudged are the pairs of testdata/sameness on which the signature differs from the judgement.
var misjudged = map[string]bool{
	"03-gotest-value":                   true,
	"04-gotest-other-subtest":           true,
	"07-gotest-panic-index":             true,
	"09-gotest-race-other-method":       true,
	"12-gotest-parallel-order":          true,
	"13-gotest-parallel-verbose":        true,
	"14-gotest-shuffle-seed":            true,
	"15-gotest-coverage-beside-failure": true,
	"16-gotest-coverage-threshold":      true,
	"19-gotest-service-port":            true,
	"20-gotest-hex-value":               true,
	"21-gotest-digest-value":            true,
	"23-gotest-date-value":              true,
	"24-gotest-line-count":              true,
	"26-pytest-assert-value":            true,
	"28-pytest-tmp-path-other-file":     true,
	"31-pytest-seven-then-three":        true,
	"32-pytest-same-count-other-tests":  true,
	"33-pytest-more-passed":             true,
	"34-pytest-xdist-order":             true,
	"38-ruff-line-length":               true,
	"39-mypy-checked-files":             true,
	"41-jest-array-order":               true,
	"42-jest-suite-order":               true,
	"47-tsc-property-number":            true,
	"50-eslint-other-file":              true,
	"63-diff-content":                   true,
	"66-cmp-first-difference":           true,
	"69-grep-quiet-other-diff":          true,
	"70-grep-count":                     true,
	"71-grep-count-files":               true,
	"73-grep-other-file":                true,
	"74-test-file-other-diff":           true,
	"75-test-file-one-digit":            true,
	"77-script-exit-status":             true,
	"79-script-blank-other-diff":        true,
	"86-make-error-number":              true,
	"87-make-parallel-order":            true,
	"91-curl-other-status":              true,
	"97-script-long-end":                true,
}

// TestSameness compares the signature with the judged pairs of testdata/sameness.
func TestSameness(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/sameness/*.txtar")
	if err != nil || len(archives) != 99 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	wrong := map[string]string{}
	for _, path := range archives {
		p := readPair(t, path)
		a, b := p.signature("a"), p.signature("b")
		if (a == b) != p.same {
			wrong[p.name] = a + "\n" + b
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		if !misjudged[name] {
			t.Errorf("%s is misjudged:\n%s", name, wrong[name])
		}
	}
	for name := range misjudged {
		if wrong[name] == "" {
			t.Errorf("%s is judged as it should be; remove it from the list", name)
		}
	}
}

// pair is one archive of testdata/sameness.
type pair struct {
	name       string
	same, hard bool
	files      map[string]string
}

func readPair(t *testing.T, path string) pair {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment := string(archive.Comment)
	judgement, _, _ := strings.Cut(comment, "\n")
	if judgement != "same" && judgement != "different" {
		t.Fatalf("%s: judgement %q", path, judgement)
	}
	p := pair{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), same: judgement == "same",
		hard: strings.Contains(comment, "\nhard: "), files: map[string]string{}}
	for _, f := range archive.Files {
		p.files[f.Name] = string(f.Data)
	}
	return p
}

// line returns the content of a file with one line.
func (p pair) line(name string) string { return strings.TrimSuffix(p.files[name], "\n") }

// text returns the content of an output with its repeated lines.
func (p pair) text(name string) string {
	var b strings.Builder
	for line := range strings.Lines(p.files[name]) {
		rest, repeated := strings.CutPrefix(line, "@repeat ")
		count, pattern, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		if !repeated || err != nil {
			b.WriteString(line)
			continue
		}
		for i := range n {
			b.WriteString(strings.ReplaceAll(pattern, "@n", strconv.Itoa(i+1)))
		}
	}
	return b.String()
}

// signature returns the signature of the first or the second attempt: "a" or "b".
func (p pair) signature(which string) string {
	command := p.line("command")
	if other := p.line("command-" + which); other != "" {
		command = other
	}
	reason := "exit code " + p.line("exit-"+which)
	return Signature("check failed: "+command+": "+reason, "$ "+command+"\n"+p.text(which)+"\n"+reason)
}
