package statefiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// Before a run the file has the stage of the request and is valid; keys of other programs stay, and
// the scores of an earlier request do not.
func TestWriteRequestStage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, loop.WorkflowFile, `{"version":1,"spec_score":3,"shape_chosen":"tool","x-own":[1]}`)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := RequestStage{Name: "intent", Request: "add a flag", Plan: "/p/plan.json", Run: "r1", Started: at, Updated: at,
		Seq: 3, Spent: 0.5}
	for _, c := range []struct {
		stage  string
		scored *event.Origin
		wants  []string
	}{
		{"intent", nil, []string{`"spec_score": null`, `"shape_chosen": null`, `"x-own"`, `"stage": "intent"`,
			`"status": "planning"`}},
		{"shape", &event.Origin{SpecScore: 7, FitScore: 45, Shape: "tool", Recall: []string{"a"}},
			[]string{`"spec_score": 7`, `"shape_chosen": "tool"`, `"fit_score": 45`, `"a"`}},
		{"shape", &event.Origin{SpecScore: 2, FitScore: 10, Shape: "blocked"},
			[]string{`"spec_score": 2`, `"shape_chosen": null`}},
	} {
		s.Name, s.Origin = c.stage, c.scored
		testrepo.Must(t, WriteRequestStage(loop.Dir(dir), nil, s))
		text, err := os.ReadFile(filepath.Join(dir, loop.WorkflowFile))
		testrepo.Must(t, err)
		valid(t, jsonschematest.New(t, WorkflowSchema()), text)
		for _, w := range c.wants {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s lacks %s:\n%s", c.stage, w, text)
			}
		}
	}
}
