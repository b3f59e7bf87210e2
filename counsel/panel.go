// This file convenes the panel about a stuck task, and passes the opinions to the tally. It decides nothing about
// the run, and starts no process itself.

package counsel

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"wavex/budget"
	"wavex/runner"
)

// chairName is the name of the chair, which no expert may have.
const chairName = "chair"

//go:embed chair.md
var chairProfile string

// Diagnose asks a panel why a task is stuck. It asks 2 experts, or 3 if the case is Thorough, in
// parallel, each with an equal share of the case's cap (with Chair, the chair's share is set
// aside too). It returns when all calls have ended. An expert whose call fails, times out, panics
// or answers nonsense is unavailable; its opinion holds the reason and the cost. If no expert
// answers, Verdict.Unavailable holds the reason, and Verdict.Failure tells whether the panel was cut off.
func (p *Panel) Diagnose(ctx context.Context, c Case) Verdict {
	experts, share, err := p.convene(c.Cap, func(r *Roster) ([]Expert, int) {
		experts := SelectExperts(r, c)
		if p.Chair && len(experts) > 1 {
			return experts, len(experts) + 1
		}
		return experts, len(experts)
	})
	if err != nil {
		return Verdict{Unavailable: err.Error()}
	}
	q := diagnosis(c, share)
	opinions, answers := make([]Opinion, len(experts)), p.askExperts(ctx, experts, q, caseBrief(c))
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
	if p.Chair && v.Unavailable == "" && v.Agreement < 1 {
		v = p.askChair(ctx, c, v, q)
	}
	return v
}

// diagnosis returns the common part of the questions of a panel about a stuck task.
func diagnosis(c Case, share budget.USD) runner.Question {
	return runner.Question{Name: "counsel/", Dir: c.Dir, LogDir: c.LogDir, System: diagnoseFrame,
		Schema: json.RawMessage(OpinionSchema), Cap: share}
}

// askChair has a chair weigh the opinions. If the chair is unavailable the tally stands.
func (p *Panel) askChair(ctx context.Context, c Case, v Verdict, of runner.Question) Verdict {
	var views []section
	for _, o := range v.Opinions {
		if o.Unavailable == "" {
			views = append(views, section{
				fmt.Sprintf("opinion of the %s: %s, confidence %.2f", o.Expert, o.Action, o.Confidence),
				fmt.Sprintf("%s\nCause: %s\nApproach: %s\nWrong if: %s", o.Diagnosis, o.Cause, o.Approach, o.Falsifier), 1300})
		}
	}
	chair := Expert{Name: chairName, Body: chairProfile}
	return v.withChair(parseOpinion(chairName, p.askOne(ctx, chair.question(of, caseBrief(c, views...)))))
}

// withChair returns the verdict after a chair's opinion. Agreement becomes the share of the experts
// that agree with the chair; the others are the dissent. Tradeoff stays as the experts left it.
func (v Verdict) withChair(chair Opinion) Verdict {
	v.Cost += chair.Cost
	v.Chair = &chair
	if chair.Unavailable != "" {
		return v
	}
	v.Action, v.Confidence = chair.Action, chair.Confidence
	v.Dissent = nil
	answered, with := 0, 0
	for _, o := range v.Opinions {
		if o.Unavailable != "" {
			continue
		}
		answered++
		if o.Action == chair.Action && similar(o.Approach, chair.Approach) {
			with++
		} else {
			v.Dissent = append(v.Dissent, dissentLine(o))
		}
	}
	v.Agreement = float64(with) / float64(answered)
	// The chair has decided, so the agent must not choose again.
	v.Analysis, v.Fix = analysisText(chair, false), fixText(chair)
	return v
}
