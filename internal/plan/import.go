package plan

// This file recognises plans of other tools by their content, and hands them to their
// importers. What an importer makes is read by the decoder like any plan, with places
// in the foreign file. It knows how forms are told apart, not what they mean.

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Form is the format of a plan file.
type Form string

// The forms that are read. All but the first two are imported (docs/imports.md).
const (
	FormJSON     Form = "wavex JSON"
	FormYAML     Form = "wavex YAML"
	FormPhase    Form = "phase plan in markdown"
	FormPhaseDoc Form = "phase plan in JSON"
	FormPRD      Form = "PRD in markdown"
	FormStories  Form = "prd.json"
	FormSteps    Form = "state.json"
	formUnknown  Form = "markdown"
)

// maxForeign bounds a file that is imported, in bytes: it is held as a tree.
const maxForeign = 16 << 20

// Import is a plan file as a native plan in JSON, indented, and its form. A file that
// is one already comes as it is, YAML as JSON. The bytes are nil when a diagnostic is
// an error; warnings say what was not carried over. "@file" prompts keep their names.
func Import(name string, data []byte, opts Options) ([]byte, Form, []Diagnostic) {
	src := strings.TrimPrefix(string(data), "\ufeff")
	d := newDecoder(opts, src)
	form := d.open(name, src)
	var out []byte
	switch source := d.src.(type) {
	case *treeSource:
		if source.root != nil {
			out = source.root.appendJSON(nil)
		}
	case *yamlSource:
		out = yamlAsJSON(*source)
	case *jsonSource:
		out = []byte(src)
	}
	d.read()
	ds := d.diagnostics(name)
	if d.errors > 0 || out == nil {
		return nil, form, ds
	}
	return indented(out), form, ds
}

// yamlAsJSON keeps ids as they are written: JSON has no 007.
func yamlAsJSON(probe yamlSource) []byte {
	size := maxNodes
	root := readTree(&probe, probe.next(), &size)
	if root == nil {
		return nil
	}
	for _, t := range root.get("tasks").elements() {
		if id := t.get("id"); id != nil && id.kind == kindNumber {
			id.kind = kindString
		}
	}
	return root.appendJSON(nil)
}

func indented(data []byte) []byte {
	var v json.RawMessage = data
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // it was read before: this cannot be
		return data
	}
	return append(out, '\n')
}

// open chooses the source the plan is read from.
func (d *decoder) open(name, src string) Form {
	if form := markdownForm(name, src); form != "" {
		return d.openMarkdown(form, src)
	}
	if isYAML(name, src) {
		s := newYAMLSource(src)
		d.src = s
		if s.wrong != nil || len(src) > maxForeign {
			return FormYAML
		}
		probe := *s
		if form := recognise(&probe); form != "" {
			return d.openTree(form, s)
		}
		return FormYAML
	}
	d.src = newJSONSource(src)
	if form := recognise(newJSONSource(src)); form != "" {
		return d.openTree(form, newJSONSource(src))
	}
	return FormJSON
}

// openTree imports a plan whose format is JSON or YAML.
func (d *decoder) openTree(form Form, s tokens) Form {
	size := maxNodes
	first := s.next()
	root := readTree(s, first, &size)
	if root != nil {
		s.finish()
	}
	wrong := s.problem()
	if wrong == nil && (root == nil || size < 0) {
		wrong = &problem{first.at, CodeTooLarge, "too many values for a plan that has to be imported"}
	}
	if wrong != nil {
		d.src = &treeSource{where: s.pos, wrong: wrong}
		return form
	}
	f := &foreign{d: d, form: string(form), lenient: d.opts.Lenient, at: root.at}
	d.src = &treeSource{where: s.pos} // for the places of what the importer reports
	switch form {
	case FormPhaseDoc:
		f.readPhaseDoc(root)
	case FormStories:
		f.readStories(root)
	case FormSteps:
		f.readSteps(root)
	}
	d.src = &treeSource{root: f.tree(), where: s.pos}
	return form
}

func (d *decoder) openMarkdown(form Form, src string) Form {
	at := &cursor{src: src, line: 1}
	where := func(p place) Pos { return at.pos(int(p)) }
	if wrong := notText(src); wrong != nil {
		d.src = &treeSource{where: where, wrong: wrong}
		return form
	}
	f := &foreign{d: d, form: string(form), lenient: d.opts.Lenient}
	switch form {
	case FormPhase:
		f.readPhase(src)
	case FormPRD:
		f.readPRD(src)
	default:
		d.src = &treeSource{where: where, wrong: &problem{0, CodeSyntax,
			"this markdown is no plan that is known: it has neither <task> blocks nor headings like \"### T-001: title\""}}
		return form
	}
	d.src = &treeSource{root: f.tree(), where: where}
	return form
}

// notText tells what keeps markdown from being read.
func notText(src string) *problem {
	if len(src) > maxForeign {
		return &problem{0, CodeTooLarge, "the file is larger than 16 MB, which no plan in markdown is"}
	}
	if i := strings.IndexByte(src, 0); i >= 0 {
		return &problem{place(i), CodeEncoding, "a NUL character; save the file as UTF-8 text"}
	}
	if !utf8.ValidString(src) {
		for i := 0; ; {
			r, n := utf8.DecodeRuneInString(src[i:])
			if r == utf8.RuneError && n <= 1 {
				return &problem{place(i), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
			}
			i += n
		}
	}
	return nil
}

// markdownForm tells the form of a markdown file; "" for JSON and YAML.
func markdownForm(name, src string) Form {
	markdown := false
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml":
		return ""
	case ".md", ".markdown":
		markdown = true
	default:
		if first := strings.TrimLeft(src, " \t\r\n"); first == "" || first[0] == '{' || first[0] == '[' {
			return ""
		}
	}
	if len(src) > maxForeign {
		if markdown {
			return formUnknown
		}
		return ""
	}
	heading := storyHeading()
	story := false
	for line := range markdownLines(src) {
		switch {
		case line.code:
		case taskTag(line.text) > 0:
			return FormPhase
		case !story && strings.HasPrefix(line.text, "##") && heading.MatchString(line.text):
			story = true
		}
	}
	switch {
	case story:
		return FormPRD
	case markdown:
		return formUnknown
	}
	return ""
}

// taskTag is the length of a <task ...> that a line begins with, at most three spaces
// before it included; 0 without one.
func taskTag(s string) int {
	rest := strings.TrimLeft(s, " ")
	indent := len(s) - len(rest)
	if indent > 3 || !strings.HasPrefix(rest, "<task") || len(rest) < 6 || strings.IndexByte("> \t", rest[5]) < 0 {
		return 0
	}
	n := tagEnd(rest)
	if n < 0 {
		return 0
	}
	return indent + n
}

func storyHeading() *regexp.Regexp {
	return regexp.MustCompile(`^(#{2,4})\s+([A-Za-z]{1,5}-?\d{1,6})\s*[:.]\s+(\S.*)$`)
}

// recognise tells which foreign form a JSON or YAML file has, by its first fields that
// tell; "" for a native plan, and for what no form fits.
func recognise(s tokens) Form {
	if t := s.next(); t.kind != kindObject {
		return ""
	}
	for {
		name := s.next()
		if name.kind != kindString {
			return ""
		}
		value := s.next()
		switch name.text {
		case "phase", "must_haves", "mustHaves", "wave_count", "task_count", "key_links":
			return FormPhaseDoc
		case "userStories", "user_stories", "stories":
			return FormStories
		case "steps", "completedSteps", "remainingSteps", "criteriaStatus":
			return FormSteps
		case "tasks", "waves":
			if form, sure := recogniseList(s, name.text, value); sure {
				return form
			}
		default:
			s.skip(value)
		}
		if value.kind == kindBad {
			return ""
		}
	}
}

// recogniseList looks at the first element of tasks or waves. What it leaves unread is
// skipped when it is not sure.
func recogniseList(s tokens, name string, list token) (form Form, sure bool) {
	if list.kind != kindArray {
		s.skip(list)
		return "", false
	}
	first := s.next()
	if first.kind != kindObject {
		if first.kind != kindEnd {
			s.skip(first)
			s.skip(list)
		}
		return "", false
	}
	for {
		field := s.next()
		if field.kind != kindString {
			break
		}
		value := s.next()
		switch field.text {
		case "subject", "prompt", "command", "activeForm", "blockedBy", "addBlockedBy", "criteria":
			return "", true
		case "passes", "acceptanceCriteria", "acceptance_criteria":
			form = FormStories
		case "tasks":
			return FormPhaseDoc, true
		case "title", "action", "done", "test_required", "user_observable":
			if form == "" && name == "tasks" { // a native wave has a title too
				form = FormPhaseDoc
			}
		}
		s.skip(value)
		if value.kind == kindBad {
			return "", true
		}
	}
	if form != "" {
		return form, true
	}
	s.skip(list)
	return "", false
}

// ImportFile is Import for a file. The error is a *ReadError.
func ImportFile(path string, opts Options) ([]byte, Form, []Diagnostic, error) {
	src, _, err := read(path)
	if err != nil {
		return nil, "", nil, &ReadError{path, err}
	}
	if opts.Dir == "" {
		opts.Dir = Beside(path)
	}
	out, form, ds := Import(path, []byte(src), opts)
	return out, form, ds, nil
}

// Beside is the folder that the "@file" of a plan's prompts are looked up in.
func Beside(path string) string { return filepath.Dir(path) }
