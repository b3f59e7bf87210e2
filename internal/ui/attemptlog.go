package ui

import (
	"fmt"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/transcript"
	"wavex/runner"
)

// This file writes an agent's words and actions for `wavex logs`. Every text is foreign and passes
// through package textfmt.

// Maximum lines of one tool answer, of one edit, and of text sent to the agent.
const (
	maxAnswerLines = 12
	maxEditLines   = 40
	maxPromptLines = 3
)

// LogEntry formats an entry of a stream for people. A sign at the left margin shows its kind; the
// lines that belong to it are indented.
func LogEntry(e transcript.Entry, o Options) []string {
	in := ""
	if e.Subagent {
		in = "    " // of a subagent
	}
	color := func(code, text string) string {
		if !o.Color || text == "" {
			return text
		}
		return colorize(code, text)
	}
	sign := func(sign, ascii string) string {
		if o.ASCII {
			return ascii
		}
		return sign
	}
	head := func(code, mark, words string) string {
		return in + color(code, mark) + " " + words
	}
	switch e.Kind {
	case transcript.Init:
		return []string{head("2", sign("·", "-"), textfmt.Line(e.Text))}
	case transcript.Text:
		return append(append([]string{""}, indent(in, strings.TrimSpace(textfmt.Multiline(e.Text, 0)), 0)...), "")
	case transcript.Thinking:
		return indent(in+color("2", sign("┆", ":"))+" ", textfmt.Multiline(e.Text, 0), maxAnswerLines)
	case transcript.ToAgent:
		return indent(in+color("2", sign("»", ">"))+" ", textfmt.Multiline(e.Text, 0), maxPromptLines)
	case transcript.Tool:
		words := textfmt.Line(e.Tool)
		if t := textfmt.Multiline(e.Target, 2000); t != "" {
			words = strings.Join(indent("", words+"  "+t, maxPromptLines), "\n"+in+"    ")
		}
		return strings.Split(head("36", sign("→", "->"), words), "\n")
	case transcript.ToolAnswer:
		if e.Failed {
			return append([]string{in + "  " + color("31", sign("✗ ", "FAILED ")+textfmt.Line(e.Tool))},
				indent(in+"    ", textfmt.Multiline(e.Text, 0), 2*maxAnswerLines)...)
		}
		if len(e.Patch) > 0 {
			return diffLines(in, e.Patch, color)
		}
		return indent(in+"    ", textfmt.Multiline(e.Text, 0), maxAnswerLines)
	case transcript.Retry, transcript.Limit:
		return []string{head("33", "!", string(e.Kind)+": "+textfmt.Line(e.Text))}
	case transcript.End:
		code := "32"
		if e.Failed {
			code = "31"
		}
		lines := indent("", textfmt.Multiline(e.Text, 0), maxAnswerLines)
		return append([]string{head(code, sign("■", "*"), lines[0])}, indentAll("    ", lines[1:])...)
	}
	return indent(in+color("33", "?")+" ", textfmt.Multiline(e.Text, 4000), maxAnswerLines)
}

func diffLines(in string, changes []transcript.Change, color func(code, text string) string) (out []string) {
	for _, c := range changes {
		if c.Created {
			out = append(out, in+"    (a new file)")
		}
		for i, l := range c.Lines {
			if i == maxEditLines {
				out = append(out, fmt.Sprintf("%s    … %d more lines", in, len(c.Lines)-i))
				break
			}
			code := ""
			switch {
			case strings.HasPrefix(l, "+"):
				code = "32"
			case strings.HasPrefix(l, "-"):
				code = "31"
			case strings.HasPrefix(l, "@@"):
				code = "2"
			}
			if l = strings.ReplaceAll(textfmt.Multiline(l, 400), "\n", " "); code != "" {
				l = color(code, l)
			}
			out = append(out, in+"    "+l)
		}
	}
	return out
}

// indent puts a mark before the first line of a text and spaces before the others. It shows at most
// most lines (0: all) and says how many are missing.
func indent(mark, text string, most int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	more := 0
	if most > 0 && len(lines) > most {
		lines, more = lines[:most], len(lines)-most
	}
	pad := strings.Repeat(" ", textfmt.Width(colorSequence().ReplaceAllString(mark, "")))
	out := indentAll(pad, lines)
	out[0] = mark + lines[0]
	if more > 0 {
		out = append(out, pad+"… "+report.Plural(more, "more line", "more lines"))
	}
	return out
}

func indentAll(pad string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = pad + l
	}
	return out
}

// LogStart returns the first line of an attempt's log.
func LogStart(e event.AttemptStarted, title string, at time.Time) string {
	l := fmt.Sprintf("== %s, attempt %d, %s", taskName(e.Task, title), e.Attempt, at.UTC().Format(time.RFC3339))
	if why := attemptKindText(e); why != "" {
		l += " (" + why + ")"
	}
	return l
}

// LogEnd returns the last lines of an attempt's log: its outcome, the checks that failed, and the
// next step.
func LogEnd(e event.AttemptEnded) []string {
	out := []string{"== " + attemptEndedText(e)}
	for _, c := range e.Result.Checks {
		if c.Passed {
			continue
		}
		out = append(out, "   failed: "+textfmt.Line(c.Check)+": "+textfmt.Line(c.Reason))
		out = append(out, indent("     ", textfmt.Multiline(c.Output, 0), 2*maxAnswerLines)...)
	}
	for _, d := range e.Result.Refusals {
		out = append(out, "   denied by the policy: "+textfmt.Line(d.String()))
	}
	if more := e.Result.Refused - len(e.Result.Refusals); more > 0 {
		out = append(out, fmt.Sprintf("   denied by the policy: %d more", more))
	}
	for _, d := range e.Result.Denials {
		out = append(out, "   denied: "+textfmt.Line(d.String()))
	}
	if o := e.Result.Output; o != nil {
		out = append(out, "   output: "+outputText(o))
	}
	if f := followUpText(e); f != "" {
		out = append(out, "   then: "+f)
	}
	return out
}

// outputText returns the head of a structured result on one line.
func outputText(o *runner.Output) string {
	if o.Digest != "" {
		return fmt.Sprintf("%d bytes", o.Size)
	}
	return textfmt.Shorten(textfmt.Line(string(o.Value)), 400)
}

// followUpText describes the next step after an attempt, for a reader of an old log.
func followUpText(e event.AttemptEnded) string {
	stopping, again := "", "another attempt"
	if e.Stop != nil {
		stopping = "stopping: " + fitText(e.Stop.Reason)
	}
	if e.Continue {
		again += " in the same session"
	}
	return nextStepText(e, stopping, "counsel", again)
}
