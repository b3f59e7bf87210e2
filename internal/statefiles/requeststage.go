package statefiles

import (
	"encoding/json"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/textfmt"
)

// This file writes workflow-state.json before there is a run, while a request becomes a plan. It
// does not know the stages; the caller names them.

// RequestStage is the stage that a request has reached.
type RequestStage struct {
	Name             string // "intent", "shape" or "decompose"
	Request          string
	Plan             string // path of the plan it leads to
	Run              string // id of the request
	Origin           *event.Origin
	Started, Updated time.Time
	Seq              int64 // of the last event of the journal
	Spent            float64
}

// WriteRequestStage writes the file for a request; keys of other programs stay. The caller must hold the
// lock of dir. clean removes secrets; nil for none.
func WriteRequestStage(dir loop.Dir, clean func([]byte) []byte, s RequestStage) error {
	to := fileStore{dir: dir, redact: clean}
	return to.mergeFile(loop.WorkflowFile, func(old []byte) ([]byte, error) {
		w := workflow{Version: 1, Stage: s.Name, Task: s.Request, Started: s.Started.UTC(), Updated: s.Updated.UTC(),
			Recall: []string{},
			Wavex:  extension{Run: s.Run, Plan: s.Plan, Seq: s.Seq, Status: "planning", CostUSD: s.Spent, Tasks: []taskState{}}}
		if f := s.Origin; f != nil {
			w.SpecScore, w.FitScore, w.Recall = &f.SpecScore, &f.FitScore, append(w.Recall, f.Recall...)
			if f.Shape != "blocked" {
				w.Shape = &f.Shape
			}
		}
		ours, err := json.Marshal(w)
		if err != nil {
			return nil, err
		}
		return mergeShared(old, textfmt.JSON(ours), nil)
	})
}
