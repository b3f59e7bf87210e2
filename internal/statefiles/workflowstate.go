package statefiles

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/jsonobject"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file writes workflow-state.json, with a score for each wave, and whether the thorough review passed.

//go:embed workflow-state.schema.json
var workflowSchema []byte

// WorkflowSchema returns the JSON Schema (2020-12) of workflow-state.json.
func WorkflowSchema() []byte { return slices.Clone(workflowSchema) }

// workflow is the content of the file. All keys but wavex are those that other programs expect.
type workflow struct {
	Version   int         `json:"version"`
	Stage     string      `json:"stage"`
	Task      string      `json:"task"`
	SpecScore *int        `json:"spec_score"`   // null: the request was not scored
	FitScore  *int        `json:"fit_score"`    // null: not scored
	Shape     *string     `json:"shape_chosen"` // null: not scored
	Started   time.Time   `json:"started_at"`
	Updated   time.Time   `json:"last_updated"` // time of the last event
	Recall    []string    `json:"recall_surfaced"`
	Reviews   namedValues `json:"reviews"`
	Wavex     extension   `json:"wavex"`
}

// extension has the data that only wavex knows. Dollars are decimal.
type extension struct {
	Run           string          `json:"run"`
	Plan          string          `json:"plan"`
	Name          string          `json:"name,omitempty"`
	Seq           int64           `json:"seq"` // of the last event of the journal
	Status        event.RunStatus `json:"status"`
	ExitCode      *event.ExitCode `json:"exit_code,omitempty"`
	ExitSignal    bool            `json:"exit_signal"`
	Reason        string          `json:"reason,omitempty"`
	Breaker       event.Breaker   `json:"breaker,omitempty"`
	Limit         string          `json:"limit,omitempty"`
	Resume        string          `json:"resume,omitempty"`
	ResumeAt      time.Time       `json:"resume_at,omitzero"`
	Wave          int             `json:"wave"`
	Waves         int             `json:"waves"`
	Iteration     int             `json:"iteration"`
	MaxIterations *int            `json:"max_iterations"` // null: no limit
	CostUSD       float64         `json:"cost_usd"`
	BudgetUSD     *float64        `json:"budget_usd"` // null: no limit
	Notional      bool            `json:"notional,omitempty"`
	Counts        event.Counts    `json:"counts"`
	Tasks         []taskState     `json:"tasks"`
}

type taskState struct {
	ID        string       `json:"id"`
	Status    event.Status `json:"status"`
	Wave      int          `json:"wave"`
	Attempts  int          `json:"attempts"`
	Stuck     int          `json:"stuck_count"`
	Panels    int          `json:"panels"`
	BlockedBy []string     `json:"blocked_by,omitempty"` // blockers that are not completed
}

func (b *model) mergeWorkflow(old []byte) ([]byte, error) {
	w := workflow{Version: 1, Stage: b.Stage, Task: b.goal(), Started: b.Started.UTC(), Updated: b.at, Recall: []string{},
		Reviews: b.reviews,
		Wavex: extension{Run: b.config.Run, Plan: b.path, Name: b.plan.Name, Seq: b.seq, Status: event.RunRunning,
			ExitSignal: b.exitSignal, Wave: b.Wave, Waves: b.Waves, Iteration: b.Iterations, CostUSD: b.Cost.Float(),
			Notional: b.Notional, Counts: b.counts, Tasks: make([]taskState, len(b.tasks))}}
	if f := b.origin; f != nil {
		w.SpecScore, w.FitScore = &f.SpecScore, &f.FitScore
		w.Shape = &f.Shape
		w.Recall = append(w.Recall, f.Recall...)
	}
	x := &w.Wavex
	if !b.Limits.NoIterations {
		x.MaxIterations = &b.Limits.Iterations
	}
	if !b.Limits.NoUSD {
		usd := b.Limits.USD.Float()
		x.BudgetUSD = &usd
	}
	if st := b.stop; st != nil {
		x.Reason, x.Breaker = st.Reason, st.Breaker
		x.Limit, x.ResumeAt = st.Limit, st.ResumeAt
	}
	if e := b.ended; e != nil {
		x.Status, x.ExitCode, x.Reason = e.Status, &e.ExitCode, e.Reason
		x.Resume, x.ResumeAt = e.Resume, e.ResumeAt
	}
	for i := range b.tasks {
		t := &b.tasks[i]
		x.Tasks[i] = taskState{b.plan.Tasks[i].ID, t.Status, t.Wave, t.Attempts, t.Stuck, t.Panels, b.openBlockers(i)}
	}
	ours, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return mergeShared(old, textfmt.JSON(ours), scoreKeys)
}

// scoreKeys has the keys that other programs may have filled: a run without a request has no scores,
// and an existing score is never replaced.
var scoreKeys = openKeys{
	"spec_score":      decodesAs[float64],
	"fit_score":       decodesAs[float64],
	"shape_chosen":    isShapeName,
	"recall_surfaced": decodesAs[[]string],
}

func decodesAs[T any](v json.RawMessage) bool {
	var value T
	return json.Unmarshal(v, &value) == nil
}

func isShapeName(v json.RawMessage) bool {
	var s string
	return json.Unmarshal(v, &s) == nil && slices.Contains([]string{"colleague", "tool-review",
		"tool-with-review", "tool"}, s)
}

// openBlockers returns the blockers of a waiting task that are not completed.
func (b *model) openBlockers(i int) (ids []string) {
	if status := b.tasks[i].Status; status != event.Pending && status != event.Blocked {
		return nil
	}
	for _, j := range b.plan.Graph.Blockers(i) {
		if b.tasks[j].Status != event.Completed {
			ids = append(ids, report.DisplayID(b.plan.Tasks[j].ID))
		}
	}
	return ids
}

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
	for wave := 1; wave <= s.Waves && len(s.Assessment.Reviews) > 0; wave++ {
		if r := s.Assessment.Light(wave); r != nil && r.Review.Error == "" && r.Review.Nothing == "" {
			out = append(out, namedValue{fmt.Sprintf("wave_%d", wave),
				lightReview{r.Review.Score, len(r.Review.Findings), r.Review.Count(counsel.Blocker)}})
		}
	}
	if r := s.Assessment.Thorough(); r != nil {
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
