package runner

import (
	"fmt"
	"slices"
	"strings"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file decides the outcome of an attempt after the agent's turn ended well. It is pure: no clock, no
// process, no file. docs/outcomes.md documents the same decisions as a table.

// classification is an outcome with its explanation for the user and for the next attempt.
type classification struct {
	outcome Outcome
	reason  string
	detail  string
}

// work holds the evidence on an attempt whose turn ended well.
type work struct {
	checks  []check.Evidence
	stop    error // why the checks were cut short
	denials []Denial
	// unfinished is the agent's own account of the missing work; "" if it claims success.
	unfinished string
	files      []plan.File
	changed    []string
	vacuous    bool
	unmeasured bool // it is not known whether it is vacuous
	present    bool // every file that a task creates or modifies is there, and none is to be deleted
	edited     bool // the agent used a tool that edits
}

// classifyWork returns the outcome of the work. Only evidence makes it Done; the agent's own claim can
// only make it worse.
func classifyWork(w work) classification {
	promised := plan.Written(w.files)
	// The work was there before; the gate asks whether a reviewer looked at it.
	found := (w.vacuous || w.unmeasured) && w.present
	missing := len(promised) > 0 && len(w.changed) == 0 && !found
	reason, detail := failedChecks(w.checks)
	switch {
	case w.stop != nil:
		return classification{outcome: Interrupted, reason: "stopped during the checks: " + w.stop.Error()}
	case reason != "" && len(w.denials) > 0 && (!w.edited && len(w.changed) == 0 || anyDenied(w.denials, EditTool)):
		return classification{outcome: Denied, reason: denialReason(w.denials) + "; " + reason, detail: detail}
	case reason != "" && len(w.denials) > 0:
		// The agent could edit, and did. A denied tool call (agents try several) is not why the
		// check fails, and no reason to stop the run. The next attempt gets the denials in its
		// prompt.
		if by := denialBy(w.denials); by != "" {
			reason += "; " + by
		}
		return classification{outcome: Wrong, reason: reason, detail: detail + "\n" + denialReason(w.denials)}
	case reason != "":
		return classification{outcome: Wrong, reason: reason, detail: detail}
	case missing && len(w.denials) > 0 && (len(w.checks) == 0 || anyDenied(w.denials, EditTool, CommandTool)):
		return classification{outcome: Denied, reason: denialReason(w.denials) + "; the declared files are unchanged"}
	case missing:
		reason = "the declared files are unchanged: " + strings.Join(promised, ", ")
		if w.vacuous {
			reason += "; the checks passed before the attempt already"
		}
		return classification{outcome: Wrong, reason: reason}
	case w.unfinished != "" && len(w.denials) > 0 && (!w.edited && len(w.changed) == 0 || anyDenied(w.denials, EditTool)):
		// The agent itself reports failure. Another attempt would be denied as well.
		return classification{outcome: Denied, reason: denialReason(w.denials) + "; " + w.unfinished}
	case w.unfinished != "":
		return classification{outcome: Wrong, reason: w.unfinished}
	}
	return classification{outcome: Done}
}

// failedChecks returns a line that names the failed checks, and a text with their outputs.
func failedChecks(checks []check.Evidence) (reason, detail string) {
	var b strings.Builder
	failed := 0
	for _, c := range checks {
		if c.Passed {
			continue
		}
		failed++
		if failed == 1 {
			reason = fmt.Sprintf("check failed: %s: %s", textfmt.OneLine(c.Check, 200), c.Reason)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n%s\n\n", c.Check, c.Output, c.Reason)
	}
	if failed > 1 {
		reason += fmt.Sprintf(" (and %d more)", failed-1)
	}
	return reason, b.String()
}

// denialReason says why tool calls were denied: by a deny rule, or because the agent left its directory, and by the
// want of rules that would have allowed them.
func denialReason(ds []Denial) string {
	if by := denialBy(ds); by != "" {
		return by
	}
	text, rules := "permission denied", []string(nil)
	for _, d := range ds {
		switch {
		case d.Left != "" || d.Rule == "":
			text = "permission denied: " + d.String()
		case len(rules) < 3:
			rules = append(rules, d.Rule)
		case len(rules) == 3:
			rules = append(rules, "...")
		}
	}
	if len(rules) > 0 {
		text += "; to allow it, add to allowedTools: " + strings.Join(rules, ", ")
	}
	return text
}

// denialBy names the first deny rule that wins over every rule that could be added; "": there is none.
func denialBy(ds []Denial) string {
	if i := slices.IndexFunc(ds, func(d Denial) bool { return d.By != "" }); i >= 0 {
		return ds[i].String()
	}
	return ""
}

// anyDenied reports whether a tool of one of the kinds was denied.
func anyDenied(ds []Denial, kinds ...ToolKind) bool {
	return slices.ContainsFunc(ds, func(d Denial) bool { return slices.Contains(kinds, d.Kind) })
}

// ReasonMax and detailMax bound the texts of a Result, in bytes; ReasonMax also that of an Answer.
const (
	ReasonMax = 400
	detailMax = 4 << 10
)
