// This file convenes the panel about a stuck task, and passes the opinions to the tally. It decides nothing about
// the run, and starts no process itself.

package counsel

import (
	"context"
	"encoding/json"

	"wavex/budget"
	"wavex/runner"
)

// Diagnose asks a panel why a task is stuck. It asks 2 experts, or 3 if the case is Thorough, in
// parallel, each with an equal share of the case's cap. It returns when all calls have ended. An
// expert whose call fails, times out, panics or answers nonsense is unavailable; its opinion holds
// the reason and the cost. If no expert answers, Verdict.Unavailable holds the reason, and
// Verdict.Failure tells whether the panel was cut off.
func (p *Panel) Diagnose(ctx context.Context, c Case) Verdict {
	experts, share, err := p.convene(c.Cap, 0, func(r *Roster) []Expert { return SelectExperts(r, c) })
	if err != nil {
		return Verdict{Unavailable: err.Error()}
	}
	opinions, answers := make([]Opinion, len(experts)), p.askExperts(ctx, experts, diagnosis(c, share), caseBrief(c))
	for i, a := range answers {
		opinions[i] = parseOpinion(experts[i].Name, a)
	}
	v := Tally(opinions)
	if v.Unavailable != "" {
		v.Failure = failureOf(answers)
	}
	for _, a := range answers {
		if v.Failure == runner.Limited && a.ResetsAt.After(v.ResetsAt) {
			v.ResetsAt = a.ResetsAt
		}
	}
	return v
}

// diagnosis returns the common part of the questions of a panel about a stuck task.
func diagnosis(c Case, share budget.USD) runner.Question {
	return runner.Question{Name: "counsel/", Dir: c.Dir, LogDir: c.LogDir, System: diagnoseFrame,
		Schema: json.RawMessage(OpinionSchema), Cap: share}
}
