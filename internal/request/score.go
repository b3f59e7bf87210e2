package request

// This file holds the five dimensions of a clear request with their points, and computes how much autonomy fits it. Its
// functions are pure.

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/counsel"
)

const (
	maxPoints = 2 // of one dimension
	maxScore  = maxPoints * len(dimensions)
)

// dimensions describes the five aspects in which a request can be clear, in the order of their output.
var dimensions = [...]struct {
	name      string
	meaning   string                // in a few words
	examples  [maxPoints + 1]string // of a request with 0, 1 and 2 points
	question  string                // that fits any request
	proposals []string              // measurable answers to the question
}{
	{"outcome", "what is different afterwards, if possible in numbers",
		[...]string{"Make it better", "Improve performance", "p95 latency <100ms"},
		"What is different when it is done, as a number or as something that can be seen?",
		[]string{"it takes less than 100 ms", "the command prints the list and exits with 0"}},
	{"scope", "where: the files, the package, the endpoint",
		[...]string{"Fix the app", "Fix auth", "Fix /api/auth/token"},
		"Which files, package, command or endpoint is it about?",
		[]string{"only files below ./src", "only the endpoint /api/orders"}},
	{"constraints", "what must stay as it is, and what must not be used",
		[...]string{"none stated", "Use existing stack", "No new deps, <500 LOC"},
		"What must stay as it is, and what must not be used?",
		[]string{"no new dependencies", "the public API stays as it is"}},
	{"success", "how anybody can tell that it works",
		[...]string{"none stated", "Tests pass", "All tests + manual QA"},
		"Which commands or observations show that it works?",
		[]string{"all tests pass, with one new test for it", "a script of mine prints ok"}},
	{"done", "when it is over",
		[...]string{"implied", "When it works", "PR merged to main"},
		"When is it over?",
		[]string{"when the checks pass", "when it is merged"}},
}

// Rating has the points of one dimension, and the reason.
type Rating struct {
	Points int    `json:"points"` // 0 to maxPoints
	Reason string `json:"reason,omitempty"`
}

// The sources of a score.
const (
	fromModel     = "model"     // one structured call
	fromHeuristic = "heuristic" // offlineScore: words and patterns, no model
	fromUser      = "given"     // GivenScore
)

// Score is the clarity of a request, by dimension.
type Score struct {
	Outcome     Rating `json:"outcome"`
	Scope       Rating `json:"scope"`
	Constraints Rating `json:"constraints"`
	Success     Rating `json:"success"`
	Done        Rating `json:"done"`
	Source      string `json:"source"` // fromModel, fromHeuristic or fromUser
}

// GivenScore returns the score that the user gives a request: the points for each of the dimensions.
func GivenScore(points []int) (Score, error) {
	s := Score{Source: fromUser}
	if len(points) != len(dimensions) {
		var names []string
		for _, d := range dimensions {
			names = append(names, d.name)
		}
		return s, fmt.Errorf("a score is %d numbers, of %v, and not %d", len(dimensions), names, len(points))
	}
	for i, r := range s.ratings() {
		*r = Rating{points[i], "given"}
	}
	return s, s.Validate()
}

// ratings returns the ratings in the order of the dimensions.
func (s *Score) ratings() [len(dimensions)]*Rating {
	return [...]*Rating{&s.Outcome, &s.Scope, &s.Constraints, &s.Success, &s.Done}
}

// Total returns the spec score, 0 to maxScore.
func (s Score) Total() int {
	sum := 0
	for _, r := range s.ratings() {
		sum += r.Points
	}
	return sum
}

// missing returns the indexes of the dimensions below maxPoints, those without points first. A person is asked
// about them.
func (s Score) missing() []int {
	var out []int
	for points := range maxPoints {
		for d, r := range s.ratings() {
			if r.Points == points {
				out = append(out, d)
			}
		}
	}
	return out
}

// Validate returns an error if a rating is out of range, as in a model's answer it may be.
func (s Score) Validate() error {
	for d, r := range s.ratings() {
		if r.Points < 0 || r.Points > maxPoints {
			return fmt.Errorf("%s has %d points; they go from 0 to %d", dimensions[d].name, r.Points, maxPoints)
		}
	}
	return nil
}

// String returns the breakdown in one line: "7/10 (outcome 2, scope 2, ...)".
func (s Score) String() string {
	var parts []string
	for d, r := range s.ratings() {
		parts = append(parts, fmt.Sprintf("%s %d", dimensions[d].name, r.Points))
	}
	return fmt.Sprintf("%d/%d (%s)", s.Total(), maxScore, strings.Join(parts, ", "))
}

// Autonomy is how closely a person accompanies the work. Users know it as the shape of a request.
type Autonomy string

// The values of Autonomy. Blocked means that the request must be clarified first.
const (
	Blocked    Autonomy = "blocked"
	Colleague  Autonomy = "colleague"   // a person is asked after each step
	ToolReview Autonomy = "tool-review" // a person is asked after each wave
	Tool       Autonomy = "tool"        // no person is asked; the end is reported
)

// MinReady is the lowest spec score with which a request is planned.
const MinReady = 5

// maxFamiliarity is the maximum that recall can add to a fit score.
const maxFamiliarity = 10

// fit returns the fit score, at most 75: spec*5, plus 5 for each of constraints, success criteria
// and definition of done that has maxPoints, that is, can be checked against the work ("when it
// works" cannot), plus the familiarity with the domain, limited to 0..maxFamiliarity.
//
// The three bonuses count dimensions a second time; the formula intends that. If a bonus were given
// for every dimension that is stated at all, each ready request would have 30 or more, and one that
// is vague in all five dimensions (5/10) would have 40, so that no person would review it. A spec
// of 7 with a fit of 35 would also be impossible.
func fit(s Score, familiarity int) int {
	fit := s.Total() * 5
	for _, r := range []Rating{s.Constraints, s.Success, s.Done} {
		if r.Points == maxPoints {
			fit += 5
		}
	}
	return fit + familiarity
}

// autonomyByFit returns the autonomy for a fit score alone.
func autonomyByFit(fit int) Autonomy {
	switch {
	case fit >= 40:
		return Tool
	case fit >= 30:
		return ToolReview
	case fit >= 25:
		return Colleague
	}
	return Blocked
}

// autonomyBySpec returns the autonomy for a spec score alone.
func autonomyBySpec(spec int) Autonomy {
	switch {
	case spec >= 8:
		return Tool
	case spec >= MinReady:
		return Colleague
	}
	return Blocked
}

// Decision is an autonomy and the numbers that led to it, for the record. For some requests the two scores disagree,
// so both are kept.
type Decision struct {
	Spec        int      `json:"spec"`
	Fit         int      `json:"fit"`
	Familiarity int      `json:"familiarity"`
	Shape       Autonomy `json:"shape"`
	BySpec      Autonomy `json:"by_spec"` // for the spec score alone
	ByFit       Autonomy `json:"by_fit"`  // for the fit score alone
	Why         string   `json:"why"`
	Forced      bool     `json:"forced,omitempty"` // it was blocked, and a person overruled that
}

// decide first applies the gate on the spec score; then the user, or else the fit score, determines the autonomy.
func decide(s Score, familiarity int, given Autonomy) Decision {
	d := Decision{Spec: s.Total(), Familiarity: min(maxFamiliarity, max(0, familiarity))}
	d.Fit = fit(s, d.Familiarity)
	d.BySpec, d.ByFit = autonomyBySpec(d.Spec), autonomyByFit(d.Fit)
	switch {
	case d.BySpec == Blocked:
		d.Shape, d.Why = Blocked, "the spec score is below 5: clarify first"
	case given != "":
		d.Shape, d.Why = given, "given"
	default:
		d.Shape, d.Why = d.ByFit, "by the fit score"
	}
	return d
}

// force returns a blocked decision as it is if a person wants to continue. The autonomy is the given one, or else
// Colleague, which asks most often.
func (d Decision) force(given Autonomy) Decision {
	d.Shape, d.Forced, d.Why = cmp.Or(given, Colleague), true, "forced, although the spec score is below 5"
	return d
}

// Intent is the result of scoring a request.
type Intent struct {
	Request       string                    `json:"request"` // including the clarifications
	Score         Score                     `json:"score"`
	Decision      Decision                  `json:"decision"`
	Kind          WorkflowMatch             `json:"kind"`
	Reversibility Reversibility             `json:"undo"`
	Phases        []Phase                   `json:"phases,omitempty"`
	Recall        []string                  `json:"recall_surfaced,omitempty"`
	Questions     []counsel.ClarifyQuestion `json:"asked,omitempty"` // if the request is not ready
	Familiarity   int                       `json:"familiarity"`
}
