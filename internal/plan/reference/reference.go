// Package reference has the language of references in the texts of a plan: ${params.target}, with paths, indices and
// three functions. It knows no plan; its callers give the values.
package reference

import "strings"

// roots are the names that begin a reference. After other names, "${" has no meaning: shells and templates use it.
var roots = []string{"params", "tasks", "steps", "run", "item"}

// Template is a text with references.
type Template struct{ parts []part }

// part is a literal text, or a reference.
type part struct {
	text string
	ref  *Ref
}

// Parse reads a text. "$${" before a root stands for "${". The error is an *Error.
func Parse(text string) (*Template, error) { return parse(text, false) }

// ParseItem is like Parse for texts of a task that is repeated: in them ${item} alone is a reference, too.
func ParseItem(text string) (*Template, error) { return parse(text, true) }

func parse(text string, item bool) (*Template, error) {
	t := &Template{}
	var literal strings.Builder // since the last reference
	flush := func() {
		if literal.Len() > 0 {
			t.parts = append(t.parts, part{text: literal.String()})
			literal.Reset()
		}
	}
	for {
		i := strings.Index(text, "${")
		switch {
		case i < 0:
			literal.WriteString(text)
			flush()
			return t, nil
		case !beginsReference(text[i+2:], item):
			literal.WriteString(text[:i+2])
			text = text[i+2:]
		case i > 0 && text[i-1] == '$':
			literal.WriteString(text[:i-1] + "${")
			text = text[i+2:]
		default:
			literal.WriteString(text[:i])
			flush()
			p := parser{all: text[i+2:]}
			ref, err := p.reference()
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, part{ref: ref})
			text = text[i+2+p.at:]
		}
	}
}

// Has reports whether a text may have references, for Parse or ParseItem.
func Has(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "${")
		if !found || beginsReference(rest, true) {
			return found
		}
		text = rest
	}
}

func beginsReference(s string, item bool) bool {
	for _, root := range roots {
		rest, ok := strings.CutPrefix(s, root)
		if !ok || rest == "" {
			continue
		}
		if rest[0] == '.' || rest[0] == '[' || item && root == "item" && strings.IndexByte("} \t|", rest[0]) >= 0 {
			return true
		}
	}
	return false
}

// Refs returns the references in the text, in order.
func (t *Template) Refs() (refs []*Ref) {
	for _, p := range t.parts {
		if p.ref != nil {
			refs = append(refs, p.ref)
		}
	}
	return refs
}

// Expand returns the text with the result of value in the place of each reference. It returns the first error of
// value.
func (t *Template) Expand(value func(*Ref) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.ref != nil {
			var err error
			if text, err = value(p.ref); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// With returns the template with texts in the place of the references for which value reports true. It returns the
// first error of value.
func (t *Template) With(value func(*Ref) (text string, known bool, err error)) (*Template, error) {
	out := &Template{parts: make([]part, 0, len(t.parts))}
	for _, p := range t.parts {
		if p.ref != nil {
			text, known, err := value(p.ref)
			if err != nil {
				return nil, err
			}
			if known {
				p = part{text: text}
			}
		}
		out.parts = append(out.parts, p)
	}
	return out, nil
}

// String returns the text with its references as they were written.
func (t *Template) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		if b.WriteString(p.text); p.ref != nil {
			b.WriteString("${" + p.ref.Text + "}")
		}
	}
	return b.String()
}
