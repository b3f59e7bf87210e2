package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// maxAnnotations is the number of errors that GitHub shows for one step.
const maxAnnotations = 10

// Annotations returns workflow commands of GitHub Actions: an error at the plan's line of each task
// that failed or needs a person, and a warning if the run stopped early. file is the plan's path
// relative to the repository.
func (r *Summary) Annotations(file string) string {
	var b strings.Builder
	failed := 0
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if t.Status != event.Failed && !t.needsPerson() || t.Allowed {
			continue
		}
		if failed++; failed > maxAnnotations {
			continue
		}
		where := []string{"file=" + escapeProperty(file), "title=" + escapeProperty(t.ID+" "+t.StatusText()+": "+t.Subject)}
		if t.Pos.Line > 0 {
			where = append(where, fmt.Sprintf("line=%d", t.Pos.Line), fmt.Sprintf("col=%d", t.Pos.Column))
		}
		fmt.Fprintf(&b, "::error %s::%s\n", strings.Join(where, ","), escapeData(cmp.Or(t.Reason, string(t.Status))))
	}
	if failed > maxAnnotations {
		fmt.Fprintf(&b, "::warning title=wavex::%s\n",
			escapeData(fmt.Sprintf("%d more tasks failed; see the summary", failed-maxAnnotations)))
	}
	for _, g := range r.Regressions[:min(len(r.Regressions), maxAnnotations)] {
		fmt.Fprintf(&b, "::warning file=%s,title=%s::%s\n", escapeProperty(file),
			escapeProperty("wavex: a check that passed fails now"),
			escapeData(g.String()+"\n"+g.Output))
	}
	if r.Status != event.RunComplete && r.Status != event.RunFailed {
		text := cmp.Or(r.Reason, string(r.Status))
		for _, more := range []string{r.Advice, resumeText(r)} {
			if more != "" {
				text += "\n" + more
			}
		}
		fmt.Fprintf(&b, "::warning title=%s::%s\n", escapeProperty("wavex: "+string(r.Status)), escapeData(text))
	}
	return b.String()
}

func resumeText(r *Summary) string {
	if r.Resume == "" {
		return ""
	}
	if r.ResumeAt.IsZero() {
		return "Continue with: " + r.Resume
	}
	return "Continue from " + r.ResumeAt.UTC().Format(time.RFC3339) + " on with: " + r.Resume
}

// Outputs returns a step's outputs in the form of GitHub's output file: status, exit-code,
// cost-usd, resume-at (RFC 3339 or empty), and counts of tasks.
func (r *Summary) Outputs() string {
	at := ""
	if !r.ResumeAt.IsZero() {
		at = r.ResumeAt.UTC().Format(time.RFC3339)
	}
	var b strings.Builder
	for _, kv := range [][2]any{
		{"status", r.Status}, {"exit-code", r.ExitCode}, {"cost-usd", fmt.Sprintf("%.6f", r.Cost.Float())}, {"resume-at", at},
		{"completed", r.Counts.Completed}, {"failed", r.Counts.Failed}, {"blocked", r.Counts.Blocked},
		{"pending", r.Counts.Pending},
		{"run", r.Run},
	} {
		fmt.Fprintf(&b, "%s=%v\n", kv[0], kv[1])
	}
	return b.String()
}

// escapeData escapes a text for the message of a workflow command, property for one of its properties.
// The runner then finds no command in the text.
func escapeData(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(textfmt.Line(lines[i]), "%", "%25")
	}
	return strings.Join(lines, "%0A")
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(textfmt.Line(s))
}
