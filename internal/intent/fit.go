package intent

// This file is how much autonomy a request gets: the fit formula, its cut-offs, and
// the gate on the spec score that comes first (LEDGER S0-58, S0-59, S2-22, C27).

// Shape is how closely a person stays with the work.
type Shape string

// The shapes. Blocked is none: the request is clarified first.
const (
	Blocked    Shape = "blocked"
	Colleague  Shape = "colleague"   // a person is asked after each step
	ToolReview Shape = "tool-review" // a person is asked after each wave
	Tool       Shape = "tool"        // nobody is asked; the end is reported
)

// Ready is the least spec score with which anything is planned.
const Ready = 5

// MaxFamiliarity is the most that recall can add to a fit score.
const MaxFamiliarity = 10

// Fit is spec*5, and 5 each where there are constraints, success criteria and a
// definition of done that can be held against the work (MaxPoints; "when it works" is
// none), and the familiarity with the domain, from 0 to MaxFamiliarity (brought into
// that range). At most 75. The three bonuses count dimensions a second time; that is how
// the formula is meant. A bonus for whatever is stated at all would have every ready
// request at 30 and more, and one that is vague in all five dimensions (5/10) at 40, so
// that nobody looked at it; and the ledger's spec 7 with fit 35 (C27) could not be.
func Fit(s Score, familiarity int) int {
	fit := s.Total() * 5
	for _, d := range []Dimension{Constraints, Success, Done} {
		if s.Of(d).Points == MaxPoints {
			fit += 5
		}
	}
	return fit + min(MaxFamiliarity, max(0, familiarity))
}

// ShapeOfFit is what the fit score alone says: 40 and more is a tool, 30 a tool with
// review, 25 a colleague, less is blocked.
func ShapeOfFit(fit int) Shape {
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

// ShapeOfSpec is what the spec score alone says: 8 and more is a tool, 5 a
// colleague, less is blocked.
func ShapeOfSpec(spec int) Shape {
	switch {
	case spec >= 8:
		return Tool
	case spec >= Ready:
		return Colleague
	}
	return Blocked
}

// Decision is a shape with the numbers it comes from, for the record.
type Decision struct {
	Spec        int    `json:"spec"`
	Fit         int    `json:"fit"`
	Familiarity int    `json:"familiarity"`
	Shape       Shape  `json:"shape"`
	BySpec      Shape  `json:"by_spec"` // what the spec score alone would say
	ByFit       Shape  `json:"by_fit"`  // what the fit score alone would say
	Why         string `json:"why"`
	Forced      bool   `json:"forced,omitempty"` // a person wants it although it is blocked
}

// Force is the decision when a person wants to go on with a request that is blocked: as a
// colleague's, the shape that asks most, unless another was given.
func (d Decision) Force(given Shape) Decision {
	if d.Shape != Blocked {
		return d
	}
	d.Shape, d.Forced, d.Why = Colleague, true, "forced, although the spec score is below 5"
	if given != "" {
		d.Shape = given
	}
	return d
}

// Decide gates on the spec score first; then the fit picks the shape (LEDGER C27: the
// two disagree for some requests, and both are kept).
func Decide(s Score, familiarity int) Decision {
	d := Decision{Spec: s.Total(), Familiarity: min(MaxFamiliarity, max(0, familiarity)), Fit: Fit(s, familiarity)}
	d.BySpec, d.ByFit = ShapeOfSpec(d.Spec), ShapeOfFit(d.Fit)
	if d.Spec < Ready {
		d.Shape, d.Why = Blocked, "the spec score is below 5: clarify first"
		return d
	}
	d.Shape, d.Why = d.ByFit, "by the fit score"
	return d
}
