package convert

// This file checks that imports lose no word: each word of a file is in the plan, or a warning names its part.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/plan"
)

// document is a generated file. Its parts are separate lines or groups of lines, in which each "@" stands for a
// word that occurs nowhere else.
type document struct {
	text  strings.Builder
	lines int
	words map[string][2]int // first line of the part that has the word, and line of the word
}

// add writes a part.
func (d *document) add(part string) {
	first := d.lines + 1
	for n := strings.Count(part, "@"); n > 0; n-- {
		word := fmt.Sprintf("w%dq", len(d.words))
		d.words[word] = [2]int{first, first + strings.Count(part[:strings.Index(part, "@")], "\n")}
		part = strings.Replace(part, "@", word, 1)
	}
	d.text.WriteString(part + "\n")
	d.lines += strings.Count(part, "\n") + 1
}

// some writes some of the parts, each once, in any order.
func (d *document) some(t *rapid.T, label string, parts ...string) {
	for _, p := range rapid.Permutation(parts).Draw(t, label)[:rapid.IntRange(0, len(parts)).Draw(t, "n")] {
		d.add(p)
	}
}

// check imports the file and searches for each word.
func (d *document) check(t *rapid.T, name string, form Form) {
	out, got, ds := Import(name, []byte(d.text.String()), plan.Options{})
	if out == nil || got != form {
		t.Fatalf("%s, %v\n%s", got, ds, d.text.String())
	}
	for word, lines := range d.words {
		if !strings.Contains(string(out), word) && !slices.ContainsFunc(ds, func(w plan.Diagnostic) bool {
			return strings.Contains(w.Message, word) || w.Code == plan.CodeNotCarried &&
				(slices.Contains(lines[:], w.Line) || w.Line <= lines[1] && lines[1] <= lastLine(w.Message))
		}) {
			t.Fatalf("%s of line %d is neither in the plan nor in a warning:\n%s\n%s\n%v", word, lines[1], d.text.String(),
				out, ds)
		}
	}
}

// lastLine returns the last line of the part that a message names; 0 if it names no lines.
func lastLine(message string) int {
	n := 0
	if _, rest, found := strings.Cut(message, " to "); found {
		_, _ = fmt.Sscanf(rest, "%d,", &n)
	}
	return n
}

func TestNoWordOfAPhasePlanIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &document{words: map[string][2]int{}}
		if rapid.Bool().Draw(t, "front matter") {
			d.add("---")
			d.some(t, "front matter", "phase: @", "title: the @", "goal: to @", "estimated_tokens: 45k", "estimated_tokens: @ k",
				"owner: @", "- @", "title: another @", "phase: x@")
			d.add("---")
		} else {
			d.add("")
		}
		d.some(t, "head", "# Heading @", "# Heading @ two", "```\nfenced @\n```", "Some words @", "---",
			"<!-- note --> words @", "<!--\n--> <!-- --> @", "<!-- --> <!-- @\nwords @ -->",
			"## Notes @\n\nwords @\n- @",
			"## Empty @", "## Must-Haves (Goal-Backward)\n- [ ] @ is so", "## Must have @", "## Must-Haves\n\nbut @\n",
			"## Goal of @\n\nto @", "## Key Links @\n\n| From | To | @ |\n|---|---|---|\n| a.md | b.md | @ |\n- @ -> @",
			"## Context Budget @\n\n- Wave 1: ~10% @", "~~~\n<task @>\n~~~")
		d.some(t, "waves", "## Wave 1 (Parallel - @)", "## Wave 1: @", "## Wave 1 (Sequential - @)",
			"## Wave 1 ("+strings.Repeat("long ", 50)+" @)", "below @", "```\n@\n```")
		for n := range rapid.IntRange(1, 2).Draw(t, "tasks") {
			d.phaseTask(t, n+1)
		}
		d.some(t, "end", "---", "after @", "## Risks @\n\n@")
		d.check(t, "p.md", FormPhase)
	})
}

func (d *document) phaseTask(t *rapid.T, n int) {
	attrs := []string{`extra="@"`, "@", `title="@"`, `name='@'`, `parallel="@"`, "size=@"}
	tag := fmt.Sprintf(`<task id="%d"`, n)
	for _, a := range rapid.Permutation(attrs).Draw(t, "attributes")[:rapid.IntRange(0, len(attrs)).Draw(t, "n")] {
		tag += " " + a
	}
	d.add(tag + ">")
	d.some(t, "sections", "<title>@</title>", "<name>@</name>", "<action>do @</action>", "<action>also @</action>",
		`<action kind="@">and @</action>`, "<description>\nwords @\n</description>", "stray @", "<done>@</done>",
		"<user_observable>@</user_observable>", "<libraries>@</libraries>", "<skills>@, none</skills>",
		`<urgent/>`, `<flag note="@"/>`, "<custom_part @>@</custom_part>", "<!-- -->", "<files @>\n</files>")
	d.add("<files>")
	d.some(t, "files", `<file action="create">a@.md</file>`, `<file action="@">b.md</file>`,
		`<file action="modify" why="@">c.md</file>`, `<file action="create" @>d.md</file>`, `<file path="e@.md"/>`,
		`<file action="create" why="@"></file>`, "- f@.md", "none")
	d.add("</files>\n<verify>")
	claims := claimsWithWords()
	for i, c := range claims {
		claims[i] = "<check>" + c + "</check>"
	}
	d.some(t, "checks", append(claims, `<check type="content">a.md contains "k" and is valid @</check>`,
		`<check type="@">a.md exists</check>`, `<check type="@">it is quick</check>`,
		`<check type="console" cmd="make @">every @ passes</check>`, `<check cmd="make">it @</check>`,
		`<check type="grep" cmd="grep @ a.md">has @</check>`, `<check type="content" file="a@.md">@</check>`,
		`<check type="file" file="a.md" cmd="make @">@ exists</check>`, `<check type="file" why="@">a.md exists</check>`,
		`<check @>a.md exists</check>`, `<check type="manual">@</check>`, "- @ holds", "<automated>make @</automated>")...)
	d.add("</verify>\n</task>")
}

// claimsWithWords returns texts of checks that say more or less than a check can.
func claimsWithWords() []string {
	return []string{`g.md exists`, `g.md exists with @`, `g.md exists in @`, `the file @ exists`, `g.md contains "@"`,
		`g.md contains @`, `g.md contains "@" and "@"`, `g.md contains "@" or "@"`, `g.md contains "k" type @`,
		`g.md contains "k" @`, `g.md contains @ "k"`, `g.md defines "@"`, `g.md exports "k" for @`, `g.md has no "@"`,
		"g.md contains `k` and 'l' @", `@ contains "k"`, "Run `make @` passes", "`make @` → exits code 0 @",
		"npm test @ passes", "npm run @ shows it", "`@`", "g.md includes \"k\" that calls \"@\" @"}
}

// object writes an object with some of the fields, one on each line, and closes it with end.
func (d *document) object(t *rapid.T, label, start, end string, fields ...string) {
	d.add("{" + start)
	for _, f := range rapid.Permutation(fields).Draw(t, label)[:rapid.IntRange(0, len(fields)).Draw(t, "n")] {
		d.add("," + f)
	}
	d.add(end)
}

func taskFieldsWithWords() []string {
	fields := []string{`"title": "the @"`, `"name": "@"`, `"action": "do @"`, `"details": "@"`, `"notes": "@"`,
		`"done": "@"`,
		`"skills": ["@", "none"]`, `"files": ["a@.md", {"path": "b.md", "action": "@"}, {"path": "c.md", "why": "@"}]`,
		`"status": "@"`, `"owner": "@"`, `"estimate": {"hours": "@"}`, `"user_observable": ["@"]`, `"libraries": "@"`,
		`"checks": [{"type": "file", "check": "g.md exists", "note": "@"}, {"type": "@", "check": "it is quick"}]`,
		`"verification": [{"cmd": "make @", "expect": "every @ passes"}, {"cmd": "make", "command": "make @"}]`,
		`"acceptance": [{"file": "g.md", "path": "@.md", "cmd": "make"}, {"run": "make @", "text": "it @"}]`,
		`"parallel": "@"`}
	claims := claimsWithWords()
	for i, c := range claims {
		claims[i] = fmt.Sprintf("%q", c)
	}
	return append(fields, `"verify": [`+strings.Join(claims, ", ")+"]")
}

func TestNoWordOfAPhaseDocumentIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &document{words: map[string][2]int{}}
		d.object(t, "document", `"phase": 1`, `,"waves": [`, `"title": "the @"`, `"name": "@"`, `"goal": "@"`,
			`"description": "to @"`, `"owner": "@"`, `"must_haves": ["@", {"text": "@", "truth": "@", "why": "@"}]`,
			`"mustHaves": {"truths": ["@"], "artifacts": ["@"]}`, `"links": ["a.md -> b.md (@)", "@ -> @"]`,
			`"key_links": [{"from": "a.md", "to": "b.md", "via": "@"}]`, `"estimated_tokens": "45k"`,
			`"context_budget": {"wave 1": "@"}`, `"milestone": ["@"]`)
		d.object(t, "wave", `"wave": 1`, `,"tasks": [`, `"title": "@"`, `"name": "@"`, `"label": "@"`, `"mode": "@"`,
			`"parallel": "@"`, `"why": "@"`, `"description": "`+strings.Repeat("long ", 50)+`@"`)
		d.object(t, "task", `"id": "1"`, "}]}", taskFieldsWithWords()...)
		d.object(t, "second wave", `,"wave": 1, "title": "other @"`[1:], `,"tasks": ["2"]}],"tasks": [`)
		d.object(t, "second task", `"id": 2`, "}]}", taskFieldsWithWords()...)
		text := strings.Replace(d.text.String(), "}]}\n{\"wave\"", "}]},\n{\"wave\"", 1)
		d.text.Reset()
		d.text.WriteString(text)
		d.check(t, "p.json", FormPhaseDoc)
	})
}

func TestNoWordOfAListIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &document{words: map[string][2]int{}}
		d.object(t, "document", `"project": "@"`, `,"userStories": [`, `"name": "@"`,
			`"title": "`+strings.Repeat("long ", 70)+`@"`,
			`"description": "@"`, `"goal": "@"`, `"branchName": "@"`)
		d.object(t, "story", `"id": 1, "passes": false`, "}]}", append(taskFieldsWithWords(), `"priority": "@"`)...)
		d.check(t, "p.json", FormStories)

		d = &document{words: map[string][2]int{}}
		d.object(t, "document", `"steps": ["@", "x", "y", {"title": "z", "name": "@", "description": "@", "why": "@"}]`,
			`,"spec": "@"}`, `"task": "@"`, `"criteria": ["@", "g.md contains \"k\" @"]`, `"criteriaStatus": {"@": true}`,
			`"completedSteps": ["x"]`, `"remainingSteps": ["y", "`+strings.Repeat("long ", 70)+`@"]`, `"status": "@"`)
		d.check(t, "p.json", FormSteps)
	})
}
