// Package event holds the decisions of a run and of a request, as they stand in the journal and in
// the NDJSON output: their types, their encoding and the JSON Schema of a line. The scheduler and
// internal/request make events; views read them. The package makes no decision and knows no state:
// an event carries the state that it leads to.
package event

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"wavex/budget"
)

// Event is one decision: a record of the journal and a line of the NDJSON output. It carries the
// next state, so that a replay does not depend on rules that may change.
type Event struct {
	Seq  int64     // position in the journal, from 1
	Time time.Time // UTC
	Body Body
}

// Body is the content of an event. The set of types is closed.
type Body interface {
	// Type returns the event's name in the journal and in the NDJSON output.
	Type() string
}

// bodies holds a value of each type of event.
var bodies = []Body{
	RunStarted{}, RunResumed{}, RunEnded{}, WaveStarted{}, Draining{}, Notice{}, RolledBack{}, Inspected{},
	AttemptStarted{}, AttemptAdopted{}, TurnEnded{}, AttemptEnded{}, CostCorrected{},
	CounselStarted{}, CounselEnded{}, CounselSkipped{}, PrecheckStarted{}, PrecheckEnded{},
	IntegrationStarted{}, IntegrationEnded{}, DeliveryStarted{}, DeliveryEnded{},
	CriteriaStarted{}, CriteriaEnded{}, ReviewStarted{}, ReviewEnded{}, ReviewSkipped{}, TasksAdded{},
	ItemsAdded{}, GateEnded{},
	Asked{}, Answered{},
	RequestOpened{}, CallStarted{}, CallEnded{}, StageEnded{},
}

// removed holds the names of types of events that only an older wavex makes.
var removed = []string{"spare_started", "spare_ended", "wave_warmed", "items_failed"}

// Removed is the record of an older wavex about work that this one does not do.
type Removed struct {
	Cost budget.USD `json:"cost,omitempty"` // micro-dollars of that work
}

func (Removed) Type() string { return "removed" }

// typesByName returns the Go type of each type of event, by its name.
var typesByName = sync.OnceValue(func() map[string]reflect.Type {
	types := make(map[string]reflect.Type, len(bodies))
	for _, b := range bodies {
		types[b.Type()] = reflect.TypeOf(b)
	}
	return types
})

// Version is the version of the event format, in the journal and on stdout.
const Version = 1

// MarshalJSON writes {"v","seq","time","type","data"}.
func (e Event) MarshalJSON() ([]byte, error) { return e.Encode() }

// Encode returns the same bytes as json.Marshal, in one pass: with MarshalJSON the encoder would
// validate the whole text a second time.
func (e Event) Encode() ([]byte, error) {
	return json.Marshal(struct {
		V    int       `json:"v"`
		Seq  int64     `json:"seq"`
		Time time.Time `json:"time"`
		Type string    `json:"type"`
		Data Body      `json:"data"`
	}{Version, e.Seq, e.Time, e.Body.Type(), e.Body})
}

// UnmarshalJSON reads the output of MarshalJSON. An unknown type or a newer version is an error: a
// journal that cannot be replayed whole must not be continued. The decoder has the rules of encoding/json, and takes
// half its time.
func (e *Event) UnmarshalJSON(b []byte) error {
	var v struct {
		V    int             `json:"v"`
		Seq  int64           `json:"seq"`
		Time time.Time       `json:"time"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := jsonv1.Unmarshal(b, &v); err != nil {
		return err
	}
	if v.V != Version {
		return fmt.Errorf("event version %d; this wavex reads version %d", v.V, Version)
	}
	typ, known := typesByName()[v.Type]
	if !known && slices.Contains(removed, v.Type) {
		typ, known = reflect.TypeOf(Removed{}), true
	}
	if !known {
		return fmt.Errorf("unknown event type %q", v.Type)
	}
	body := reflect.New(typ)
	if err := jsonv1.Unmarshal(v.Data, body.Interface()); err != nil {
		return fmt.Errorf("event %s: %w", v.Type, err)
	}
	e.Seq, e.Time, e.Body = v.Seq, v.Time, body.Elem().Interface().(Body)
	return nil
}

//go:embed events.schema.json
var schema []byte

// Schema returns the JSON Schema of one line of the NDJSON output.
func Schema() []byte { return slices.Clone(schema) }
