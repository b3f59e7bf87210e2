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

// reviews are the latest ones; they are encoded as one object, waves first.
type reviews []review

type review struct {
	name  string // "wave_2", "thorough"
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

// reviewsOf returns the latest reviews. It omits those without an answer, except the thorough one,
// which then has not passed.
func reviewsOf(s *scheduler.State) reviews {
	var out reviews
	for wave := 1; wave <= s.Waves && len(s.Reviews) > 0; wave++ {
		if r := s.Light(wave); r != nil && r.Review.Error == "" && r.Review.Nothing == "" {
			out = append(out, review{fmt.Sprintf("wave_%d", wave),
				lightReview{r.Review.Score, len(r.Review.Findings), r.Review.Count(counsel.Blocker)}})
		}
	}
	if r := s.Thorough(); r != nil {
		out = append(out, review{"thorough", thoroughReview{r.Passed, r.Blockers, r.Review.Score,
			len(r.Review.Findings), r.Round}})
	}
	return out
}

// MarshalJSON encodes the reviews as {"wave_1": …, "thorough": …}.
func (r reviews) MarshalJSON() ([]byte, error) {
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
