package counsel

import (
	"context"
	"encoding/json"
	"fmt"

	"wavex/runner"
)

// This file asks a panel why a task is stuck, and reads the opinions, which are untrusted. It decides nothing about the
// run.

// Diagnose asks a panel why a task is stuck. It asks 2 experts, or 3 if the case is Thorough, in
// parallel, each with an equal share of the case's cap. It returns when all calls have ended. An
// expert whose call fails, times out, panics or answers nonsense is unavailable; its opinion holds
// the reason and the cost. If no expert answers, Verdict.Unavailable holds the reason, and
// Verdict.Failure tells whether the panel was cut off.
func (p *Panel) Diagnose(ctx context.Context, c Case) Verdict {
	experts := SelectExperts(p.Experts, c)
	answers, err := p.askExperts(ctx, experts, diagnosis(c), 0, nil)
	if err != nil {
		return Verdict{Unavailable: err.Error()}
	}
	opinions := make([]Opinion, len(experts))
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

// diagnosis returns the question about a stuck task.
func diagnosis(c Case) runner.Question {
	return runner.Question{Name: "counsel/", Dir: c.Dir, LogDir: c.LogDir, System: diagnoseFrame, Prompt: caseBrief(c),
		Schema: json.RawMessage(OpinionSchema), Cap: c.Cap}
}

// OpinionSchema is the JSON Schema of an expert's answer. It is small because every call pays for
// it. Reading bounds the lengths instead.
const OpinionSchema = `{"type":"object","properties":{` +
	`"diagnosis":{"type":"string"},` +
	`"cause":{"type":"string"},` +
	`"approach":{"type":"string"},` +
	`"confidence":{"type":"number","minimum":0,"maximum":1},` +
	`"falsifier":{"type":"string"},` +
	`"action":{"enum":["retry","amend","split","abandon"]}},` +
	`"required":["diagnosis","cause","approach","confidence","falsifier","action"],` +
	`"additionalProperties":false}`

// maxText bounds each text of an opinion, in bytes, because it goes into a prompt and into the
// journal.
const maxText = 1200

// parseOpinion converts an answer into an opinion. The opinion is unavailable, with its reason, if the
// call failed or the answer is nonsense. The cost counts either way. The reason never quotes the answer, because it is
// untrusted.
func parseOpinion(expert string, a runner.Answer) Opinion {
	r, why := decode[struct {
		Opinion
		Confidence *float64 `json:"confidence"` // nil: absent
	}](a)
	o := Opinion{Expert: expert, Diagnosis: boundedText(r.Diagnosis), Cause: boundedText(r.Cause),
		Approach: boundedText(r.Approach), Falsifier: boundedText(r.Falsifier), Action: r.Action}
	switch {
	case why != "":
	case r.Confidence == nil:
		why = unusable("it has no confidence")
	case *r.Confidence < 0 || *r.Confidence > 1:
		why = unusable(fmt.Sprintf("its confidence %v is not between 0 and 1", *r.Confidence))
	case r.Action.rank() < 0:
		why = unusable("its action is none of retry, amend, split, abandon")
	case o.Diagnosis == "":
		why = unusable("its diagnosis is empty")
	case o.Approach == "":
		why = unusable("its approach is empty")
	default:
		o.Confidence, o.Cost = *r.Confidence, a.Cost
		return o
	}
	return Opinion{Expert: expert, Cost: a.Cost, Unavailable: why}
}
