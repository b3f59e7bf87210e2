// This file defines the form of an opinion on the wire: its schema, and the reading of a model's
// answer, which is untrusted.

package counsel

import (
	"errors"
	"fmt"
	"math"

	"wavex/runner"
)

// OpinionSchema is the JSON Schema of an expert's answer. It is small because every call pays for
// it. Reading bounds the lengths instead.
const OpinionSchema = `{"type":"object","properties":{` +
	`"diagnosis":{"type":"string"},` +
	`"cause":{"type":"string"},` +
	`"approach":{"type":"string"},` +
	`"confidence":{"type":"number","minimum":0,"maximum":1},` +
	`"falsifier":{"type":"string"},` +
	`"action":{"enum":["retry","amend","split","abandon"]}},` +
	`"required":["diagnosis","cause","approach","confidence","falsifier","action"],` +
	`"additionalProperties":false}`

// maxText bounds each text of an opinion, in bytes, because it goes into a prompt and into the
// journal.
const maxText = 1200

// reply is an answer that follows OpinionSchema. Pointers distinguish absent values from empty
// ones.
type reply struct {
	Diagnosis  *string  `json:"diagnosis"`
	Cause      *string  `json:"cause"`
	Approach   *string  `json:"approach"`
	Confidence *float64 `json:"confidence"`
	Falsifier  *string  `json:"falsifier"`
	Action     *Action  `json:"action"`
}

// parseOpinion converts an answer into an opinion. The opinion is unavailable, with its reason, if the
// call failed or the answer is nonsense. The cost counts either way.
func parseOpinion(expert string, a runner.Answer) Opinion {
	r, why := decode[reply](a)
	o := Opinion{Expert: expert}
	if why == "" {
		if err := o.fill(r); err != nil {
			o, why = Opinion{Expert: expert}, unusable(err.Error())
		}
	}
	o.Cost, o.Unavailable = a.Cost, why
	return o
}

// fill fills the opinion. Its errors never quote the answer, because the answer is untrusted and
// errors are displayed.
func (o *Opinion) fill(r reply) error {
	switch {
	case r.Confidence == nil:
		return errors.New("it has no confidence")
	case math.IsNaN(*r.Confidence) || *r.Confidence < 0 || *r.Confidence > 1:
		return fmt.Errorf("its confidence %v is not between 0 and 1", *r.Confidence)
	case r.Action == nil || r.Action.rank() < 0:
		return errors.New("its action is none of retry, amend, split, abandon")
	}
	for _, f := range []struct {
		name string
		from *string
		to   *string
		need bool
	}{
		{"diagnosis", r.Diagnosis, &o.Diagnosis, true},
		{"cause", r.Cause, &o.Cause, false},
		{"approach", r.Approach, &o.Approach, true},
		{"falsifier", r.Falsifier, &o.Falsifier, false},
	} {
		if f.from != nil {
			*f.to = boundedText(*f.from)
		}
		if f.need && *f.to == "" {
			return fmt.Errorf("its %s is empty", f.name)
		}
	}
	o.Confidence, o.Action = *r.Confidence, *r.Action
	return nil
}
