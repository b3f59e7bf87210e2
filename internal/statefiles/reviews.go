package statefiles

import (
	"encoding/json"
	"fmt"

	"wavex/counsel"
	"wavex/internal/jsonobject"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file makes the reviews in workflow-state.json: a score for each wave, and whether the
// thorough review passed.

// namedValues are encoded as one object, in their order, which a map would not keep.
type namedValues []namedValue

type namedValue struct {
	name  string
	value any
}

type lightReview struct {
	Score    float64 `json:"score"` // 0 to 10
	Issues   int     `json:"issues"`
	Blockers int     `json:"blockers"` // unconfirmed ones, which stop nothing
}

type thoroughReview struct {
	Passed   bool     `json:"passed"`
	Blockers *int     `json:"blockers_remaining"` // null: there is no review
	Score    *float64 `json:"score"`              // null: there is no review, or it had nothing to look at
	Issues   *int     `json:"issues"`             // null: there is no review
	Round    int      `json:"round"`
	Error    string   `json:"error,omitempty"`   // why there is no review
	Nothing  string   `json:"nothing,omitempty"` // why there was nothing to review
}

// reviewsOf returns the latest reviews, named "wave_1" or "thorough". It omits those without an answer,
// except the thorough one, which then has not passed.
func reviewsOf(s *scheduler.State) namedValues {
	var out namedValues
	for wave := 1; wave <= s.Waves && len(s.Reviews) > 0; wave++ {
		if r := s.Light(wave); r != nil && r.Review.Error == "" && r.Review.Nothing == "" {
			out = append(out, namedValue{fmt.Sprintf("wave_%d", wave),
				lightReview{r.Review.Score, len(r.Review.Findings), r.Review.Count(counsel.Blocker)}})
		}
	}
	if r := s.Thorough(); r != nil {
		v := thoroughReview{Passed: r.Passed, Round: r.Round, Error: textfmt.Line(r.Review.Error),
			Nothing: textfmt.Line(r.Review.Nothing)}
		if v.Error == "" {
			issues := len(r.Review.Findings)
			v.Blockers, v.Issues = &r.Blockers, &issues
		}
		if v.Error == "" && v.Nothing == "" {
			v.Score = &r.Review.Score
		}
		out = append(out, namedValue{"thorough", v})
	}
	return out
}

// MarshalJSON encodes the values as {"NAME": VALUE, ...}.
func (r namedValues) MarshalJSON() ([]byte, error) {
	list := make(jsonobject.Object, len(r))
	for i, one := range r {
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		list[i] = jsonobject.Field{Name: one.name, Value: value}
	}
	return list.Value(), nil
}
