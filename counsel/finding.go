package counsel

import (
	"wavex/budget"
	"wavex/runner"
)

// This file is what a review comes to, as plain data. It does not know how it came about.

// Severity is how much a finding weighs; the set is closed (LEDGER S0-30).
type Severity string

// The severities. Only a confirmed blocker keeps a run from completing.
const (
	Blocker    Severity = "BLOCKER"
	Warning    Severity = "WARNING"
	Suggestion Severity = "SUGGESTION"
)

// Finding is one thing that a reviewer holds to be wrong. Its texts are bounded and
// untrusted.
type Finding struct {
	ID       string   `json:"id"` // "F-1", within its review
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"` // relative to the project directory, slash-separated
	Line     int      `json:"line,omitempty"` // from 1; 0: unknown
	Text     string   `json:"text"`
	Evidence string   `json:"evidence,omitempty"` // what shows it
	Fix      string   `json:"fix,omitempty"`      // what would put it right without breaking a mustNot
	Aspects  []string `json:"aspects,omitempty"`
	Expert   string   `json:"expert"`
	// Confirmed says that a second expert tried to refute the blocker and could not;
	// Refuted says why one did.
	Confirmed bool   `json:"confirmed,omitempty"`
	Refuted   string `json:"refuted,omitempty"`
	// Resolution is what a person decided: "approved" (it may stay), "task" (mend it),
	// "skipped" (undecided; it still blocks), or "" when nobody was asked.
	Resolution string `json:"resolution,omitempty"`
}

// Blocks tells whether the finding keeps the run from completing.
func (f Finding) Blocks() bool {
	return f.Resolution == "task" || f.Severity == Blocker && f.Confirmed && f.Resolution != "approved"
}

// Review is what a panel of reviewers came to. When Error is not empty there is no
// review: too few answered, or nothing could be read of what they said.
type Review struct {
	Score    float64        `json:"score"`             // 0 to 10, the mean of those who answered
	Experts  []string       `json:"experts,omitempty"` // who answered
	Silent   []string       `json:"silent,omitempty"`  // who did not, each with the reason
	Findings []Finding      `json:"findings,omitempty"`
	Nothing  string         `json:"nothing,omitempty"` // why there was nothing to review; nobody was asked then
	Error    string         `json:"error,omitempty"`
	Failure  runner.Outcome `json:"failure,omitempty"` // with Error: how the calls ended, when all ended the same
	Cost     budget.USD     `json:"cost"`              // micro-dollars of all calls, also of those who failed
}

// Blockers are the findings that keep the run from completing.
func (r Review) Blockers() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Blocks() {
			out = append(out, f)
		}
	}
	return out
}

// Count counts the findings of a severity.
func (r Review) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}
