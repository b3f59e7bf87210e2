package request

// This file holds one criterion or mustNot, and its forms in YAML.

import (
	"cmp"
	"strings"
	"unicode"

	"wavex/internal/textfmt"
)

// Item is a criterion or a mustNot.
type Item struct {
	Text         string `json:"text" yaml:"text"`
	Verification string `json:"verification,omitempty" yaml:"verification,omitempty"` // one of evidenceKinds
	// Run is a command that tests it. For a criterion, it succeeds if the criterion is met; for a
	// mustNot, it succeeds if the condition has become true. "" means that a reviewer or a person
	// judges.
	Run string `json:"run,omitempty" yaml:"run,omitempty"`
}

// evidenceKinds lists the kinds of evidence, from the strongest to none at all.
var evidenceKinds = []string{"execution output", "measurement", "observation", "assumption"}

// shapeProblem describes an unusable SHAPE.md.
type shapeProblem string

func (p shapeProblem) Error() string { return string(p) }

// entry is an item in one of the forms that people write.
type entry struct{ Item }

// UnmarshalYAML reads a text, or a mapping with a few spellings of its keys.
func (e *entry) UnmarshalYAML(read func(any) error) error {
	var text string
	if read(&text) == nil {
		e.Text = text
		return nil
	}
	var m struct {
		Text         string `yaml:"text"`
		Criterion    string `yaml:"criterion"`
		Verification string `yaml:"verification"`
		Type         string `yaml:"type"`
		Tier         string `yaml:"tier"`
		Run          string `yaml:"run"`
		Command      string `yaml:"command"`
	}
	if err := read(&m); err != nil {
		return err
	}
	e.Item = Item{cmp.Or(m.Text, m.Criterion), cmp.Or(m.Verification, m.Type, m.Tier), cmp.Or(m.Run, m.Command)}
	return nil
}

// maxText bounds a text, in bytes.
const maxText = 600

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

func oneLine(s string) string { return textfmt.OneLine(printable(s), maxText) }
