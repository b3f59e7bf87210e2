package request

// This file holds the five dimensions of a clear request and their points. Its functions are pure.

import (
	"fmt"
	"strings"
)

// Dimension is one of the five aspects in which a request can be clear.
type Dimension int

// The dimensions, in the order of their output.
const (
	Outcome Dimension = iota
	Scope
	Constraints
	Success
	Done
)

// dimensions lists all dimensions.
var dimensions = [...]Dimension{Outcome, Scope, Constraints, Success, Done}

// maxPoints is the maximum of one dimension, maxScore the maximum of the sum.
const (
	maxPoints = 2
	maxScore  = maxPoints * len(dimensions)
)

// String returns the dimension's name in lower case, as in records.
func (d Dimension) String() string {
	return [...]string{"outcome", "scope", "constraints", "success", "done"}[d]
}

// Meaning describes the dimension in a few words.
func (d Dimension) Meaning() string {
	return [...]string{
		"what is different afterwards, if possible in numbers",
		"where: the files, the package, the endpoint",
		"what must stay as it is, and what must not be used",
		"how anybody can tell that it works",
		"when it is over",
	}[d]
}

// Example returns the example for 0, 1 or 2 points.
func (d Dimension) Example(points int) string {
	return [...][maxPoints + 1]string{
		{"Make it better", "Improve performance", "p95 latency <100ms"},
		{"Fix the app", "Fix auth", "Fix /api/auth/token"},
		{"none stated", "Use existing stack", "No new deps, <500 LOC"},
		{"none stated", "Tests pass", "All tests + manual QA"},
		{"implied", "When it works", "PR merged to main"},
	}[d][points]
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
		return s, fmt.Errorf("a score is %d numbers, of %v, and not %d", len(dimensions), dimensions, len(points))
	}
	for i, d := range dimensions {
		*s.Rating(d) = Rating{points[i], "given"}
	}
	return s, s.Validate()
}

// Rating returns the mark of a dimension.
func (s *Score) Rating(d Dimension) *Rating {
	return [...]*Rating{&s.Outcome, &s.Scope, &s.Constraints, &s.Success, &s.Done}[d]
}

// Total returns the spec score, 0 to maxScore.
func (s Score) Total() int {
	sum := 0
	for _, d := range dimensions {
		sum += s.Rating(d).Points
	}
	return sum
}

// Missing returns the dimensions below maxPoints, those without points first. A person is asked
// about them.
func (s Score) Missing() []Dimension {
	var out []Dimension
	for points := range maxPoints {
		for _, d := range dimensions {
			if s.Rating(d).Points == points {
				out = append(out, d)
			}
		}
	}
	return out
}

// Validate returns an error if a mark is out of range, as in a model's answer it may be.
func (s Score) Validate() error {
	for _, d := range dimensions {
		if p := s.Rating(d).Points; p < 0 || p > maxPoints {
			return fmt.Errorf("%s has %d points; they go from 0 to %d", d, p, maxPoints)
		}
	}
	return nil
}

// String returns the breakdown in one line: "7/10 (outcome 2, scope 2, ...)".
func (s Score) String() string {
	var parts []string
	for _, d := range dimensions {
		parts = append(parts, fmt.Sprintf("%s %d", d, s.Rating(d).Points))
	}
	return fmt.Sprintf("%d/%d (%s)", s.Total(), maxScore, strings.Join(parts, ", "))
}

// Title returns the dimension's name with a capital letter.
func (d Dimension) Title() string {
	s := d.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

// Question returns a question about the dimension that fits any request.
func (d Dimension) Question() string {
	return [...]string{
		"What is different when it is done, as a number or as something that can be seen?",
		"Which files, package, command or endpoint is it about?",
		"What must stay as it is, and what must not be used?",
		"Which commands or observations show that it works?",
		"When is it over?",
	}[d]
}

// Proposals returns two measurable answers to Question, as examples.
func (d Dimension) Proposals() []string {
	return [...][]string{
		{"it takes less than 100 ms", "the command prints the list and exits with 0"},
		{"only files below ./src", "only the endpoint /api/orders"},
		{"no new dependencies", "the public API stays as it is"},
		{"all tests pass, with one new test for it", "a script of mine prints ok"},
		{"when the checks pass", "when it is merged"},
	}[d]
}
