package page

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/transcript"
	"wavex/scheduler"
)

// Bounds of texts, in bytes.
const (
	maxPrompt = 16 << 10 // also of each other text, see Encode
	maxStream = 32 << 20 // of a stream that is read for its steps
)

// Detail holds the data that the page shows when a task is opened. Its attempts have the units of the journal.
type Detail struct {
	Description string    `json:"description,omitempty"`
	Command     string    `json:"command,omitempty"`
	Verify      []string  `json:"verify,omitempty"`
	Criteria    []string  `json:"criteria,omitempty"`
	Files       []string  `json:"files,omitempty"` // path and action
	Model       string    `json:"model,omitempty"`
	Line        int       `json:"line,omitempty"` // in the plan file
	Attempts    []Attempt `json:"attempts,omitempty"`
}

// Attempt is one attempt as the journal has it, with its texts.
type Attempt struct {
	report.Attempt
	Words    []Markup `json:"words,omitempty"`    // the agent's own words
	Note     string   `json:"note,omitempty"`     // the next step
	Refusals []string `json:"refusals,omitempty"` // the calls that the policy did not let run
	Prompt   string   `json:"prompt,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`  // the words, actions and edits of the agent
	Output   string   `json:"output,omitempty"` // of a command task
}

// Details reads the details of each task. It keeps no part of the state that a later event would
// change. It is safe for concurrent use.
type Details struct {
	plan     *plan.Plan
	files    fs.FS
	attempts [][]Attempt
}

// DetailsOf prepares the details of all tasks. files is the folder of the run's tasks
// (.loop/runs/RUN/tasks), which holds prompts and streams by task and attempt. files may be nil.
func DetailsOf(s *scheduler.State, events []event.Event, files fs.FS) *Details {
	d := &Details{plan: s.Plan, files: files, attempts: make([][]Attempt, len(s.Tasks))}
	for i, list := range report.AttemptsOf(s, events) {
		for _, a := range list {
			d.attempts[i] = append(d.attempts[i], newAttempt(a))
		}
	}
	return d
}

func newAttempt(r report.Attempt) Attempt {
	a := Attempt{Attempt: r}
	if r.End == nil {
		return a
	}
	end := *r.End // without that which the page does not show
	end.Result.Output = nil
	end.Result.Digests = nil
	end.Result.Report = ""
	end.Result.Signature = ""
	a.End = &end
	a.Note = r.Note()
	a.Words = newMarkup(textfmt.Multiline(r.End.Result.Report, maxOutput))
	for _, n := range r.End.Result.Refusals {
		a.Refusals = append(a.Refusals, n.String())
	}
	return a
}

// Task returns the detail of one task. texts says whether to read its prompts and steps.
func (d *Details) Task(i int, texts bool) Detail {
	p := &d.plan.Tasks[i]
	out := Detail{Description: p.Description, Command: textfmt.Multiline(p.Command, maxOutput),
		Model: d.plan.Settings(i).Model, Line: p.Pos.Line, Attempts: slices.Clone(d.attempts[i])}
	for _, c := range p.Verify {
		out.Verify = append(out.Verify, c.Describe())
	}
	for _, c := range p.Criteria {
		out.Criteria = append(out.Criteria, c.Text)
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, strings.TrimSpace(f.Path+"  "+f.Action))
	}
	if texts && d.files != nil {
		for n := range out.Attempts {
			d.readTexts(&out.Attempts[n], path.Join(p.ID, loop.Attempt(out.Attempts[n].AttemptStarted.Attempt)))
		}
	}
	return out
}

// readTexts fills an attempt's texts from its folder. It leaves out missing files: the journal has the
// important facts.
func (d *Details) readTexts(a *Attempt, folder string) {
	if !fs.ValidPath(folder) {
		return
	}
	a.Prompt = d.readHead(path.Join(folder, loop.PromptFile), maxPrompt)
	a.Output = d.readHead(path.Join(folder, loop.OutputFile), maxOutput)
	name := path.Join(folder, loop.StreamFile)
	info, err := fs.Stat(d.files, name)
	if err != nil {
		return
	}
	if info.Size() > maxStream {
		a.Steps = []Step{{Kind: transcript.Text, Text: "the stream is too large; wavex logs shows all"}}
		return
	}
	stream, err := fs.ReadFile(d.files, name)
	if err != nil {
		return
	}
	words := stepList{}
	for e := range transcript.Entries(append(stream, '\n')) { // the last line may lack its end
		words.add(e)
	}
	a.Steps = words.steps()
}

func (d *Details) readHead(name string, most int) string {
	b, err := fs.ReadFile(d.files, name)
	if err != nil {
		return ""
	}
	return textfmt.Multiline(string(b), most)
}
