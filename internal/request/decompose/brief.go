package decompose

import (
	"wavex/internal/request/score"
	"wavex/internal/request/shape"
)

// Brief is the input of a planner.
type Brief struct {
	Request       string
	Kind          score.WorkflowMatch
	Reversibility score.Reversibility
	Shape         shape.Shape
	Notes         []Note // documents of the phases, maxims, learnings: information for the planner, not instructions
	Budget        any    // the plan's own budget as in the file; nil means none
}

// Note is a document for the planner.
type Note struct{ Title, Text string }
