// Package plan reads plan files: the tasks, their blockers, their checks, and their limits. It
// knows files and positions; it starts nothing and knows nothing of runs.
package plan

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"wavex/budget"
	"wavex/dag"
	"wavex/internal/plan/source"
)

// Plan is a validated plan: every blocker exists, there is no cycle, and every value is in range.
// Only Load and Parse make one. The fields with a name in JSON are in the outline of a plan.
type Plan struct {
	Path   string `json:"path"`   // as the user gave it; "" when parsed from memory
	Digest string `json:"digest"` // sha256 of the file's bytes, hex

	Params   []Param     `json:"-"` // in the order of the file, with their values
	Name     string      `json:"name,omitempty"`
	Request  string      `json:"request,omitempty"`
	Budget   Limits      `json:"-"`
	Parallel int         `json:"-"`                  // 0: not given
	Schedule string      `json:"schedule,omitempty"` // "waves" or "eager"; "": not given
	Defaults Settings    `json:"defaults"`
	Criteria []Condition `json:"criteria,omitempty"`
	MustNot  []Condition `json:"mustNot,omitempty"`
	Links    []Link      `json:"-"` // files that must be connected in the end
	// Isolation says where tasks work: "auto", "shared" or "worktree"; "": not given. Share lists
	// the files that worktrees need and git does not have, as paths of the project; the prefix
	// "copy:" marks those to copy. Deliver is how isolated work is delivered: "auto", "branch", "ff", "push" or "pr"; "":
	// not given.
	Isolation, Deliver string   `json:"-"`
	Setup              Setup    `json:"-"`
	Share              []string `json:"-"`
	SharePos           Pos      `json:"-"` // of the list in the plan file
	// No task may change ProtectPaths, and no delivery moves ProtectBranches. Both are patterns of
	// path.Match; a path is protected if a folder that contains it is.
	ProtectPaths, ProtectBranches []string `json:"-"`
	// Declared holds the plan's data about single waves, in the order of the file.
	Declared []Wave          `json:"waves,omitempty"`
	Tasks    []Task          `json:"-"`
	Groups   []Group         `json:"groups,omitempty"` // in the order of the file
	Rehearse json.RawMessage `json:"-"`                // plan-level block for the rehearsal agent; opaque here

	// Graph holds the tasks' edges; its node i is Tasks[i].
	Graph *dag.Graph `json:"-"`

	ids        index        // of Tasks, for Lookup
	keys       *keys        // computed on first use
	presetKeys []digest     // keys of the first tasks, from an outline; nil: computed from the tasks
	file       *fileTasks   // nil if no list comes with the run
	waiting    map[int]bool // tasks that wait for a list that is not known
	taskWaves  []int        // the tasks' declared waves; nil if there are none
	sequential map[int]bool // by wave
}

// AbsPath returns the plan's absolute path, so that a resume finds it from every directory.
func (p *Plan) AbsPath() string {
	if abs, err := filepath.Abs(p.Path); err == nil {
		return abs
	}
	return p.Path
}

// NoLimit is the value of Limits.USD for "none": spending without a limit of wavex's own.
const NoLimit budget.USD = -1

// NoIterations is the value of Limits.Iterations for "unlimited".
const NoIterations = -1

// Limits are the plan's own limits; a nil field was not given. A flag takes precedence.
type Limits struct {
	USD        *budget.USD   // micro-dollars for the run; NoLimit for "none"
	Iterations *int          // attempts; NoIterations for "unlimited"
	WallClock  time.Duration // 0: none
}

// Task is one unit of work. The fields with a name in JSON are in the outline of a plan.
type Task struct {
	ID            string                     `json:"id"`                   // as written; unique after normalisation
	Group         string                     `json:"group,omitempty"`      // the task with foreach that it comes from
	Step          int                        `json:"step,omitempty"`       // of its item, from 1; 0: the item has no steps
	Subject       string                     `json:"subject,omitempty"`    // imperative, one line
	Description   string                     `json:"-"`                    // for agents
	ActiveForm    string                     `json:"activeForm,omitempty"` // present continuous
	Prompt        string                     `json:"-"`                    // inline, or from the "@file" it named
	Command       string                     `json:"command,omitempty"`    // for the shell; "": for an agent
	Late          *Late                      `json:"-"`                    // references to values of the run; nil: none
	Env           map[string]string          `json:"-"`                    // values for the command and the checks
	Wave          int                        `json:"wave,omitempty"`       // declared, from 1; 0: by the blockers
	Files         []File                     `json:"files,omitempty"`
	Verify        []Check                    `json:"verify,omitempty"`
	Criteria      []Condition                `json:"criteria,omitempty"`
	Output        json.RawMessage            `json:"-"` // JSON Schema of its structured result, compact; nil: it has none
	Lines         bool                       `json:"-"` // Output is a JSON array, or stands for the lines of the command
	Aspects       []string                   `json:"aspects,omitempty"`
	Exclusive     []string                   `json:"exclusive,omitempty"`     // resources of one running task at a time
	Reversibility string                     `json:"reversibility,omitempty"` // "2A" (default), "2B" or "1"
	BudgetUSD     budget.USD                 `json:"-"`                       // for one attempt; 0: by the run's budget
	Estimate      Estimate                   `json:"-"`
	Metadata      map[string]json.RawMessage `json:"-"`
	Settings      *Settings                  `json:"settings,omitempty"` // over the plan's defaults; nil: none
	Rehearse      json.RawMessage            `json:"-"`                  // block for the rehearsal agent; opaque here
	Pos           Pos                        `json:"-"`                  // of the task in the plan file
}

// HasCheck reports whether wavex can show by itself that the task is done: by the exit code of its command, or
// by a check of the task or of one of its criteria.
func (t *Task) HasCheck() bool {
	return t.Command != "" || len(t.Verify) > 0 ||
		slices.ContainsFunc(t.Criteria, func(c Condition) bool { return c.Check != nil })
}

// Group is a task with foreach: the tasks of the items of its list.
type Group struct {
	ID       string `json:"id"`
	List     string `json:"list"`           // where the list comes from, for people
	Known    bool   `json:"known"`          // whether the list is known
	Uses     string `json:"uses,omitempty"` // the task or group whose output has a list that comes with the run
	MaxItems int    `json:"maxItems"`
	Parallel int    `json:"parallel,omitempty"` // most tasks at once; 0: no limit of its own
	Tasks    []int  `json:"tasks"`              // indices, in the order of the items; of an item's steps, the last one
	Steps    int    `json:"steps,omitempty"`    // of each item; the tasks of an item follow each other. 0: none

	AllowFailures string   `json:"allowFailures,omitempty"` // how many items may fail; "": none
	Estimate      Estimate `json:"-"`                       // of one item: the sum of its steps

	found json.RawMessage // the list, if a run has to keep it; nil: it follows from the plan
}

// All returns the tasks of all steps, in the order of the items.
func (g *Group) All() (tasks []int) {
	for _, last := range g.Tasks {
		for i := last - max(g.Steps, 1) + 1; i <= last; i++ {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// Pos is a position in the plan file; Line and Column count from 1, Column in bytes.
type Pos = source.Pos

// File is a path that a task declares, relative to its directory, slash-separated and clean.
type File struct {
	Path   string `json:"path"`
	Action string `json:"action,omitempty"` // "create", "modify", "create or modify", "delete", "read"
}

// Writes reports whether the declaration promises an edit.
func (f File) Writes() bool { return f.Action != "read" }

// Written returns the paths of the declared files that a task edits.
func Written(files []File) (paths []string) {
	for _, f := range files {
		if f.Writes() {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Writes returns the declared files that the task edits, as paths of the project.
func (t *Task) Writes() []string {
	paths := Written(t.Files)
	for k, p := range paths {
		paths[k] = path.Join(t.SubDir(), filepath.ToSlash(p))
	}
	return paths
}

// Check is one piece of evidence that wavex obtains by itself. Exactly one form is set: Run; or
// File alone (it exists); or File with Contains or Matches.
type Check struct {
	Run      string        `json:"run,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"` // of Run; 0: the default (10 minutes)
	File     string        `json:"file,omitempty"`
	Contains string        `json:"contains,omitempty"`
	Matches  string        `json:"matches,omitempty"` // RE2
	// Once means that the check holds at its task's own time and may fail later, so it is not repeated at the end of a
	// run. It is only for a task's own checks. The key is that of earlier journals.
	Once bool `json:"no_recheck,omitempty"`
	// Env holds variables of Run, values of references, as NAME=VALUE separated by NUL.
	Env string `json:"env,omitempty"`
}

// Describe returns a check in the form that a person writes.
func (c Check) Describe() string {
	switch {
	case c.Run != "":
		return c.Run
	case c.Contains != "":
		return fmt.Sprintf("%s contains %q", c.File, c.Contains)
	case c.Matches != "":
		return fmt.Sprintf("%s matches /%s/", c.File, c.Matches)
	default:
		return c.File + " exists"
	}
}

// Condition is a criterion or a mustNot: words, and a check if possible.
type Condition struct {
	Text         string `json:"text"`
	Check        *Check `json:"check,omitempty"`
	Verification string `json:"verification,omitempty"` // "execution output", "measurement", "observation", "assumption"
}

// Estimate is the author's estimate of one attempt.
type Estimate struct {
	Seconds float64
	USD     budget.USD
}

// Settings say how an attempt is started; the zero value of a field means "not given".
type Settings struct {
	Model              string
	FallbackModel      string
	PermissionMode     string // one of the CLI's: acceptEdits, auto, bypassPermissions, default, dontAsk, plan
	AllowedTools       []string
	DisallowedTools    []string
	Timeout            time.Duration // wall clock of one attempt
	IdleTimeout        time.Duration // without any stream event
	MaxRetries         *int
	RetrySession       string // "same", "fresh", "auto"; of retries
	MaxTurns           int
	Agent              string
	AppendSystemPrompt string
	MCPConfig          string        // "" none (strict), "inherit", or a file; in a task's own Settings also "none"
	SettingSources     string        // "": the user's own; else the CLI's comma list
	PolicyEdits        string        // policy.EditsWorktree (as ""), EditsFiles or EditsOff
	PolicyDeny         []string      // patterns of policy.ParsePattern; nil: DefaultDeny()
	PolicyRepeat       *int          // nil: DefaultRepeat; 0: off
	PolicyAsk          []string      // patterns of calls that a person decides on; nil: none
	PolicyAskTimeout   time.Duration // for an answer; 0: DefaultAskTimeout
	Dir                string        // relative to the project directory
}

// Setup prepares a worktree.
type Setup struct {
	Run string `json:"run,omitempty"` // shell command; "": nothing is prepared
	// When has patterns of files of the project, as of git's glob. Run runs again after one has changed; without
	// patterns, after each commit.
	When  []string `json:"when,omitempty"`
	Clean bool     `json:"clean,omitempty"` // no ignored file survives, and so Run runs for each task
}
