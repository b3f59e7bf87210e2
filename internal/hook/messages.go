package hook

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// This file has the texts for sessions. Texts of the plan pass through package textfmt.

func progressText(c *Snapshot) string {
	return fmt.Sprintf("[%d/%d] completed", c.Completed, c.Tasks)
}

// reinforcement returns the text for a held session.
func reinforcement(in Input, r Run) string {
	c := &r.Snapshot
	var b strings.Builder
	fmt.Fprintf(&b, "## Loop Continue\n\n%s\n\n**Pipeline**: %s\n**Progress**: %s\n", iterationText(in, r),
		textfmt.Line(c.Name), progressText(c))
	if r.List != "" {
		fmt.Fprintf(&b, "**Open**: %s\n", textfmt.Line(pendingText(r.Pending)))
	}
	if len(c.Current) == 0 {
		b.WriteString("**Current task**: none; what remains is the end of the run\n")
	}
	label := "Current task"
	for _, t := range c.Current {
		fmt.Fprintf(&b, "**%s**: %s\n", label, taskTitle(t))
		label = "Beside it"
	}
	if len(c.Current) > 0 && strings.TrimSpace(c.Current[0].Content) != "" {
		fmt.Fprintf(&b, "\n---\n\n## Task Content\n%s\n", textfmt.Block(strings.TrimSpace(c.Current[0].Content)))
	}
	b.WriteString("\n---\n\n**Execution requirements**:\n")
	for i, l := range requirements(in, r) {
		fmt.Fprintf(&b, "%d. %s\n", i+1, l)
	}
	return b.String()
}

// iterationText names the coming iteration, or the one under way, and the command that goes on with the loop.
func iterationText(in Input, r Run) string {
	c := &r.Snapshot
	where := elsewhere(in, c)
	switch {
	case r.List != "":
		return "Loop active. Use TaskList to check its state."
	case c.Loop != ExecuteLoop && c.Loop != VerifyLoop:
		return fmt.Sprintf("Loop active. Run `wavex status`%s to check its state.", where)
	}
	n, most := strconv.Itoa(c.Iterations+1), "unlimited"
	if c.MaxIter > 0 {
		n, most = strconv.Itoa(min(c.Iterations+1, c.MaxIter)), strconv.Itoa(c.MaxIter)
	}
	command, what := "resume", "continue its tasks"
	switch {
	case r.Live:
		command, what = "status", "look at it"
	case c.Loop == VerifyLoop:
		what = "fix gaps and verify again"
	}
	return fmt.Sprintf("Loop active. Continuing %s loop iteration %s/%s. Run `wavex %s`%s to %s.", c.Loop, n, most,
		command, where, what)
}

// elsewhere returns where a command must be run if the session is in another directory than the project.
func elsewhere(in Input, c *Snapshot) string {
	if filepath.Clean(in.Dir) == filepath.Clean(c.Dir) {
		return ""
	}
	return " in " + textfmt.Line(c.Dir)
}

func taskTitle(t Task) string {
	return strings.TrimSpace("#" + textfmt.Line(t.ID) + " " + textfmt.Line(t.Subject))
}

func requirements(in Input, r Run) []string {
	c := &r.Snapshot
	if r.List != "" {
		return []string{"Complete the task.", "TaskUpdate -> completed.",
			"If intervention occurs, record it in _context.md, where the loop has one."}
	}
	where := elsewhere(in, c)
	do := fmt.Sprintf(
		"Complete the task, and those after it: run `wavex resume`%s. It continues where the run was cut off.", where)
	if r.Live {
		do = fmt.Sprintf(
			"Let the run complete the task, and those after it: wavex is at work. Look with `wavex status`%s until it has ended.", where)
	}
	list := []string{do,
		"wavex marks a task completed when its checks pass; do neither the work nor the marking by hand."}
	note := "If intervention occurs, say so when you report."
	if c.Context != "" {
		note = "If intervention occurs, record it in " + textfmt.Line(c.Context) + "."
	}
	return append(list, note, fmt.Sprintf("To leave the loop instead: `wavex cancel`%s.", where))
}

// nextPrefix begins the line of an announcement that names the next task.
const nextPrefix = "Next: "

// cutOffAt returns a task that was under way when the run was cut off, or nil. A resume begins with such tasks: those
// that the card names as the next ones may wait for them.
func (r *Run) cutOffAt() *Task {
	if c := r.Snapshot.Current; r.Ended == nil && !r.Live && len(c) > 0 &&
		(c[0].Status == event.InProgress || c[0].Status == event.Advising) {
		return &c[0]
	}
	return nil
}

// Announcement returns the text for a new session about a run that can continue, or "" if there is
// none.
func Announcement(r Run) string {
	c := &r.Snapshot
	if c.Run == "" || len(c.Announcement) == 0 {
		return ""
	}
	var b strings.Builder
	for _, l := range c.Announcement {
		if strings.HasPrefix(l, nextPrefix) && r.cutOffAt() != nil {
			l = nextPrefix + strings.TrimPrefix(taskTitle(*r.cutOffAt()), "#")
		}
		b.WriteString(textfmt.Line(l) + "\n")
	}
	switch e := r.Ended; {
	case e == nil && r.Live:
		fmt.Fprintf(&b, "Status: running | Look: wavex status (in %s)\n", textfmt.Line(c.Dir))
	case e == nil:
		fmt.Fprintf(&b, "Status: cut off | Continue: wavex resume (in %s)\n", textfmt.Line(c.Dir))
	case r.Over():
		return ""
	default:
		fmt.Fprintf(&b, "Status: %s", textfmt.Line(string(e.Status)))
		if e.Reason != "" {
			fmt.Fprintf(&b, " (%s)", textfmt.Fit(e.Reason, 300, false))
		}
		how := cmp.Or(e.Resume, "wavex resume")
		fmt.Fprintf(&b, " | Continue: %s (in %s)\n", textfmt.Line(how), textfmt.Line(c.Dir))
	}
	return b.String()
}
