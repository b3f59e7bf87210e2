package loopdir

import (
	"encoding/json"
	"time"

	"wavex/internal/ui/safe"
	"wavex/scheduler"
)

// This file writes workflow-state.json before there is a run: while a request is on its
// way to a plan (LEDGER S0-41, S0-42). It knows no stages, only what is told.

// Stage is where a request stands.
type Stage struct {
	Name             string // "intent", "shape" or "decompose"
	Request          string
	Plan             string // path of the plan it leads to
	Run              string // id of the request
	Scored           *scheduler.Origin
	Started, Updated time.Time
	Seq              int64 // of the last event of the journal
	Spent            float64
}

// WriteStage writes the file anew for a request; keys of others stay. The caller holds
// the lock of dir. clean takes secrets out; nil for none.
func WriteStage(dir string, clean func([]byte) []byte, s Stage) error {
	return store{dir: dir, clean: clean}.replace(WorkflowFile, func(old []byte) (text, rest []byte, err error) {
		w := workflow{Version: 1, Stage: s.Name, Task: s.Request, Started: s.Started.UTC(), Updated: s.Updated.UTC(), Recall: []string{},
			Wavex: extension{Run: s.Run, Plan: s.Plan, Seq: s.Seq, Status: "planning", CostUSD: s.Spent, Tasks: []taskState{}}}
		if f := s.Scored; f != nil {
			w.SpecScore, w.FitScore, w.Recall = &f.SpecScore, &f.FitScore, append(w.Recall, f.Recall...)
			if f.Shape != "blocked" {
				w.Shape = &f.Shape
			}
		}
		ours, err := json.Marshal(w)
		if err != nil {
			return nil, nil, err
		}
		return lay(old, safe.JSON(ours), nil)
	})
}
