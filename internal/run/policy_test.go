package run

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
)

// An empty list denies nothing, also after a resume; a missing one has the default.
func TestPolicyIsRecorded(t *testing.T) {
	t.Parallel()
	for _, deny := range [][]string{nil, {}, {"curl"}} {
		data, err := json.Marshal(event.Config{Policy: event.Policy{Edits: "off", Deny: deny}})
		var got event.Config
		if err = errors.Join(err, json.Unmarshal(data, &got)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Policy.Deny, deny) || got.Policy.Edits != "off" {
			t.Errorf("%v becomes %+v", deny, got.Policy)
		}
	}
}

// The run's policy is for tasks whose plan has none, unless a flag overrides the plan.
func TestPolicyOfTasks(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	p := &plan.Plan{Defaults: plan.Settings{PolicyEdits: "off"}, Tasks: []plan.Task{
		{ID: "a", Settings: &plan.Settings{PolicyDeny: []string{}, PolicyRepeat: &two}}, {ID: "b"}}}
	p.Tasks[0].Settings.PolicyAsk = []string{"make"}
	given := event.Policy{Edits: "files", Deny: []string{"curl"}, Repeat: &one, Ask: []string{"curl"},
		AskTimeout: time.Minute}
	for _, c := range []struct {
		task  int
		force []string
		edits string
		deny  []string
		times int
	}{
		{0, nil, "off", nil, 2}, {1, nil, "off", []string{"curl"}, 1},
		{0, []string{"edits", "repeat"}, "files", nil, 1}, {0, []string{"deny", "ask"}, "off", []string{"curl"}, 2},
	} {
		r := &Session{config: event.Config{Policy: given}}
		r.config.Policy.Force = c.force
		s := r.settings(p, c.task)
		if s.PolicyEdits != c.edits || !slices.Equal(s.PolicyDeny, c.deny) || *s.PolicyRepeat != c.times {
			t.Errorf("task %d with %v: %+v", c.task, c.force, s)
		}
		asks := map[bool]string{true: "make", false: "curl"}[c.task == 0 && !slices.Contains(c.force, "ask")]
		if !slices.Equal(s.PolicyAsk, []string{asks}) || s.PolicyAskTimeout != time.Minute {
			t.Errorf("task %d with %v asks about %v for %s", c.task, c.force, s.PolicyAsk, s.PolicyAskTimeout)
		}
	}
}
