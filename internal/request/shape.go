package request

// This file reads and writes SHAPE.md: criteria with their evidence, and conditions that must not become true.
// It asks no model.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/sourcegraph/conc/panics"

	"wavex/internal/textfmt"
)

// Shape is the content of SHAPE.md.
type Shape struct {
	Criteria []Item `json:"criteria"`
	MustNot  []Item `json:"mustNot,omitempty"`
}

// Item is a criterion or a mustNot.
type Item struct {
	Text         string `json:"text"`
	Verification string `json:"verification,omitempty"` // one of evidenceKinds
	// Run is a command that tests it. For a criterion, it succeeds if the criterion is met; for a
	// mustNot, it succeeds if the condition has become true. "" means that a reviewer or a person
	// judges.
	Run string `json:"run,omitempty"`
}

// evidenceKinds lists the kinds of evidence, from the strongest to none at all.
var evidenceKinds = []string{"execution output", "measurement", "observation", "assumption"}

func isKind(s string) bool { return slices.Contains(evidenceKinds, strings.ToLower(oneLine(s))) }

// shapeProblem describes an unusable SHAPE.md.
type shapeProblem string

func (p shapeProblem) Error() string { return string(p) }

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

const (
	maxItems    = 40  // criteria, and mustNots, that are taken from a model or a file
	maxItemText = 600 // bytes
)

// clean returns the shape in normal form: texts on one line, known kinds of evidence, no empty items, no
// duplicates. The output of its command is the evidence of a criterion with a command; a
// criterion with neither evidence nor a command is an assumption until a person sets it.
func (s Shape) clean() Shape {
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
		known := isKind(it.Verification)
		switch {
		case !criteria:
			it.Verification = ""
		case it.Run != "" && (!known || it.Verification == "assumption"):
			it.Verification = "execution output"
		case !known:
			it.Verification = "assumption"
		}
		out = append(out, it)
	}
	return out
}

// printable returns s without the characters that a terminal or YAML refuses. Line breaks stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func oneLine(s string) string { return textfmt.OneLine(printable(s), maxItemText) }

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
	text := "# Shape\n\n"
	for line := range strings.Lines(strings.TrimSpace(request) + "\n") {
		text += strings.TrimRight("> "+line, " \n") + "\n"
	}
	return text
}

// isShapeOf reports whether the text of a SHAPE.md begins as that of a request, also if the rest was edited.
func isShapeOf(request, text string) bool {
	unix := strings.NewReplacer("\r\n", "\n")
	return strings.HasPrefix(unix.Replace(text), heading(unix.Replace(request))+"\n")
}

// writeList writes one key. It does not use the YAML library, which leaves texts unquoted that it
// cannot read again, such as "? A".
func writeList(b *strings.Builder, key string, items []Item) {
	if len(items) > 0 {
		b.WriteString(key + ":\n")
	}
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
	_ = e.Encode(s) // a string cannot fail
	return strings.TrimSpace(b.String())
}

// parseShape reads the YAML blocks and the front matter of SHAPE.md. An entry is a text or a mapping. The key
// "verification" may assign evidence to criteria. Errors are of type shapeProblem.
func parseShape(text string) (Shape, error) {
	var s Shape
	var evidence []assignment
	for _, block := range blocks(text) {
		var doc struct {
			Criteria     []any `yaml:"criteria"`
			MustNot      []any `yaml:"mustNot"`
			MustNotToo   []any `yaml:"must_not"`
			Verification any   `yaml:"verification"`
		}
		var err error
		// The library panics on some invalid texts, such as "a: !" (1.19.2).
		if caught := panics.Try(func() { err = yaml.Unmarshal([]byte(block), &doc) }); caught != nil {
			return s, shapeProblem("a YAML block cannot be read")
		} else if err != nil {
			return s, shapeProblem("a YAML block cannot be read: " + oneLine(yaml.FormatError(err, false, false)))
		}
		own := 0
		if len(doc.Criteria) > 0 {
			own = len(s.Criteria)
		}
		assigned, err := assignments(doc.Verification, own)
		if err != nil {
			return s, err
		}
		evidence = append(evidence, assigned...)
		if s.Criteria, err = appendItems(s.Criteria, doc.Criteria); err != nil {
			return s, err
		}
		if s.MustNot, err = appendItems(s.MustNot, append(doc.MustNot, doc.MustNotToo...)); err != nil {
			return s, err
		}
	}
	if len(s.Criteria) == 0 {
		return s, shapeProblem("there are no criteria; write a block ```yaml with a list criteria:")
	}
	if n := max(len(s.Criteria), len(s.MustNot)); n > maxItems {
		return s, shapeProblem(fmt.Sprintf("a list has %d entries; there may be %d criteria, and as many mustNot",
			n, maxItems))
	}
	for _, a := range evidence {
		if err := a.apply(s.Criteria); err != nil {
			return s, err
		}
	}
	if s = s.clean(); len(s.Criteria) == 0 {
		return s, shapeProblem("every criterion is empty")
	}
	return s, nil
}

// appendItems appends the items of a list in a file.
func appendItems(to []Item, list []any) ([]Item, error) {
	for _, v := range list {
		it, ok := itemOf(v)
		if !ok {
			return to, shapeProblem(fmt.Sprintf("%s is neither a text nor a mapping of texts", oneLine(fmt.Sprint(v))))
		}
		to = append(to, it)
	}
	return to, nil
}

// itemOf returns the item of a text, or of a mapping with a few spellings of its keys.
func itemOf(v any) (it Item, ok bool) {
	fields, isMapping := v.(map[string]any)
	if !isMapping {
		it.Text, ok = scalar(v)
		return it, ok
	}
	texts := map[string]string{}
	for _, name := range []string{"text", "criterion", "verification", "type", "tier", "run", "command"} {
		if texts[name], ok = scalar(fields[name]); !ok {
			return it, false
		}
	}
	return Item{cmp.Or(texts["text"], texts["criterion"]), cmp.Or(texts["verification"], texts["type"], texts["tier"]),
		cmp.Or(texts["run"], texts["command"])}, true
}

// scalar returns the text of a value that is neither a list nor a mapping.
func scalar(v any) (text string, ok bool) {
	switch v.(type) {
	case []any, map[string]any:
		return "", false
	case nil:
		return "", true
	}
	return fmt.Sprint(v), true
}

// assignment is evidence for one criterion, which is named by its text or by its number.
type assignment struct {
	Item      // Text: the criterion; "": the one with the index
	index int // in the list of all criteria
	entry int // in the list of evidence, from 1; 0: a mapping
}

// assignments reads the key "verification": a mapping from criteria, or a list. An entry of a list is a kind of
// evidence, a mapping with type and run for the criterion at its place or for the one that it names, or a pair. Pairs
// have a criterion and its evidence in either order. own is the number of criteria before those of the block.
func assignments(v any, own int) (out []assignment, err error) {
	bad := func(what any) error {
		return verificationError(oneLine(fmt.Sprint(what)) + " is neither a text nor a mapping")
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for key, value := range v {
			it, ok := itemOfPair(key, value)
			if !ok {
				return nil, bad(key)
			}
			out = append(out, assignment{Item: it})
		}
	case []any:
		for i, e := range v {
			it, ok := itemOf(e)
			fields, _ := e.(map[string]any)
			for key, value := range fields {
				if len(fields) == 1 && it == (Item{}) {
					it, ok = itemOfPair(key, value)
				}
			}
			if !ok {
				return nil, bad(fmt.Sprintf("entry %d", i+1))
			}
			if fields == nil {
				it = Item{Verification: it.Text}
			}
			out = append(out, assignment{it, own + i, i + 1})
		}
	default:
		return nil, bad(v)
	}
	return out, nil
}

// itemOfPair returns the evidence of a criterion. The key may also be the kind, and the value the criterion.
func itemOfPair(key string, value any) (Item, bool) {
	it, ok := itemOf(value)
	kind := cmp.Or(it.Verification, it.Text)
	if isKind(key) && !isKind(kind) {
		key, kind = kind, key
	}
	return Item{key, kind, it.Run}, ok
}

// apply gives the evidence to its criterion, of all.
func (a assignment) apply(all []Item) error {
	i := a.index
	if a.Text != "" {
		i = slices.IndexFunc(all, func(c Item) bool { return oneLine(c.Text) == oneLine(a.Text) })
	}
	switch {
	case i < 0:
		return verificationError(fmt.Sprintf("%q is no criterion", oneLine(a.Text)))
	case a.Verification != "" && !isKind(a.Verification):
		return verificationError(fmt.Sprintf("%q is no kind of evidence", oneLine(a.Verification)))
	case i >= len(all):
		return verificationError(fmt.Sprintf("entry %d has no criterion at its place", a.entry))
	}
	c := &all[i]
	c.Verification, c.Run = cmp.Or(c.Verification, a.Verification), cmp.Or(c.Run, a.Run)
	return nil
}

func verificationError(problem string) error {
	return shapeProblem("verification: " + problem + "; write criteria with their evidence, which is one of: " +
		strings.Join(evidenceKinds, ", "))
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

// readShapeAnswer reads a model's answer of that schema. Errors are of type shapeProblem.
func readShapeAnswer(answer json.RawMessage) (s Shape, err error) {
	if json.Unmarshal(answer, &s) != nil {
		return s, shapeProblem("the answer is not the JSON asked for")
	}
	if s = s.clean(); len(s.Criteria) == 0 {
		return s, shapeProblem("the answer has no criterion")
	}
	return s, nil
}
