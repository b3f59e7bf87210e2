package statefiles

import (
	"encoding/json"
	"fmt"

	"wavex/counsel"
	"wavex/internal/jsonobject"
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
	Passed   bool    `json:"passed"`
	Blockers int     `json:"blockers_remaining"`
	Score    float64 `json:"score"`
	Issues   int     `json:"issues"`
	Round    int     `json:"round"`
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
		out = append(out, namedValue{"thorough", thoroughReview{r.Passed, r.Blockers, r.Review.Score,
			len(r.Review.Findings), r.Round}})
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
