package convert

import (
	"path/filepath"
	"regexp"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// This file recognises by its shape which tool wrote a plan. It reads no more than that takes.

// textProblem returns the problem that makes markdown unreadable, or nil.
func textProblem(src string) *source.Problem {
	if len(src) > maxImport {
		return &source.Problem{At: 0, Code: plan.CodeTooLarge,
			Message: "the file is larger than 16 MB, which no plan in markdown is"}
	}
	if off, message := source.EncodingProblem(src); message != "" {
		return &source.Problem{At: source.Location(off), Code: plan.CodeEncoding, Message: message}
	}
	return nil
}

// detectMarkdown returns the form of a markdown file; "" for JSON and YAML.
func detectMarkdown(name, src string) Form {
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
	if len(src) > maxImport {
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

func storyHeading() *regexp.Regexp {
	return regexp.MustCompile(`^(#{2,4})\s+([A-Za-z]{1,5}-?\d{1,6})\s*[:.]\s+(\S.*)$`)
}

// detectForm returns the foreign form of a JSON or YAML file, from its first distinctive fields; ""
// for a native plan and for an unknown form.
func detectForm(s source.Tokens) Form {
	if t := s.Next(); t.Kind != source.KindObject {
		return ""
	}
	for {
		name := s.Next()
		if name.Kind != source.KindString {
			return ""
		}
		value := s.Next()
		switch name.Text {
		case "phase", "must_haves", "mustHaves", "wave_count", "task_count", "key_links":
			return FormPhaseDoc
		case "userStories", "user_stories", "stories":
			return FormStories
		case "steps", "completedSteps", "remainingSteps", "criteriaStatus":
			return FormSteps
		case "tasks", "waves":
			if form, sure := detectListForm(s, name.Text, value); sure {
				return form
			}
		default:
			s.Skip(value)
		}
		if value.Kind == source.KindBad {
			return ""
		}
	}
}

// detectListForm looks at the first element of tasks or waves. If it is not sure, it skips the rest
// of the list.
func detectListForm(s source.Tokens, name string, list source.Token) (form Form, sure bool) {
	if list.Kind != source.KindArray {
		s.Skip(list)
		return "", false
	}
	first := s.Next()
	if first.Kind != source.KindObject {
		if first.Kind != source.KindEnd {
			s.Skip(first)
			s.Skip(list)
		}
		return "", false
	}
	for {
		field := s.Next()
		if field.Kind != source.KindString {
			break
		}
		value := s.Next()
		switch field.Text {
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
		s.Skip(value)
		if value.Kind == source.KindBad {
			return "", true
		}
	}
	if form != "" {
		return form, true
	}
	s.Skip(list)
	return "", false
}
