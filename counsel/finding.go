package counsel

import (
	"fmt"
	"slices"

	"wavex/budget"
	"wavex/runner"
)

// This file holds the result of a review as plain data.

// Severity is the weight of a finding. The set is closed.
type Severity string

// The severities. Only a confirmed blocker keeps a run from completing.
const (
	Blocker    Severity = "BLOCKER"
	Warning    Severity = "WARNING"
	Suggestion Severity = "SUGGESTION"
)

// Finding is one fault that a reviewer reports. Its texts are bounded and untrusted.
type Finding struct {
	ID       string   `json:"id"` // "F-1", within its review
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"` // relative to the project directory, slash-separated
	Line     int      `json:"line,omitempty"` // from 1; 0 means unknown
	Text     string   `json:"text" secret:"text"`
	Evidence string   `json:"evidence,omitempty" secret:"text"` // the place or output that shows it
	Fix      string   `json:"fix,omitempty" secret:"text"`      // a repair that does not break a mustNot
	Aspects  []string `json:"aspects,omitempty"`
	Expert   string   `json:"expert"`
	// Confirmed means that a second expert tried to refute the blocker and could not. Refuted
	// holds the reason of one that could.
	Confirmed bool   `json:"confirmed,omitempty"`
	Refuted   string `json:"refuted,omitempty" secret:"text"`
	// Resolution is a person's decision: "approved" (it may stay), "task" (a task repairs it), "skipped"
	// (undecided; it still blocks), or "" if no person was asked; or Unchanged.
	Resolution string `json:"resolution,omitempty"`
	// Digest identifies the contents, when the blocker was confirmed, of the files that it names, or of all files if it
	// names none; "": not recorded.
	Digest string `json:"digest,omitempty"`
	// Changed means, in a case, that the files of an open blocker differ from Digest.
	Changed bool `json:"-"`
}

// Unchanged is the resolution of a blocker of an earlier review whose files have not changed. It waits for a person.
const Unchanged = "unchanged"

// Location returns the position of the finding as "file:line: ", or "".
func (f Finding) Location() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return f.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", f.File, f.Line)
}

// Blocks reports whether the finding keeps the run from completing.
func (f Finding) Blocks() bool {
	return f.Resolution == "task" || f.Severity == Blocker && f.Confirmed && f.Resolution != "approved"
}

// Review is the result of a panel of reviewers. If Error is not empty there is no review: too few
// experts answered, or their answers could not be read.
type Review struct {
	Score    float64        `json:"score"`                          // 0 to 10, the mean of the experts that answered
	Experts  []string       `json:"experts,omitempty"`              // that answered
	Silent   []string       `json:"silent,omitempty" secret:"text"` // that did not answer, each with the reason
	Findings []Finding      `json:"findings,omitempty"`
	Nothing  string         `json:"nothing,omitempty" secret:"text"` // why there was nothing to review
	Error    string         `json:"error,omitempty" secret:"text"`
	Failure  runner.Outcome `json:"failure,omitempty"` // with Error: interrupted if one was, else that of all
	Cost     budget.USD     `json:"cost"`              // micro-dollars of all calls, including failed ones
}

// Blockers returns the findings that keep the run from completing.
func (r Review) Blockers() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.Blocks() })
}

// Count returns the number of findings of a severity.
func (r Review) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}
