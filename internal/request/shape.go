package request

// This file reads and writes SHAPE.md: criteria with their evidence, and conditions that must not become true.
// It asks no model.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/sourcegraph/conc/panics"
)

// Shape is the content of SHAPE.md.
type Shape struct {
	Criteria []Item `json:"criteria" yaml:"criteria"`
	MustNot  []Item `json:"mustNot,omitempty" yaml:"mustNot,omitempty"`
}

// CountAssumptions returns the number of criteria without evidence.
func (s Shape) CountAssumptions() int {
	n := 0
	for _, c := range s.Criteria {
		if c.Verification == "assumption" {
			n++
		}
	}
	return n
}

// maxItems is the greatest number of criteria, and of mustNots, that are taken from a model or a file.
const maxItems = 40

// Clean returns the shape in normal form: texts on one line, known tiers, no empty items, no
// duplicates. The output of its command is the evidence of a criterion with a command; a
// criterion with neither a tier nor a command is an assumption until a person sets a tier.
func (s Shape) Clean() Shape {
	return Shape{cleanItems(s.Criteria, true), cleanItems(s.MustNot, false)}
}

func cleanItems(items []Item, criteria bool) []Item {
	var out []Item
	for _, it := range items {
		it.Text = oneLine(it.Text)
		it.Run = strings.TrimSpace(printable(it.Run))
		it.Verification = strings.ToLower(oneLine(it.Verification))
		if it.Text == "" || slices.ContainsFunc(out, func(o Item) bool { return o.Text == it.Text }) || len(out) == maxItems {
			continue
		}
		if !slices.Contains(evidenceKinds, it.Verification) {
			it.Verification = ""
		}
		switch {
		case !criteria:
			it.Verification = ""
		case it.Run != "" && (it.Verification == "" || it.Verification == "assumption"):
			it.Verification = "execution output"
		case it.Verification == "":
			it.Verification = "assumption"
		}
		out = append(out, it)
	}
	return out
}

// renderShape returns the text of SHAPE.md.
func renderShape(request string, s Shape) string {
	var b strings.Builder
	b.WriteString(heading(request))
	b.WriteString("\nCriteria are met by evidence: `run` succeeds. A mustNot stops the run when its `run` succeeds.\n")
	b.WriteString("Change this block and give the command again; it is read before it is made anew.\n\n```yaml\n")
	writeList(&b, "criteria", s.Criteria)
	writeList(&b, "mustNot", s.MustNot)
	b.WriteString("```\n")
	return b.String()
}

// heading returns the first lines of SHAPE.md, which quote the request.
func heading(request string) string {
	var b strings.Builder
	b.WriteString("# Shape\n\n")
	for line := range strings.Lines(strings.TrimSpace(request) + "\n") {
		b.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
	return b.String()
}

// isShapeOf reports whether the text of a SHAPE.md begins as that of a request, also if the rest was edited.
func isShapeOf(request, text string) bool {
	unix := strings.NewReplacer("\r\n", "\n")
	return strings.HasPrefix(unix.Replace(text), heading(unix.Replace(request))+"\n")
}

// writeList writes one key. It does not use the YAML library, which leaves texts unquoted that it
// cannot read again, such as "? A".
func writeList(b *strings.Builder, key string, items []Item) {
	if len(items) == 0 {
		return
	}
	b.WriteString(key + ":\n")
	for _, it := range items {
		b.WriteString("  - text: " + quoteScalar(it.Text) + "\n")
		if it.Verification != "" {
			b.WriteString("    verification: " + quoteScalar(it.Verification) + "\n")
		}
		if it.Run != "" {
			b.WriteString("    run: " + quoteScalar(it.Run) + "\n")
		}
	}
}

// quoteScalar returns s plain if that is unambiguous, or else as JSON, which is valid YAML.
func quoteScalar(s string) string {
	if regexp.MustCompile(`^[A-Za-z][A-Za-z0-9,.()/_-]*(?: [A-Za-z0-9,.()/_-]+)+$`).MatchString(s) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // a string cannot fail
	}
	return strings.TrimSpace(b.String())
}

// parseShape reads the YAML blocks and the front matter of SHAPE.md. An entry is a text or a mapping. The key
// "verification" may assign evidence to criteria. Errors are of type shapeProblem.
func parseShape(text string) (Shape, error) {
	var s Shape
	var evidence []func() error
	found := false
	for _, block := range blocks(text) {
		var doc struct {
			Criteria     []entry     `yaml:"criteria"`
			MustNot      []entry     `yaml:"mustNot"`
			MustNotToo   []entry     `yaml:"must_not"`
			Verification assignments `yaml:"verification"`
		}
		if err := unmarshal(block, &doc); err != nil {
			return s, err
		}
		own := len(s.Criteria)
		if len(doc.Criteria) == 0 {
			own = 0
		}
		for _, e := range doc.Criteria {
			s.Criteria = append(s.Criteria, e.Item)
		}
		for _, e := range append(doc.MustNot, doc.MustNotToo...) {
			s.MustNot = append(s.MustNot, e.Item)
		}
		evidence = append(evidence, func() error { return doc.Verification.apply(s.Criteria, own) })
		found = found || len(doc.Criteria) > 0
	}
	if !found {
		return s, shapeProblem("there are no criteria; write a block ```yaml with a list criteria:")
	}
	if n := max(len(s.Criteria), len(s.MustNot)); n > maxItems {
		return s, shapeProblem(fmt.Sprintf("a list has %d entries; there may be %d criteria, and as many mustNot",
			n, maxItems))
	}
	for _, apply := range evidence {
		if err := apply(); err != nil {
			return s, err
		}
	}
	s = s.Clean()
	if len(s.Criteria) == 0 {
		return s, shapeProblem("every criterion is empty")
	}
	return s, nil
}

// unmarshal reads one YAML block. Errors are of type shapeProblem.
func unmarshal(block string, doc any) error {
	var err error
	// The library panics on some invalid texts, such as "a: !" (1.19.2).
	if caught := panics.Try(func() { err = yaml.Unmarshal([]byte(block), doc) }); caught != nil {
		return shapeProblem("a YAML block cannot be read")
	}
	if known := shapeProblem(""); errors.As(err, &known) {
		return known
	}
	if err != nil {
		return shapeProblem("a YAML block cannot be read: " + oneLine(yaml.FormatError(err, false, false)))
	}
	return nil
}

// blocks returns the YAML of a markdown text: front matter and fenced blocks.
func blocks(text string) []string {
	lines := strings.Split(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"), "\n")
	var out []string
	start, fence := -1, ""
	for i, line := range lines {
		word := strings.TrimSpace(line)
		switch {
		case start < 0 && i == 0 && word == "---":
			start, fence = 1, "---"
		case start < 0 && (word == "```yaml" || word == "```yml"):
			start, fence = i+1, "```"
		case start >= 0 && word == fence:
			out = append(out, strings.Join(lines[start:i], "\n"))
			start = -1
		}
	}
	return out
}

// shapeSchema is the JSON Schema of a model's answer; small, because every call pays for it.
const shapeSchema = `{"type":"object","properties":{` +
	`"criteria":{"type":"array","minItems":1,"maxItems":12,"items":{"type":"object","properties":{"text":{"type":"string"},` +
	`"verification":{"enum":["execution output","measurement","observation","assumption"]},"run":{"type":"string"}},` +
	`"required":["text","verification"],"additionalProperties":false}},` +
	`"mustNot":{"type":"array","maxItems":12,"items":{"type":"object","properties":{"text":{"type":"string"},"run":{"type":"string"}},` +
	`"required":["text"],"additionalProperties":false}},"tasks":{"type":"integer","minimum":1}},` +
	`"required":["criteria","mustNot"],"additionalProperties":false}`

// taskCount returns the number of tasks of the work by the same answer; 0 if the answer does not
// say.
func taskCount(answer json.RawMessage) int {
	var s struct{ Tasks int }
	if json.Unmarshal(answer, &s) != nil {
		return 0
	}
	return max(s.Tasks, 0)
}

// readShapeAnswer reads a model's answer of that schema. Errors are of type shapeProblem.
func readShapeAnswer(answer json.RawMessage) (Shape, error) {
	var s Shape
	if err := json.Unmarshal(answer, &s); err != nil {
		return s, shapeProblem("the answer is not the JSON asked for")
	}
	if s = s.Clean(); len(s.Criteria) == 0 {
		return s, shapeProblem("the answer has no criterion")
	}
	return s, nil
}
