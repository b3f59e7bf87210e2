package request

// This file reads a planner's answer as a plan file, and lists its mistakes. It does no I/O
// except by the function that tells whether a check passes already.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
	"wavex/internal/userdata"
)

// brief is the input of a planner.
type brief struct {
	Request       string
	Kind          WorkflowMatch
	Reversibility Reversibility
	Shape         Shape
	Notes         []userdata.Note // documents, maxims, learnings: information for the planner, not instructions
	Budget        any             // the plan's own budget as in the file; nil means none
}

// maxTasks is the maximal number of tasks of one plan. For more work several plans are proposed.
const maxTasks = 25

// Proposal is one of several plans into which a request should be split.
type Proposal struct {
	Name    string `json:"name"`
	Request string `json:"request"`
}

// Plan is the result of a decomposition: either File, a plan that loads, or Proposals.
type Plan struct {
	File      json.RawMessage `json:"file,omitempty"`
	Proposals []Proposal      `json:"proposals,omitempty"`
	Notes     []string        `json:"notes,omitempty"` // doubts that remain
}

// draft is one answer of the planner.
type draft struct {
	file      json.RawMessage // the plan file made from it
	proposals []Proposal
	mistakes  []string // it is not a valid plan
	doubts    []string // it could be better
}

// plannedTask has the keys of a task that a planner may set, in the order in which people read them. Permissions,
// commands and prompts from files are missing, because a person decides these. The values stay raw, so that only the
// plan's own decoder judges them.
type plannedTask struct {
	ID            json.RawMessage `json:"id,omitempty"`
	Subject       json.RawMessage `json:"subject,omitempty"`
	ActiveForm    json.RawMessage `json:"activeForm,omitempty"`
	Description   json.RawMessage `json:"description,omitempty"`
	BlockedBy     json.RawMessage `json:"blockedBy,omitempty"`
	Files         json.RawMessage `json:"files,omitempty"`
	Verify        json.RawMessage `json:"verify,omitempty"`
	Criteria      json.RawMessage `json:"criteria,omitempty"`
	Aspects       json.RawMessage `json:"aspects,omitempty"`
	Reversibility json.RawMessage `json:"reversibility,omitempty"`
	Estimate      json.RawMessage `json:"estimate,omitempty"`
}

// planFile is the plan file in the order in which people read it.
type planFile struct {
	Version  int               `json:"version"`
	Name     string            `json:"name,omitempty"`
	Request  string            `json:"request,omitempty"`
	Budget   any               `json:"budget,omitempty"`
	Defaults map[string]string `json:"defaults,omitempty"`
	Criteria []map[string]any  `json:"criteria,omitempty"`
	MustNot  []map[string]any  `json:"mustNot,omitempty"`
	Tasks    []plannedTask     `json:"tasks"`
}

func conditions(items []Item) (out []map[string]any) {
	for _, it := range items {
		c := map[string]any{"text": it.Text}
		if it.Run != "" {
			c["verify"] = map[string]string{"run": it.Run}
		}
		if it.Verification != "" {
			c["verification"] = it.Verification
		}
		out = append(out, c)
	}
	return out
}

// parseAnswer judges an answer. It never fails: an unreadable answer is a mistake. done is that of makePlan.
func parseAnswer(b brief, answer json.RawMessage, done func(plan.Check) bool) (d draft) {
	r, err := decode[struct {
		Name      string
		Tasks     []json.RawMessage
		Proposals []Proposal
	}](answer)
	if err != nil {
		d.mistakes = []string{err.Error()}
		return d
	}
	if len(r.Proposals) > 1 && len(r.Tasks) == 0 { // proposals count only alone
		for _, x := range r.Proposals[:min(len(r.Proposals), maxTasks)] {
			x.Name, x.Request = cleanLine(x.Name, 100), cleanLine(x.Request, 1000)
			if x.Request != "" {
				d.proposals = append(d.proposals, x)
			}
		}
		if len(d.proposals) > 1 {
			return d
		}
		d.proposals = nil
	}
	if len(r.Tasks) > maxTasks {
		d.mistakes = []string{fmt.Sprintf("%d tasks are more than one plan may have (%d); "+
			"leave tasks empty and put two or more smaller requests into proposals", len(r.Tasks), maxTasks)}
		return d
	}
	f := planFile{Version: 1, Name: cleanLine(r.Name, 100), Request: cleanText(b.Request), Budget: b.Budget,
		Defaults: map[string]string{"appendSystemPrompt": b.Kind.Workflow.Gate()},
		Criteria: conditions(b.Shape.Criteria), MustNot: conditions(b.Shape.MustNot),
		Tasks: make([]plannedTask, len(r.Tasks))}
	for i, text := range r.Tasks {
		in := json.NewDecoder(strings.NewReader(string(text)))
		in.DisallowUnknownFields()
		if err := in.Decode(&f.Tasks[i]); err != nil {
			d.mistakes = append(d.mistakes, cleanLine(fmt.Sprintf("tasks[%d]: %s; a planner may set only the keys of the schema",
				i, err), 200))
		}
	}
	// Keys that the planner may not set are reported here; the plan's decoder reports the rest.
	if len(d.mistakes) == 0 {
		d.load(f, done)
	}
	d.mistakes, d.doubts = firstFew(d.mistakes), firstFew(d.doubts)
	return d
}

// load sets the file of the draft with its doubts, or its mistakes.
func (d *draft) load(f planFile, done func(plan.Check) bool) {
	var err error
	if d.file, err = json.MarshalIndent(f, "", "  "); err != nil {
		d.mistakes = []string{"the answer cannot be written as a plan"}
		return
	}
	p, diags := plan.Parse("plan.json", d.file, plan.Options{})
	for _, g := range diags {
		says := fmt.Sprintf("%s: %s [%s]", g.Path, g.Message, g.Code)
		if g.Severity == plan.SeverityError || g.Code == plan.CodeNoCheck {
			d.mistakes = append(d.mistakes, says)
		} else {
			d.doubts = append(d.doubts, says)
		}
	}
	switch {
	case len(d.mistakes) > 0:
	case p == nil:
		d.mistakes = []string{"the plan does not load"}
	default:
		d.lint(p, done)
	}
}

// lint adds doubts about legal but unwise parts of the plan.
func (d *draft) lint(p *plan.Plan, done func(plan.Check) bool) {
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if conjunction().MatchString(t.Subject) {
			d.doubts = append(d.doubts, fmt.Sprintf(
				"task %s does two things (%q); one sentence without \"and\": split it, or say the one thing", t.ID, t.Subject))
		}
		open := func(c plan.Check) bool { return c.Run != "" || !done(c) }
		if len(t.Verify) > 0 && !slices.ContainsFunc(t.Verify, open) {
			d.doubts = append(d.doubts, fmt.Sprintf(
				"the checks of task %s pass already (%s), so they prove nothing; check what the task changes", t.ID,
				t.Verify[0].Describe()))
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
