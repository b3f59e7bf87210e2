//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// This file finds the commands in the documentation: lines of code blocks and spans of code that
// begin with wavex.

// example is a command as a page shows it.
type example struct {
	page string
	line int
	text string
}

var span = regexp.MustCompile("`(wavex [^`]+)`")

// pages returns README.md and all pages below docs.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(all) < 10 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	return append(all, "../../README.md")
}

// find returns the commands of a page, in order.
func find(t *testing.T, page string) []example {
	t.Helper()
	b, err := os.ReadFile(page)
	testrepo.Must(t, err)
	var all []example
	fenced, runs := false, false
	begun := "" // a line with the beginning of a span, which ends on the next
	for i, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			fenced = !fenced
			runs = fenced && slices.Contains([]string{"", "sh", "bash", "console"}, rest)
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		if indented && !fenced || runs {
			if runs {
				code = line
			}
			code = strings.TrimPrefix(strings.TrimSpace(code), "$ ")
			code = strings.Replace(code, "go run ./cmd/wavex ", "wavex ", 1)
			if strings.HasPrefix(code, "wavex ") {
				all = append(all, example{page, i + 1, comment.ReplaceAllString(code, "")})
			}
			continue
		}
		if !fenced {
			if line, begun = begun+line, ""; strings.Count(line, "`")%2 == 1 && strings.TrimSpace(line) != "" {
				begun = strings.TrimSpace(line) + " "
				continue
			}
			for _, m := range span.FindAllStringSubmatch(line, -1) {
				all = append(all, example{page, i + 1, m[1]})
			}
		}
	}
	return all
}

// comment matches the text behind a command: after a # or a wide gap.
var comment = regexp.MustCompile(`(\s+#.*|\s{2,}\S.*)$`)

var (
	optional = regexp.MustCompile(`\[([^\]]*)\]`)
	choices  = regexp.MustCompile(`(\S+?)(\|\S+)+`)
)

// concrete fills the placeholders of a command with names of the test's project: it keeps the
// content of brackets and the first of several choices, and replaces words in capitals.
func concrete(text string) string {
	text = optional.ReplaceAllString(text, "$1")
	text = choices.ReplaceAllString(text, "$1")
	words := strings.Fields(text)
	if len(words) == 2 && words[1] != "status" && words[1] != "resume" {
		return "wavex help " + words[1] // it names the command
	}
	for i, w := range words {
		for from, to := range map[string]string{"PLAN": "plan.json", "FILE": "plan.json", "DIR": "folder", "TASK": "T-001",
			"NAME": "other-list", "N": "1", "WAVE": "wave-1",
			"SLUG": "tidy-up", "COMMAND": "run"} {
			if w == from {
				words[i] = to
			}
		}
	}
	return strings.Join(words, " ")
}

func TestFind(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	text := "Say `wavex check PLAN` or `wavex\ndoctor --probe`:\n\n" +
		"    wavex run a.json -j 8   (fast)\n    $ wavex status # now\n    other\n\n" +
		"```json\nwavex no\n```\n```sh\nwavex logs TASK [--attempt N]\n```\n" +
		"`wavex report [PLAN] --format table|json`\n"
	testrepo.Must(t, os.WriteFile(page, []byte(text), 0o600))
	var got []string
	for _, s := range find(t, page) {
		got = append(got, concrete(s.text))
	}
	want := []string{"wavex check plan.json", "wavex doctor --probe", "wavex run a.json -j 8", "wavex status",
		"wavex logs T-001 --attempt 1", "wavex report plan.json --format table"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
