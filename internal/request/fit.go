package request

// This file computes how much autonomy fits a request: the fit formula, its thresholds, and the
// gate on the spec score, which comes first.

// Autonomy is how closely a person accompanies the work.
type Autonomy string

// The shapes. Blocked means that the request must be clarified first.
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
	for _, d := range []Dimension{Constraints, Success, Done} {
		if s.Rating(d).Points == maxPoints {
			fit += 5
		}
	}
	return fit + min(maxFamiliarity, max(0, familiarity))
}

// autonomyByFit returns the shape for a fit score alone: 40 and more is a tool, 30 a tool with review,
// 25 a colleague, less is blocked.
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

// autonomyBySpec returns the shape for a spec score alone: 8 and more is a tool, 5 a colleague, less
// is blocked.
func autonomyBySpec(spec int) Autonomy {
	switch {
	case spec >= 8:
		return Tool
	case spec >= MinReady:
		return Colleague
	}
	return Blocked
}

// Decision is a shape and the numbers that led to it, for the record.
type Decision struct {
	Spec        int      `json:"spec"`
	Fit         int      `json:"fit"`
	Familiarity int      `json:"familiarity"`
	Shape       Autonomy `json:"shape"`
	BySpec      Autonomy `json:"by_spec"` // the shape for the spec score alone
	ByFit       Autonomy `json:"by_fit"`  // the shape for the fit score alone
	Why         string   `json:"why"`
	Forced      bool     `json:"forced,omitempty"` // it was blocked, and a person overruled that
}

// Force returns the decision if a person wants to continue with a blocked request. The shape is
// given, or else Colleague, which asks most often.
func (d Decision) Force(given Autonomy) Decision {
	if d.Shape != Blocked {
		return d
	}
	d.Shape, d.Forced, d.Why = Colleague, true, "forced, although the spec score is below 5"
	if given != "" {
		d.Shape = given
	}
	return d
}

// decide first applies the gate on the spec score; then the fit score determines the shape. For
// some requests the two scores disagree, so both are kept.
func decide(s Score, familiarity int) Decision {
	d := Decision{Spec: s.Total(), Familiarity: min(maxFamiliarity, max(0, familiarity)), Fit: fit(s, familiarity)}
	d.BySpec, d.ByFit = autonomyBySpec(d.Spec), autonomyByFit(d.Fit)
	if d.Spec < MinReady {
		d.Shape, d.Why = Blocked, "the spec score is below 5: clarify first"
		return d
	}
	d.Shape, d.Why = d.ByFit, "by the fit score"
	return d
}
