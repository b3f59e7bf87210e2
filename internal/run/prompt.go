package run

// This file builds the prompt of one attempt. It does no I/O: the same plan, task and brief
// give the same bytes. It does not know how the agent is started. It bounds and escapes all texts
// of agents and tools, which are untrusted.
//
// The part that all tasks of a plan share comes first and is byte-identical for all of them.
// Between tasks the provider's prompt cache does not gain by that, because the CLI sends a prompt
// as one block (docs/performance.md). Attempts of one task with the same prompt do gain.

import (
	"bytes"
	"embed"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// brief is the information for an attempt that is not in the plan.
type brief struct {
	Task       *plan.Task   // the task with the values of its references; nil: the task of the plan
	Loop       string       // absolute folder of the run's files; the agent must leave it alone
	Context    string       // absolute path of a context file; "" means none
	Notes      string       // its content, bounded by the caller
	UserData   string       // absolute path of the user's maxims and learnings; "" means none
	Conditions []string     // conditions of the experts that looked at the task beforehand
	Blockers   []blocker    // the task's direct blockers, in plan order
	Previous   *previousTry // nil on the first try
	Continues  bool         // the session of the previous attempt continues, and knows the task already
	More       bool         // only the money ran out: continue the work
	Interrupts bool         // the previous attempt was interrupted: its work may be incomplete
	Cut        string       // which of its calls may have run in part, and which files changed; "": unknown
}

// blocker is a completed task that this one builds on.
type blocker struct{ ID, Subject, Report string }

// previousTry describes the failed attempt and its analysis.
type previousTry struct {
	Error    string
	Analysis string // of the panel; "" if there was none
	Fix      string
	Dissent  []string
	Attempt  int // number of the coming retry, from 1
	Of       int // retries allowed
}

// Lengths in bytes beyond which quoted texts keep only their head and tail.
const (
	maxError  = 4096
	maxReport = 600
)

//go:embed prompts/*.tmpl
var promptFiles embed.FS

// promptTemplates returns the templates, parsed once, because the loop builds prompts while slots wait.
var promptTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"xml": escape, "describe": plan.Check.Describe, "clip": textfmt.ClipMiddle, "trim": strings.TrimSpace,
		"add": func(a, b int) int { return a + b },
	}).ParseFS(promptFiles, "prompts/*.tmpl"))
})

// buildPrompt returns the prompt for an attempt at task i.
func buildPrompt(p *plan.Plan, i int, b brief) string {
	name := "task.tmpl"
	if b.Continues {
		name = "continue.tmpl"
	}
	var out bytes.Buffer
	task := &p.Tasks[i]
	if b.Task != nil {
		task = b.Task
	}
	if err := promptTemplates().ExecuteTemplate(&out, name, promptData{Plan: p, Task: task, brief: b, MaxError: maxError,
		MaxReport: maxReport}); err != nil {
		panic(fmt.Sprintf("the embedded prompt templates: %v", err)) // golden tests cover every branch
	}
	return out.String()
}

type promptData struct {
	Plan *plan.Plan
	Task *plan.Task
	brief
	MaxError, MaxReport int
}

// ID returns the task's id, which the agent must repeat.
func (v promptData) ID() string { return v.Task.ID }

// Writes returns the declared files that the task edits.
func (v promptData) Writes() []plan.File { return filterFiles(v.Task.Files, true) }

// Reads returns the declared files that the task only reads.
func (v promptData) Reads() []plan.File { return filterFiles(v.Task.Files, false) }

func filterFiles(files []plan.File, writes bool) []plan.File {
	return slices.DeleteFunc(slices.Clone(files), func(f plan.File) bool { return f.Writes() != writes })
}

func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	// Newlines and tabs are harmless, and easier to read unescaped.
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t", "&#34;", `"`, "&#39;", "'").Replace(b.String())
}
