package plan

// This file has the peculiarities of YAML: positions, aliases, merges, tags, numbers, and files
// that are made to be expensive.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wavex/internal/plan/source"
)

func TestYAMLDiagnostics(t *testing.T) {
	t.Parallel()
	const good = "tasks: [{id: 1, subject: x, verify: x}]\n"
	for _, c := range []struct {
		name string
		plan string
		want []string // "line:column code path: part of the message"
	}{
		{"good", good, nil},
		{"empty", "# nothing\n", []string{"1:1 empty-plan : the file is empty"}},
		{"columns are bytes", "tasks: [{id: é, subject: x, nope: 1, verify: x}]\n",
			[]string{"1:30 unknown-field tasks[0].nope: unknown field"}},
		{"block", "tasks:\n  - id: a\n    subject: 3\n    verify:\n    - run: x\n      file: y\n", []string{
			"3:14 wrong-type tasks[0].subject: found a number; put it in quotes",
			"5:7 conflict tasks[0].verify[0]: a command or a file"}},
		{"literal", "tasks:\n  - id: a\n    subject: |\n      one\n      two\n    verify: x\n",
			[]string{"3:14 bad-value tasks[0].subject: single line"}},
		{"twice", "name: a\nname: b\n" + good, []string{"2:1 duplicate-field name: given twice"}},
		{"null", "name:\n" + good, []string{"null; leave the field out"}},
		{"tab", "tasks:\n\t- id: 1\n", []string{"2:1 syntax : not valid YAML: a tab begins the line; indent with spaces"}},
		{"unclosed", "tasks: [\n", []string{"syntax : not valid YAML"}},
		{"two documents", good + "---\n" + good, []string{"3:1 syntax : something follows the plan"}},
		{"aliases of a long text", "rehearse:\n  s: &s " + strings.Repeat("x", 1<<20) + "\n  l: [" +
			strings.Repeat("*s,", 100) + "]\n" + good, []string{"too-large : texts of more than 64 MB"}},
		{"unknown alias", "name: *x\n" + good, []string{"1:7 syntax : unknown alias *x"}},
		{"merge of a word", "tasks:\n- <<: word\n  id: 1\n", []string{"2:7 syntax : << merges mappings"}},
		{"tag", "name: !secret x\n" + good, []string{`1:7 syntax : the tag "!secret" means nothing`}},
		{"complex key", "? [a]\n: b\n" + good, []string{"syntax"}},
		{"nul", "name: \x00", []string{"1:7 encoding : NUL"}},
		{"not utf-8", "name: é\xff", []string{"1:9 encoding : not valid UTF-8"}},
		{"infinite", "parallel: .inf\n" + good, []string{"1:11 bad-number parallel"}},
		{"not a number", "parallel: .nan\n" + good, []string{"1:11 bad-number parallel"}},
		{"itself", "rehearse: &a [*a]\n" + good, []string{"too-deep"}},
		{"cycle", "tasks:\n  - {id: 01, subject: x, verify: x, blockedBy: T2}\n  - {id: 2, subject: x, verify: x, blockedBy: 1}\n", []string{"2:5 cycle tasks[0]: cycle: 01 -> 2 -> 01"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ds := Parse("plan.yaml", []byte(c.plan), Options{})
			if (p == nil) != HasErrors(ds) || len(ds) != len(c.want) {
				t.Fatalf("plan is nil: %v, want %d diagnostics, got %v", p == nil, len(c.want), ds)
			}
			for i, d := range ds {
				got := fmt.Sprintf("%d:%d %s %s: %s", d.Line, d.Column, d.Code, d.Path, d.Message)
				head, part, _ := strings.Cut(c.want[i], ": ")
				if !strings.Contains(got, head) || !strings.Contains(got, part) {
					t.Errorf("got  %s\nwant %s", got, c.want[i])
				}
			}
		})
	}
}

func TestYAMLValues(t *testing.T) {
	t.Parallel()
	p, ds := Parse("plan.yaml", []byte(`
defaults: &base {model: opus, maxTurns: 0x10, timeout: 1_000}
tasks:
  - &one
    id: 007
    subject: >
      folded
      words
    verify: !!str 12
    metadata: &m {hex: 0xff, zeros: 0100, big: 1_000, f: 1.50, s: "1", no: ~, inf: .inf, 3: x}
    <<: [*base, {model: haiku, agent: a}]
  - <<: *one
    id: &second two
    metadata: {again: *m}
    blockedBy: [7]
  - {id: three, subject: x, verify: x, depends: *second}
`), Options{})
	if p == nil || len(ds) != 0 {
		t.Fatal(ds)
	}
	one, two := p.Tasks[0], p.Tasks[1]
	if one.ID != "007" || one.Subject != "folded words" || one.Verify[0].Run != "12" {
		t.Errorf("got %+v", one)
	}
	if s := p.Settings(0); s.Model != "opus" || s.Agent != "a" || s.MaxTurns != 16 || s.Timeout != 1000*time.Second {
		t.Errorf("got %+v", s)
	}
	if two.Subject != one.Subject || two.Settings.Agent != "a" || len(two.Metadata) != 1 {
		t.Errorf("got %+v", two)
	}
	for name, want := range map[string]string{"hex": "255", "zeros": "100", "big": "1000", "f": "1.5", "s": `"1"`,
		"no": "null", "inf": "null", "3": `"x"`} {
		if got := string(one.Metadata[name]); got != want {
			t.Errorf("metadata %s: %s, want %s", name, got, want)
		}
	}
	if got := string(two.Metadata["again"]); !strings.Contains(got, `"hex":255`) {
		t.Errorf("got %s", got)
	}
	if got := p.Graph.Blockers(2); len(got) != 1 || got[0] != 1 {
		t.Errorf("blockers %v", got)
	}
}

// A file that is made to be expensive is refused, or read in linear time: otherwise the whole test
// would take minutes (measured on the parser alone: 33 s and 16 s for two of these).
func TestYAMLIsBounded(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x]\n")
	for i := range 40 {
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, c := range map[string]struct{ text, code string }{
		"flow":      {strings.Repeat("[", 1_000_000), CodeTooDeep},
		"lists":     {strings.Repeat("- ", 50_000), CodeTooDeep},
		"keys":      {strings.Repeat("? ", 50_000), CodeTooDeep},
		"tags":      {strings.Repeat("!a ", 50_000), CodeTooDeep},
		"empty":     {strings.Repeat("a:\n", 50_000), CodeTooLarge},
		"flow keys": {"{" + strings.Repeat("a: ,", 50_000) + "}", CodeTooLarge},
		"documents": {strings.Repeat("--- a\n", 50_000), CodeTooLarge},
		"bomb":      {bomb.String(), CodeTooLarge},
		"size":      {"name: " + strings.Repeat("x", source.MaxYAML), CodeTooLarge},
		"one line":  {"name: " + strings.Repeat("x", 10<<20), CodeEmptyPlan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ds := Parse("plan.yaml", []byte(c.text), Options{})
			if p != nil || !hasCode(ds, c.code) {
				t.Errorf("want %s, got %.300s", c.code, fmt.Sprint(ds))
			}
		})
	}
}

func TestLongJSONLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	p, ds := Parse("plan.json", []byte(tasks(`{"id":1,"subject":"x","verify":"x","description":"`+long+`"}`)), Options{})
	if p == nil || len(p.Tasks[0].Description) != len(long) {
		t.Error(ds)
	}
	if p, ds := Parse("plan.json", []byte(long), Options{}); p != nil || !hasCode(ds, CodeSyntax) {
		t.Error(ds)
	}
}

func hasCode(ds []Diagnostic, code string) bool {
	for _, d := range ds {
		if d.Code == code {
			return true
		}
	}
	return false
}
