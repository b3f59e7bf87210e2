package decompose

// This file reads the findings of a critic, and keeps only those about this plan. It changes an
// answer only by adding edges.

import (
	"encoding/json"
	"fmt"
	"slices"

	"wavex/internal/plan"
	"wavex/internal/request/shape"
)

// edge is a missing blockedBy.
type edge struct {
	Task    string `json:"task"`
	Blocker string `json:"blockedBy"`
	Why     string `json:"why"`
}

type findings struct {
	edges    []edge
	feedback []string // for the planner
}

// CriticSchema is the JSON Schema of a critic's answer.
const CriticSchema = `{"type":"object","properties":{` +
	`"missingEdges":{"type":"array","items":{"type":"object","properties":{"task":{"type":"string"},"blockedBy":{"type":"string"},"why":{"type":"string"}},` +
	`"required":["task","blockedBy","why"],"additionalProperties":false}},` +
	`"passAlready":{"type":"array","items":{"type":"object","properties":{"task":{"type":"string"},"why":{"type":"string"}},` +
	`"required":["task","why"],"additionalProperties":false}},` +
	`"unserved":{"type":"array","items":{"type":"object","properties":{"criterion":{"type":"string"},"why":{"type":"string"}},` +
	`"required":["criterion","why"],"additionalProperties":false}}},` +
	`"required":["missingEdges","passAlready","unserved"],"additionalProperties":false}`

// maxFindings bounds the findings of each kind.
const maxFindings = 20

// parseFindings returns the findings about existing tasks and criteria. An unusable answer has no
// findings.
func parseFindings(answer json.RawMessage, d *draft, s shape.Shape) findings {
	var r struct {
		Edges    []edge `json:"missingEdges"`
		Pass     []edge `json:"passAlready"` // without a blocker
		Unserved []struct {
			Criterion string `json:"criterion"`
			Why       string `json:"why"`
		} `json:"unserved"`
	}
	var f findings
	if json.Unmarshal(answer, &r) != nil {
		return f
	}
	is := func(id string) bool {
		return slices.ContainsFunc(d.plan.Tasks, func(t plan.Task) bool { return t.ID == id })
	}
	for _, e := range r.Edges {
		if is(e.Task) && is(e.Blocker) && e.Task != e.Blocker && len(f.edges) < maxFindings {
			e.Why = cleanLine(e.Why, 200)
			f.edges = append(f.edges, e)
		}
	}
	for _, c := range r.Pass {
		if is(c.Task) && len(f.feedback) < maxFindings {
			f.feedback = append(f.feedback, fmt.Sprintf(
				"the checks of task %s may pass already: %s; check what the task changes",
				c.Task, cleanLine(c.Why, 300)))
		}
	}
	for _, c := range r.Unserved {
		known := slices.ContainsFunc(s.Criteria, func(it shape.Item) bool { return it.Text == c.Criterion })
		if known && len(f.feedback) < 2*maxFindings {
			f.feedback = append(f.feedback, fmt.Sprintf("no task serves the criterion %q: %s", c.Criterion,
				cleanLine(c.Why, 300)))
		}
	}
	return f
}

// addTo returns the answer with the edge; false if it already has the edge, or cannot have it.
func (e edge) addTo(answer json.RawMessage) (json.RawMessage, bool) {
	var r map[string]json.RawMessage
	var tasks []map[string]json.RawMessage
	if json.Unmarshal(answer, &r) != nil || json.Unmarshal(r["tasks"], &tasks) != nil {
		return nil, false
	}
	for _, t := range tasks {
		var id string
		var blockers []string
		if json.Unmarshal(t["id"], &id) != nil || id != e.Task {
			continue
		}
		if len(t["blockedBy"]) > 0 && json.Unmarshal(t["blockedBy"], &blockers) != nil ||
			slices.Contains(blockers, e.Blocker) {
			return nil, false
		}
		t["blockedBy"] = mustJSON(append(blockers, e.Blocker))
		r["tasks"] = mustJSON(tasks)
		return mustJSON(r), true
	}
	return nil, false
}

// mustJSON encodes v, which came from JSON or consists of strings and so cannot fail.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("decompose: %v", err))
	}
	return b
}
