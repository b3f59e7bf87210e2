package page

import (
	"strings"

	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/transcript"
)

// This file lists the words and actions of an agent in an attempt, from the entries of its stream.

// Bounds of texts, in bytes.
const (
	maxSteps  = 80 << 10 // of the steps of an attempt together
	maxAnswer = 1 << 10  // of a tool's answer
)

// Step is an entry of an attempt's transcript.
type Step struct {
	Kind   transcript.Kind `json:"k"`
	Text   string          `json:"x"` // words, a tool call, or the head of its answer
	Failed bool            `json:"f,omitempty"`
	Edit   bool            `json:"e,omitempty"` // Text is a diff
	Inner  bool            `json:"s,omitempty"` // of a subagent
}

// stepList collects the steps of a stream.
type stepList struct {
	list []Step
	size int
	more int // steps that are left out
}

// add adds the step of the stream's next entry. The prompt, thinking and the end are not steps.
func (l *stepList) add(e transcript.Entry) {
	s := Step{Kind: e.Kind, Failed: e.Failed, Inner: e.Subagent}
	switch e.Kind {
	case transcript.Text, transcript.Retry, transcript.Limit:
		s.Text = textfmt.Multiline(e.Text, maxOutput)
	case transcript.Tool:
		s.Text = textfmt.Line(e.Tool) + "  " + textfmt.Multiline(e.Target, maxAnswer)
	case transcript.ToolAnswer:
		if s.Edit = len(e.Patch) > 0; !s.Edit {
			s.Text = textfmt.Multiline(e.Text, maxAnswer)
		}
		for _, c := range e.Patch {
			s.Text += textfmt.Multiline(strings.Join(c.Lines, "\n"), maxOutput) + "\n"
		}
	default:
		return
	}
	switch l.size += len(s.Text); {
	case l.size > maxSteps:
		l.more++
	case strings.TrimSpace(s.Text) != "":
		l.list = append(l.list, s)
	}
}

// steps returns the steps, and a last one that counts those that are left out.
func (l *stepList) steps() []Step {
	if l.more == 0 {
		return l.list
	}
	return append(l.list, Step{Kind: transcript.Text,
		Text: report.Plural(l.more, "more entry is", "more entries are") + " left out; wavex logs shows all"})
}
