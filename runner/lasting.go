package runner

import (
	"strings"

	"github.com/tidwall/gjson"
)

// This file knows which tools end with their turn. What others leave behind lives on in the
// CLI's process, without a child that could be seen, and /clear does not end it (observed on
// claude 2.1.197): agents and commands in the background give it another turn, what
// CronCreate was told is said to it as a prompt, and after EnterWorktree it works in another
// directory. Such a process serves nobody else.

// ends tells whether nothing of a call of a tool lives longer than its turn. A tool that is
// not known here, one of an MCP server among them, may do anything.
func ends(name string, input gjson.Result) bool {
	if input.Get("run_in_background").Bool() {
		return false
	}
	switch name {
	case "Bash", "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS", "WebFetch", "WebSearch",
		"TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "StructuredOutput", "ToolSearch", "ReportFindings":
		return true
	}
	return false
}

// lasts tells whether a notice of the CLI is about something that runs beside the turn, or
// did: "task_started", "task_progress", "task_updated", "task_notification".
func lasts(subtype string) bool { return strings.HasPrefix(subtype, "task_") }
