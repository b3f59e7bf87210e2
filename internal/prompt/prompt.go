// Package prompt builds what an agent is told for one attempt. It is pure: the same
// plan, task and brief give the same bytes. It knows nothing of how the agent is
// started, and never trusts what it quotes: texts that come from agents and tools
// are bounded and escaped.
//
// What all tasks of a plan share comes first and is byte-identical for all of them. The
// provider's prompt cache does not gain by that between tasks, for the CLI sends a prompt
// as one block (docs/performance.md); attempts of a task that tell the same do.
package prompt

import (
	"bytes"
	"embed"
	"encoding/xml"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"wavex/internal/plan"
	"wavex/internal/verify"
)

// Brief is what an attempt knows beyond the plan.
type Brief struct {
	Loop       string    // absolute folder of the run's files; the agent must leave it alone
	Context    string    // absolute path of a context file; "" none
	Notes      string    // what stands in it, bounded by the caller
	Conditions []string  // what experts ask for who looked at the task beforehand
	Blockers   []Blocker // the task's direct blockers, in plan order
	Previous   *Previous // nil on the first try
	Continues  bool      // the session of the previous attempt goes on: it knows the task already
	More       bool      // only the money ran out: go on where you were
	Interrupts bool      // the attempt before was interrupted: work may be half done
}

// Blocker is a completed task that this one builds on.
type Blocker struct{ ID, Subject, Report string }

// Previous is the failed attempt and what is made of it (LEDGER S4-16).
type Previous struct {
	Error    string
	Analysis string // of the panel; "" when there was none
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

//go:embed templates/*.tmpl
var files embed.FS

// parsed are the templates, read once: the loop builds prompts while slots wait.
var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"xml": escape, "describe": verify.Describe, "clip": Clip, "trim": strings.TrimSpace,
		"add": func(a, b int) int { return a + b },
	}).ParseFS(files, "templates/*.tmpl"))
})

// Build is the prompt for an attempt at task i.
func Build(p *plan.Plan, i int, b Brief) string {
	name := "task.tmpl"
	if b.Continues {
		name = "continue.tmpl"
	}
	var out bytes.Buffer
	if err := parsed().ExecuteTemplate(&out, name, view{Plan: p, Task: &p.Tasks[i], Brief: b, MaxError: maxError, MaxReport: maxReport}); err != nil {
		panic(fmt.Sprintf("the embedded prompt templates: %v", err)) // golden tests cover every branch
	}
	return out.String()
}

type view struct {
	Plan *plan.Plan
	Task *plan.Task
	Brief
	MaxError, MaxReport int
}

// ID is the task's id: part of what the agent is asked to repeat.
func (v view) ID() string { return v.Task.ID }

// Writes lists the declared files that are to be edited.
func (v view) Writes() []plan.File { return pick(v.Task.Files, true) }

// Reads lists the declared files that are to be read only.
func (v view) Reads() []plan.File { return pick(v.Task.Files, false) }

func pick(files []plan.File, writes bool) []plan.File {
	var out []plan.File
	for _, f := range files {
		if f.Writes() == writes {
			out = append(out, f)
		}
	}
	return out
}

func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return ""
	}
	// Newlines and tabs are no danger, and easier to read as themselves.
	return strings.NewReplacer("&#xA;", "\n", "&#x9;", "\t", "&#34;", `"`, "&#39;", "'").Replace(b.String())
}

// Clip bounds a text to n bytes, keeping its head and its tail: errors name their
// cause at one end or the other.
func Clip(n int, s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= n {
		return s
	}
	head, tail := s[:n/3], s[len(s)-(n-n/3):]
	cut := len(s) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", strings.ToValidUTF8(head, ""), cut, strings.ToValidUTF8(tail, ""))
}
