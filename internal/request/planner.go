package request

// This file asks a planner for the plan and reports its mistakes to it until there are none. It trusts no answer, and
// does not know how questions are asked or paid for.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"wavex/internal/plan"
)

// maxPlanRounds bounds the questions to a planner: the first one, and those with its mistakes.
const maxPlanRounds = 4

// askPlanner puts a question with plannerSystem and planSchema to a model that may read the repository. step names the
// question, and is the same for the same question of the same run: "decompose/1". It may block. An error ends the
// decomposition. An unusable answer is returned without an error.
type askPlanner func(ctx context.Context, step, prompt string) (json.RawMessage, error)

// Plan is the result of a decomposition: either File, a plan that loads, or Proposals.
type Plan struct {
	File      json.RawMessage `json:"file,omitempty"`
	Proposals []Proposal      `json:"proposals,omitempty"`
	Notes     []string        `json:"notes,omitempty"` // doubts that remain
}

// Refusal means that the decomposition produced no valid plan.
type Refusal struct {
	Rounds   int
	Problems []string // of the last answer
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the planner gave no valid plan in %d rounds; the last one: %s", r.Rounds,
		strings.Join(r.Problems, "; "))
}

// makePlan asks until there is a valid plan, a proposal of several plans, or a *Refusal. It reports mistakes to the
// planner at most three times, and mere doubts once. done reports whether a check of a file holds already; it is called
// for files only, never for commands, because a model wrote these and no person has read the plan yet. An error is a
// *Refusal or an error of ask.
func makePlan(ctx context.Context, b brief, ask askPlanner, done func(plan.Check) bool) (Plan, error) {
	base := planPrompt(b)
	var best *draft
	var out Plan
	feedback, doubtsTold := "", false
	var last []string
	rounds := 0
	for n := 1; n <= maxPlanRounds; n++ {
		answer, err := ask(ctx, fmt.Sprintf("decompose/%d", n), base+feedback)
		if err != nil {
			return out, err
		}
		rounds = n
		d := parseAnswer(b, answer, done)
		if len(d.proposals) > 0 {
			out.Proposals = d.proposals
			return out, nil
		}
		if len(d.mistakes) == 0 {
			best = d
			if len(d.doubts) == 0 || doubtsTold {
				break
			}
			doubtsTold = true
		} else if best != nil {
			break // a valid plan is better than a tidier one that is invalid
		}
		last = d.mistakes
		feedback = feedbackPrompt(answer, append(d.mistakes, d.doubts...))
	}
	if best == nil {
		return out, &Refusal{rounds, last}
	}
	out.File, out.Notes = best.file, best.doubts
	return out, nil
}
