package report

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// Markdown returns the summary for a step summary or a comment: the verdict, a table of the tasks,
// and, folded, the problems of each task that is not completed. It is GitHub's dialect, which
// GitLab reads as well.
func (r *Summary) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## wavex: %s\n\n", escapeMarkdown(cmp.Or(r.Name, r.Run)))
	lines := r.totals()
	for i, l := range lines {
		l = escapeMarkdown(l)
		if i == 0 {
			l = "**" + l + "**"
		}
		if i < len(lines)-1 {
			l += "  " // a line break
		}
		b.WriteString(l + "\n")
	}
	head, line := "\n| Task | Subject | Outcome | Attempts | Counsel | Cost | Tokens | Time |",
		"|---|---|---|--:|--:|--:|--:|--:|"
	if r.committed() {
		head, line = head+" Commit |", line+"---|"
	}
	b.WriteString(head + "\n" + line + "\n")
	hidden := 0
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if len(r.Tasks) > maxTableRows && t.Status == event.Completed {
			hidden++
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s | %s | %s |", escapeMarkdown(t.ID), escapeMarkdown(t.Subject),
			r.statusText(t),
			t.Attempts, t.Panels, t.Cost.Spent(), FormatTokens(t.Usage.Total()), FormatDuration(t.Duration))
		if r.committed() {
			b.WriteString(" " + t.shortCommit() + " |")
		}
		b.WriteByte('\n')
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\n%s not shown.\n", Plural(hidden, "completed task", "completed tasks"))
	}
	for _, g := range r.Regressions[:min(len(r.Regressions), maxRegressions)] {
		said := strings.TrimSpace(textfmt.Block(g.Output))
		fence := codeFence(said)
		fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n%stext\n%s\n%s\n\n</details>\n",
			escapeMarkdown(g.String()), fence,
			said, fence)
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if t.Status == event.Completed || t.Status == event.Blocked || len(t.History) == 0 {
			continue
		}
		story := strings.TrimRight(t.attemptsText(), "\n")
		fence := codeFence(story)
		fmt.Fprintf(&b, "\n<details><summary>%s: %s</summary>\n\n%stext\n%s\n%s\n\n</details>\n",
			escapeMarkdown(t.ID), escapeMarkdown(cmp.Or(t.Reason, string(t.Status))), fence, story, fence)
	}
	return b.String()
}

// escapeMarkdown makes a foreign text one line that Markdown shows unchanged.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(textfmt.Line(s), "&lt;", "<") {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '\\', '`', '*', '_', '[', ']', '|', '~', '#', '@', '!', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// codeFence returns a fence longer than every run of back-ticks in text.
func codeFence(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return strings.Repeat("`", longest+1)
}
