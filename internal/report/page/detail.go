package page

import (
	"io/fs"
	"path"
	"strings"

	"wavex/counsel"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/transcript"
	"wavex/runner"
	"wavex/scheduler"
)

// Bounds of texts, in bytes.
const (
	maxPrompt = 16 << 10
	maxStream = 32 << 20 // of a stream that is read for its steps
)

// Detail holds the data that the page shows when a task is opened. Units are those of Run.
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

// Attempt is one attempt with its texts.
type Attempt struct {
	Number   int      `json:"n"`
	Why      string   `json:"why,omitempty"`
	Advised  bool     `json:"advised,omitempty"`
	Resumed  bool     `json:"resumed,omitempty"` // continues the session of the attempt before
	Started  int64    `json:"started"`
	Cap      int64    `json:"cap,omitempty"`
	Open     bool     `json:"open,omitempty"` // it has not ended
	Outcome  string   `json:"outcome,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Report   []Markup `json:"report,omitempty"` // the agent's own words
	Note     string   `json:"note,omitempty"`   // the next step
	Took     int64    `json:"took,omitempty"`
	Cost     int64    `json:"cost,omitempty"`
	Priced   string   `json:"priced,omitempty"`
	Free     bool     `json:"free,omitempty"` // does not count as an iteration
	Turns    int      `json:"turns,omitempty"`
	Tokens   [4]int64 `json:"tokens,omitzero"`
	Escaped  bool     `json:"escaped,omitempty"` // a process of it was alive afterwards
	Session  string   `json:"session,omitempty"`
	Version  string   `json:"version,omitempty"`  // of the CLI
	Worker   string   `json:"worker,omitempty"`   // the machine; "": that of the run
	Denials  []string `json:"denials,omitempty"`  // the rules that would allow the denied calls
	Refusals []string `json:"refusals,omitempty"` // the calls that the policy did not let run
	Violated []string `json:"violated,omitempty"`
	Checks   []Check  `json:"checks,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`  // the words, actions and edits of the agent
	Output   string   `json:"output,omitempty"` // of a command task
	Counsel  []Advice `json:"counsel,omitempty"`
}

// Check is a check and its output.
type Check struct {
	Check  string `json:"check"`
	Passed bool   `json:"passed"`
	Exit   int    `json:"exit,omitempty"`
	Took   int64  `json:"took,omitempty"`
	Reason string `json:"reason,omitempty"`
	Output string `json:"output,omitempty"`
}

// Advice is a panel's verdict.
type Advice struct {
	Panel       int       `json:"n"`
	Unavailable string    `json:"unavailable,omitempty"`
	Analysis    string    `json:"analysis,omitempty"`
	Fix         string    `json:"fix,omitempty"`
	Action      string    `json:"action,omitempty"`
	Agreement   float64   `json:"agreement"`
	Tradeoff    bool      `json:"tradeoff,omitempty"`
	Dissent     []string  `json:"dissent,omitempty"`
	Opinions    []Opinion `json:"opinions,omitempty"`
	Cost        int64     `json:"cost,omitempty"`
}

// Opinion is the opinion of one expert.
type Opinion struct {
	Expert      string  `json:"expert"`
	Unavailable string  `json:"unavailable,omitempty"`
	Diagnosis   string  `json:"diagnosis,omitempty"`
	Approach    string  `json:"approach,omitempty"`
	Falsifier   string  `json:"falsifier,omitempty"`
	Confidence  float64 `json:"confidence"`
	Action      string  `json:"action,omitempty"`
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

func newAttempt(r report.AttemptRecord) Attempt {
	a := Attempt{Number: r.Attempt, Why: r.Why, Advised: r.Advised, Resumed: r.Resume, Started: unixMilli(r.StartedAt),
		Cap: int64(r.Cap), Open: true}
	if r.End != nil {
		a.setResult(r.End.Result)
		a.Free, a.Note = !r.End.Charged, textfmt.Line(r.End.Note)
	}
	for _, c := range r.Counsel {
		if c.Skipped != "" {
			a.Counsel = append(a.Counsel, Advice{Unavailable: "no panel was asked: " + textfmt.Line(c.Skipped)})
		} else {
			a.Counsel = append(a.Counsel, newAdvice(c.Panel, c.Verdict))
		}
	}
	if o := r.Reopened; o != nil {
		a.Note, a.Detail = textfmt.Line(o.Note()), textfmt.Multiline(o.Result.Detail, maxOutput)
	}
	return a
}

func (a *Attempt) setResult(r runner.Result) {
	a.Open = false
	a.Outcome = string(r.Outcome)
	a.Reason = textfmt.Line(r.Reason)
	a.Detail = textfmt.Multiline(r.Detail, maxOutput)
	a.Report = newMarkup(textfmt.Multiline(r.Report, maxOutput))
	a.Took = r.Duration.Milliseconds()
	a.Cost = int64(r.Cost)
	a.Priced = r.Priced
	a.Turns = r.Turns
	a.Tokens = tokenCounts(r.Usage)
	a.Escaped = !r.Contained
	a.Session = textfmt.Line(r.Session)
	a.Version = textfmt.Line(r.ClaudeVersion)
	a.Worker = textfmt.Line(r.Worker)
	a.Violated = nonEmptyLines(r.Violated)
	for _, n := range r.Denials {
		a.Denials = append(a.Denials, textfmt.Line(n.Rule))
	}
	for _, n := range r.Refusals {
		a.Refusals = append(a.Refusals, textfmt.Line(n.String()))
	}
	for _, c := range r.Checks {
		a.Checks = append(a.Checks, Check{Check: textfmt.Line(c.Check), Passed: c.Passed, Exit: c.ExitCode,
			Took: c.Duration.Milliseconds(), Reason: textfmt.Line(c.Reason), Output: textfmt.Multiline(c.Output, maxOutput)})
	}
}

func newAdvice(panel int, v counsel.Verdict) Advice {
	out := Advice{Panel: panel, Unavailable: textfmt.Line(v.Unavailable),
		Analysis: textfmt.Multiline(v.Analysis, maxOutput),
		Fix:      textfmt.Multiline(v.Fix, maxOutput),
		Action:   textfmt.Line(string(v.Action)), Agreement: v.Agreement, Tradeoff: v.Tradeoff,
		Dissent: nonEmptyLines(v.Dissent),
		Cost:    int64(v.Cost)}
	for _, o := range v.Opinions {
		out.Opinions = append(out.Opinions, Opinion{textfmt.Line(o.Expert), textfmt.Line(o.Unavailable),
			textfmt.Multiline(o.Diagnosis, maxOutput),
			textfmt.Multiline(o.Approach, maxOutput), textfmt.Line(o.Falsifier), o.Confidence, textfmt.Line(string(o.Action))})
	}
	return out
}

// Task returns the detail of one task. texts says whether to read its prompts and steps.
func (d *Details) Task(i int, texts bool) Detail {
	p := &d.plan.Tasks[i]
	out := Detail{Description: textfmt.Multiline(p.Description, maxPrompt),
		Command: textfmt.Multiline(p.Command, maxOutput),
		Model:   textfmt.Line(d.plan.Settings(i).Model),
		Line:    p.Pos.Line, Attempts: make([]Attempt, len(d.attempts[i]))}
	copy(out.Attempts, d.attempts[i])
	for _, c := range p.Verify {
		out.Verify = append(out.Verify, textfmt.Line(check.Describe(c)))
	}
	for _, c := range p.Criteria {
		out.Criteria = append(out.Criteria, textfmt.Line(c.Text))
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, strings.TrimSpace(textfmt.Line(f.Path)+"  "+textfmt.Line(f.Action)))
	}
	if texts && d.files != nil {
		for n := range out.Attempts {
			d.readTexts(&out.Attempts[n], path.Join(p.ID, loop.Attempt(out.Attempts[n].Number)))
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
