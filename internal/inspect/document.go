package inspect

import (
	"encoding/xml"
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"

	"wavex/internal/textfmt"
)

// This file writes and reads VERIFICATION.md: the checks that were made, and the gaps between
// <gaps> and </gaps>, one <gap> each. It reads back every document that it writes; of foreign
// documents it reads the parts that it understands.

// Document is the result of one verification.
type Document struct {
	Name          string // of the plan
	Time          time.Time
	Checks        []CheckResult
	Unverified    []string // criteria in prose, without a command to run
	SkippedChecks []string // checks, after their task, that hold only at the task's own time: not made
	Gaps          []Gap
}

// CheckResult is one check that was made.
type CheckResult struct {
	Task   string   `json:"task,omitempty"`  // "" for a check of the plan
	Tasks  []string `json:"tasks,omitempty"` // all tasks that share the check, if several do; Task is the first
	Check  string   `json:"check"`
	Passed bool     `json:"passed"`
	Reason string   `json:"reason,omitempty"`
}

// Owners returns the tasks of the check; none for a check of the plan.
func (c CheckResult) Owners() []string {
	if c.Tasks == nil && c.Task != "" {
		return []string{c.Task}
	}
	return c.Tasks
}

// listSeparator separates tasks in a list of them. No id contains it.
const listSeparator = ", "

// Status returns "passed" or "gaps_found".
func (d *Document) Status() string {
	if len(d.Gaps) > 0 {
		return "gaps_found"
	}
	return "passed"
}

// Passed returns the number of checks that passed.
func (d *Document) Passed() (n int) {
	for _, c := range d.Checks {
		if c.Passed {
			n++
		}
	}
	return n
}

// Markdown returns the document as VERIFICATION.md. Its texts must be free of control characters.
func (d *Document) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nstatus: %s\ngaps: %d\nchecks: %d\nchecks_passed: %d\nverified: %s\n---\n\n# Verification: %s\n",
		d.Status(), len(d.Gaps), len(d.Checks), d.Passed(), d.Time.UTC().Format(time.RFC3339), oneLine(d.Name))
	if len(d.Checks) > 0 {
		b.WriteString("\n## Checks\n\n")
		for _, c := range d.Checks {
			mark, of := "x", ""
			if !c.Passed {
				mark = " "
			}
			if owners := c.Owners(); owners != nil {
				of = oneLine(strings.Join(owners, listSeparator)) + ": "
			}
			fmt.Fprintf(&b, "- [%s] %s`%s`", mark, of, strings.ReplaceAll(oneLine(c.Check), "`", "'"))
			if c.Reason != "" {
				b.WriteString(": " + oneLine(c.Reason))
			}
			b.WriteByte('\n')
		}
	}
	list := func(head string, texts []string) {
		for i, text := range texts {
			if i == 0 {
				b.WriteString(head)
			}
			fmt.Fprintf(&b, "- %s\n", oneLine(text))
		}
	}
	list("\n## Not verified\n\nIn prose, so nothing was run for them:\n\n", d.Unverified)
	list("\n## Not made\n\nTrue at their task's own time only:\n\n", d.SkippedChecks)
	if len(d.Gaps) > 0 {
		b.WriteString("\n## Gaps\n\n<gaps>\n")
		for _, g := range d.Gaps {
			b.WriteString(g.XML("", ""))
		}
		b.WriteString("</gaps>\n")
	}
	return b.String()
}

// XML returns the gap as an element. iteration and most, unless "", are the round that is to
// close it and the number of rounds.
func (g Gap) XML(iteration, most string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<gap type=%s", attr(g.Type))
	if iteration != "" {
		fmt.Fprintf(&b, " iteration=%s", attr(iteration+"/"+most))
	}
	if g.Task != "" {
		fmt.Fprintf(&b, " task=%s", attr(g.Task))
	}
	if g.Tasks != nil {
		fmt.Fprintf(&b, " tasks=%s", attr(strings.Join(g.Tasks, listSeparator)))
	}
	if g.Line > 0 {
		fmt.Fprintf(&b, " line=\"%d\"", g.Line)
	}
	b.WriteString(">\n")
	for _, part := range []struct{ name, text string }{{"file", g.File}, {"check", g.Check},
		{"description", g.Description}, {"evidence", g.Evidence}} {
		if part.text != "" {
			fmt.Fprintf(&b, "  <%s>%s</%s>\n", part.name, escape(part.text), part.name)
		}
	}
	b.WriteString("</gap>\n")
	return b.String()
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(strings.ToValidUTF8(s, "\uFFFD"))) // a Builder never fails
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t", "&#xD;", "").Replace(b.String())
}

func attr(s string) string { return `"` + strings.ReplaceAll(escape(oneLine(s)), `"`, "&#34;") + `"` }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

var (
	gapRe  = textfmt.Pattern(`(?is)<gap\b([^>]*?)(?:/>|>(.*?)</gap\s*>)`)
	attrRe = textfmt.Pattern(`(?is)([a-z_-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	partRe = textfmt.Pattern(`(?is)<(file|check|description|evidence)\s*>(.*?)</(file|check|description|evidence)\s*>`)
)

// Parse returns the gaps of a document: every <gap> element, with its file and words as
// attributes, as child elements, or as plain text. It skips empty gaps.
func Parse(text string) []Gap {
	var out []Gap
	for _, m := range gapRe().FindAllStringSubmatch(text, -1) {
		var g Gap
		set := func(name, value string) {
			value = strings.TrimSpace(html.UnescapeString(value))
			switch strings.ToLower(name) {
			case "type":
				g.Type = value
			case "file", "path":
				g.File = value
			case "line":
				g.Line, _ = strconv.Atoi(value) // 0 if it is not a number
				g.Line = max(g.Line, 0)
			case "task":
				g.Task = value
			case "tasks":
				g.Tasks = strings.Split(value, listSeparator)
			case "check":
				g.Check = value
			case "description":
				g.Description = value
			case "evidence":
				g.Evidence = value
			}
		}
		for _, a := range attrRe().FindAllStringSubmatch(m[1], -1) {
			set(a[1], a[2]+a[3]+a[4])
		}
		for _, part := range partRe().FindAllStringSubmatch(m[2], -1) {
			set(part[1], part[2])
		}
		if g.Description == "" {
			g.Description = oneLine(html.UnescapeString(partRe().ReplaceAllString(m[2], "")))
		}
		if g.Description == "" && g.File == "" && g.Type == "" {
			continue
		}
		out = append(out, g)
	}
	return out
}
