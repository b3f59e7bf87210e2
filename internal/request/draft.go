package request

// This file reads a planner's answer as a plan file, and lists its mistakes. It does no I/O
// except by the function that tells whether a check passes already.

import (
	"wavex/internal/userdata"

	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// maxTasks is the maximal number of tasks of one plan. For more work several plans are proposed.
const maxTasks = 25

// Proposal is one of several plans into which a request should be split.
type Proposal struct {
	Name    string `json:"name"`
	Request string `json:"request"`
}

// draft is one answer of the planner.
type draft struct {
	file      json.RawMessage // the plan file made from it
	plan      *plan.Plan      // nil if there are mistakes
	proposals []Proposal
	mistakes  []string // it is not a valid plan
	doubts    []string // it could be better
}

// plannerReply is an answer that follows planSchema. Tasks stay raw, so that only the plan's own decoder
// judges them.
type plannerReply struct {
	Name      string     `json:"name"`
	Tasks     []rawTask  `json:"tasks"`
	Proposals []Proposal `json:"proposals"`
}

// taskKeys lists the keys of a task that a planner may set. Permissions, commands and prompts
// from files are missing, because a person decides these.
var taskKeys = []string{"id", "subject", "activeForm", "description", "blockedBy", "files", "verify", "criteria",
	"aspects", "reversibility", "estimate"}

// planFile is the plan file in the order in which people read it.
type planFile struct {
	Version  int               `json:"version"`
	Name     string            `json:"name,omitempty"`
	Request  string            `json:"request,omitempty"`
	Budget   any               `json:"budget,omitempty"`
	Defaults map[string]string `json:"defaults,omitempty"`
	Criteria []condition       `json:"criteria,omitempty"`
	MustNot  []condition       `json:"mustNot,omitempty"`
	Tasks    []rawTask         `json:"tasks"`
}

// rawTask is a task whose keys come in the order of taskKeys.
type rawTask map[string]json.RawMessage

// MarshalJSON writes the keys that are set.
func (o rawTask) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for _, key := range taskKeys {
		if v, ok := o[key]; ok {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(strconv.AppendQuote(out, key), ':'), v...)
		}
	}
	return append(out, '}'), nil
}

type condition struct {
	Text         string            `json:"text"`
	Verify       map[string]string `json:"verify,omitempty"`
	Verification string            `json:"verification,omitempty"`
}

func conditions(items []Item) []condition {
	var out []condition
	for _, it := range items {
		c := condition{Text: it.Text, Verification: it.Verification}
		if it.Run != "" {
			c.Verify = map[string]string{"run": it.Run}
		}
		out = append(out, c)
	}
	return out
}

// parseAnswer judges an answer. It never fails: an unreadable answer is a mistake. done is that of makePlan.
func parseAnswer(b brief, answer json.RawMessage, done func(plan.Check) bool) *draft {
	d := &draft{}
	var r plannerReply
	if err := json.Unmarshal(answer, &r); err != nil {
		d.mistakes = []string{"the answer is not the JSON asked for"}
		return d
	}
	for _, x := range r.Proposals {
		x.Name, x.Request = cleanLine(x.Name, 100), cleanLine(x.Request, 1000)
		if x.Request != "" && len(d.proposals) < maxTasks {
			d.proposals = append(d.proposals, x)
		}
	}
	switch {
	case len(d.proposals) > 1 && len(r.Tasks) == 0:
		return d
	case len(r.Tasks) > maxTasks:
		d.proposals = nil
		d.mistakes = append(d.mistakes, fmt.Sprintf(
			"%d tasks are more than one plan may have (%d); leave tasks empty and put two or more smaller requests into proposals", len(r.Tasks), maxTasks))
		return d
	}
	d.proposals = nil // proposals count only alone
	for i, t := range r.Tasks {
		for key := range t {
			if !slices.Contains(taskKeys, key) {
				d.mistakes = append(d.mistakes, fmt.Sprintf("tasks[%d] has %q; a planner may set only %s", i, cleanLine(key, 40),
					strings.Join(taskKeys, ", ")))
			}
		}
	}
	// Keys that the planner may not set are reported here; the plan's decoder reports the rest.
	if len(d.mistakes) > 0 {
		slices.Sort(d.mistakes)
		return d
	}
	d.load(planFile{Version: 1, Name: cleanLine(r.Name, 100), Request: cleanText(b.Request), Budget: b.Budget,
		Defaults: map[string]string{"appendSystemPrompt": b.Kind.Workflow.Gate()},
		Criteria: conditions(b.Shape.Criteria), MustNot: conditions(b.Shape.MustNot), Tasks: r.Tasks})
	if len(d.mistakes) > 0 {
		d.mistakes = firstFew(d.mistakes)
		return d
	}
	d.lint(done)
	d.doubts = firstFew(d.doubts)
	return d
}

// load sets the file and the plan of the draft, or its mistakes.
func (d *draft) load(f planFile) {
	var err error
	if d.file, err = json.MarshalIndent(f, "", "  "); err != nil {
		d.mistakes = []string{"the answer cannot be written as a plan"}
		return
	}
	loaded, diags := plan.Parse("plan.json", d.file, plan.Options{})
	for _, g := range diags {
		says := fmt.Sprintf("%s: %s [%s]", g.Path, g.Message, g.Code)
		switch {
		case g.Severity == plan.SeverityError, g.Code == plan.CodeNoCheck:
			d.mistakes = append(d.mistakes, says)
		default:
			d.doubts = append(d.doubts, says)
		}
	}
	switch {
	case len(d.mistakes) > 0:
	case loaded == nil:
		d.mistakes = []string{"the plan does not load"}
	default:
		d.plan = loaded
	}
}

// lint adds doubts about legal but unwise parts of the plan.
func (d *draft) lint(done func(plan.Check) bool) {
	for i := range d.plan.Tasks {
		t := &d.plan.Tasks[i]
		if conjunction().MatchString(t.Subject) {
			d.doubts = append(d.doubts, fmt.Sprintf(
				"task %s does two things (%q); one sentence without \"and\": split it, or say the one thing", t.ID, t.Subject))
		}
		all := len(t.Verify) > 0
		for _, c := range t.Verify {
			all = all && c.Run == "" && done(c)
		}
		if all {
			d.doubts = append(d.doubts, fmt.Sprintf(
				"the checks of task %s pass already (%s), so they prove nothing; check what the task changes", t.ID,
				check.Describe(t.Verify[0])))
		}
	}
}

var conjunction = textfmt.Pattern(`(?i)\band\b`)

// firstFew bounds feedback, because the first mistakes usually explain the others.
func firstFew(list []string) []string {
	const most = 20
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}

// cleanLine returns s as one clean line of at most n bytes.
func cleanLine(s string, n int) string {
	return textfmt.Head(textfmt.Line(s), n)
}

func cleanText(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
}

// brief is the input of a planner.
type brief struct {
	Request       string
	Kind          WorkflowMatch
	Reversibility Reversibility
	Shape         Shape
	Notes         []userdata.Note // documents, maxims, learnings: information for the planner, not instructions
	Budget        any             // the plan's own budget as in the file; nil means none
}
