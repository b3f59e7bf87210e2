package inspect

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	d := Document{Name: "Parser", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Checks: []CheckResult{{"T-001", []string{"T-001", "T-002"}, "go test ./...", true, ""},
			{"", nil, "README.md contains \"x\"", false, "it does not"}},
		Unverified:    []string{"It is fast."},
		SkippedChecks: []string{"T-001 ! go test ./..."},
		Gaps: []Gap{{Type: CheckFailure, File: "README.md", Check: `README.md contains "x"`, Description: "it does not",
			Evidence: "a <b>\n& c"},
			{Type: Stub, File: "a.go", Line: 7, Task: "T-001", Description: "A is not implemented"},
			{Type: CIFailure, Task: "a", Tasks: []string{"a", "b"}, Check: "false", Description: "it fails"}}}
	want := `---
status: gaps_found
gaps: 3
checks: 2
checks_passed: 1
verified: 2026-01-02T03:04:05Z
---

# Verification: Parser

## Checks

- [x] T-001, T-002: ` + "`go test ./...`" + `
- [ ] ` + "`README.md contains \"x\"`" + `: it does not

## Not verified

In prose, so nothing was run for them:

- It is fast.

## Not made

True at their task's own time only:

- T-001 ! go test ./...

## Gaps

<gaps>
<gap type="check_failure">
  <file>README.md</file>
  <check>README.md contains &#34;x&#34;</check>
  <description>it does not</description>
  <evidence>a &lt;b&gt;
&amp; c</evidence>
</gap>
<gap type="stub" task="T-001" line="7">
  <file>a.go</file>
  <description>A is not implemented</description>
</gap>
<gap type="ci_failure" task="a" tasks="a, b">
  <check>false</check>
  <description>it fails</description>
</gap>
</gaps>
`
	got := d.Markdown()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if read := Parse(got); !reflect.DeepEqual(read, d.Gaps) {
		t.Errorf("read back as %+v", read)
	}
	if e := d.Gaps[1].XML("2", "20"); !strings.HasPrefix(e,
		`<gap type="stub" iteration="2/20" task="T-001" line="7">`) {
		t.Errorf("the element is %s", e)
	}
}

// Foreign documents: attributes in any form, plain text, an unknown type.
func TestParseDocumentsOfOthers(t *testing.T) {
	t.Parallel()
	got := Parse(`# Verification
<gaps>
<gap type='orphan' file=src/a.ts>never imported</gap>
<GAP TYPE="odd"
  FILE="b.md"/>
<gap><file>c.go</file><description>half done</description></gap>
<gap></gap>
</gaps> <gap type="ci_failure">cut off`)
	want := []Gap{{Type: "orphan", File: "src/a.ts", Description: "never imported"}, {Type: "odd", File: "b.md"},
		{File: "c.go", Description: "half done"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestGapsSurviveTheDocument(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching("[a-z<>&\"'`\\]/é ]{0,12}x")
	rapid.Check(t, func(t *rapid.T) {
		g := Gap{Type: word.Draw(t, "type"), File: word.Draw(t, "file"), Task: word.Draw(t, "task"),
			Check: word.Draw(t, "check"),
			Line:  rapid.IntRange(0, 99).Draw(t, "line"), Description: word.Draw(t, "description"),
			Evidence: word.Draw(t, "evidence")}
		g.Type, g.Task = oneLine(g.Type), oneLine(g.Task)
		g.File, g.Check = strings.TrimSpace(g.File), strings.TrimSpace(g.Check)
		g.Description, g.Evidence = strings.TrimSpace(g.Description), strings.TrimSpace(g.Evidence)
		d := Document{Gaps: []Gap{g, g}}
		if got := Parse(d.Markdown()); !reflect.DeepEqual(got, d.Gaps) {
			t.Fatalf("%+v was read back as %+v", g, got)
		}
	})
}

// Documents of other tools have gaps that Files does not look for; each type has advice of its own.
func TestTypesOfGaps(t *testing.T) {
	t.Parallel()
	advice := map[string]string{}
	for _, kind := range []string{Orphan, BrokenLink, Stub, MissingExport, WrongImport, CIFailure, "of another tool"} {
		got := Parse(`<gap type="` + kind + `" file="a.ts">it is so</gap>`)
		if len(got) != 1 || got[0].Type != kind || got[0].File != "a.ts" || got[0].Description != "it is so" {
			t.Fatalf("%s is read as %+v", kind, got)
		}
		if other, twice := advice[got[0].Strategy()]; twice {
			t.Errorf("%s has the advice of %s", kind, other)
		}
		advice[got[0].Strategy()] = kind
	}
}
