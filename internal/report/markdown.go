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
	lines := r.endLines(true)
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
	if r.totals.committed {
		head, line = head+" Commit |", line+"---|"
	}
	b.WriteString(head + "\n" + line + "\n")
	row := func(id, subject, outcome string, t *Task, cost, commit string) {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %s | %s | %s |", escapeMarkdown(id), escapeMarkdown(subject), outcome,
			t.Attempts, t.Panels, cost, FormatTokens(t.Usage.Total()), FormatDuration(t.Duration))
		if r.totals.committed {
			b.WriteString(" " + commit + " |")
		}
		b.WriteByte('\n')
	}
	r.eachRow(func(t *Task) { row(t.ID, t.Subject, r.statusText(t), t, t.Cost.Spent(), t.shortCommit()) },
		func(g *Group) {
			done, _ := g.Progress()
			row(g.ID, g.rowText(), done, &g.Sum, g.Cost.Spent(), "-")
		})
	if hidden := r.totals.hiddenText(); hidden != "" {
		fmt.Fprintf(&b, "\n%s.\n", hidden)
	}
	for _, g := range r.Regressions[:min(len(r.Regressions), maxRegressions)] {
		writeFolded(&b, g.String(), strings.TrimSpace(textfmt.Block(g.Output)))
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if t.Status == event.Completed || t.Status == event.Blocked || len(t.History) == 0 {
			continue
		}
		writeFolded(&b, t.ID+": "+cmp.Or(t.Reason, string(t.Status)),
			strings.TrimRight(t.attemptsText(), "\n"))
	}
	return b.String()
}

// writeFolded writes a block of text that a reader can open. Its summary is in an HTML block, in which backslashes
// escape nothing. textfmt.Line has made &lt; of the < of a completion marker, which stays so.
func writeFolded(b *strings.Builder, summary, text string) {
	fence := codeFence(text)
	summary = strings.NewReplacer("&lt;", "&lt;", "<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(textfmt.Line(summary))
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n%stext\n%s\n%s\n\n</details>\n", summary, fence, text, fence)
}

// escapeMarkdown makes a foreign text one line that Markdown shows unchanged.
func escapeMarkdown(s string) string {
	return strings.NewReplacer("&lt;", "&lt;", "<", "&lt;", ">", "&gt;", "&", "&amp;", `\`, `\\`, "`", "\\`",
		"*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`, "@", `\@`, "!", `\!`, "$", `\$`,
	).Replace(textfmt.Line(s))
}

// codeFence returns a fence longer than every run of back-ticks in text.
func codeFence(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}
