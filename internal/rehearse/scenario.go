package rehearse

// This file reads scenario files, which give each task its outcome, and merges them over the plan's
// own blocks. The agent never sees a scenario, only the merged block.

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

//go:embed scenario.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of scenario files. A plan's rehearse blocks follow
// its "#/$defs/block".
func Schema() []byte { return slices.Clone(schema) }

// Scenario is a validated scenario file.
type Scenario struct {
	def, panel json.RawMessage
	tasks      map[string]json.RawMessage
	questions  map[string]json.RawMessage
}

// scenarioFile is the format. T is Block for validation and raw text for storage.
type scenarioFile[T any] struct {
	Schema    string       `json:"$schema,omitzero"`
	Note      string       `json:"note,omitzero"`
	Default   T            `json:"default,omitzero"`
	Tasks     map[string]T `json:"tasks,omitzero"`
	Panel     T            `json:"panel,omitzero"`
	Questions map[string]T `json:"questions,omitzero"`
}

// LoadScenario reads and validates a scenario file. A mistake in it is a *BlockError, whose text
// begins with file:line:column.
func LoadScenario(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the scenario: %w", err)
	}
	s, err := ParseScenario(text)
	if be := (*BlockError)(nil); errors.As(err, &be) {
		be.File = path
	}
	return s, err
}

// ParseScenario is like LoadScenario, for text in memory.
func ParseScenario(text []byte) (*Scenario, error) {
	if err := decode(text, &scenarioFile[*Block]{}); err != nil {
		return nil, err
	}
	var raw scenarioFile[json.RawMessage]
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, &BlockError{Line: 1, Column: 1, Msg: err.Error()}
	}
	return &Scenario{def: raw.Default, panel: raw.Panel, tasks: raw.Tasks, questions: raw.Questions}, nil
}

// Tasks returns the task ids in the scenario, sorted, so that a caller can report a mistyped one.
func (s *Scenario) Tasks() []string {
	return slices.Sorted(maps.Keys(s.tasks))
}

// Block returns the agent's block for a task: the plan's block, overlaid with the scenario's
// default and then with its entry for the task, key by key. A nil Scenario changes nothing.
func (s *Scenario) Block(task string, planBlock json.RawMessage) json.RawMessage {
	if s == nil {
		return planBlock
	}
	return Overlay(Overlay(planBlock, s.def), s.tasks[task])
}

// Panel returns the agent's block for a lean call: base, overlaid with the scenario's panel block
// and then with its entry for the question. A question is named "counsel/debugger" or
// "review/round-1/tester". The entry "counsel" applies to all that begin with "counsel/"; a longer
// matching entry takes precedence.
func (s *Scenario) Panel(question string, base json.RawMessage) json.RawMessage {
	if s == nil {
		return base
	}
	out := Overlay(base, s.panel)
	for i, r := range question + "/" {
		if r == '/' {
			out = Overlay(out, s.questions[question[:i]])
		}
	}
	return out
}

// Overlay overlays base with block. A key of block also replaces the same key in the attempts of
// base, which would hide it otherwise. It passes values that are not objects through, so that the
// agent refuses them.
func Overlay(base, block json.RawMessage) json.RawMessage {
	over, ok := object(block)
	if !ok || len(over) == 0 {
		return base
	}
	under, ok := object(base)
	if !ok {
		return base
	}
	var attempts []map[string]json.RawMessage
	if _, replaced := over["attempts"]; !replaced && json.Unmarshal(under["attempts"], &attempts) == nil {
		for _, a := range attempts {
			maps.DeleteFunc(a, func(k string, _ json.RawMessage) bool { _, hidden := over[k]; return hidden })
		}
		if raw, err := json.Marshal(attempts); err == nil && attempts != nil {
			under["attempts"] = raw
		}
	}
	if under == nil {
		under = map[string]json.RawMessage{}
	}
	maps.Copy(under, over)
	out, err := json.Marshal(under)
	if err != nil {
		return base
	}
	return out
}
