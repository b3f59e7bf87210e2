package scheduler

import (
	"reflect"
	"testing"

	"wavex/internal/event"
)

// Edited lists exactly the tasks that an edit affects.
func TestComparePlans(t *testing.T) {
	t.Parallel()
	const before = `{"tasks":[{"id":"a","command":"true"},{"id":"b","command":"true","blockedBy":"a"},{"id":"c","command":"true","blockedBy":"b"}]}`
	for name, c := range map[string]struct {
		now  string
		want *event.Edit
	}{
		"the same":      {before, nil},
		"only the form": {" " + before, &event.Edit{}},
		"a limit":       {`{"tasks":[{"id":"a","command":"true","timeout":"1m"},{"id":"b","command":"true","blockedBy":"a"},{"id":"c","command":"true","blockedBy":"b"}]}`, &event.Edit{}},
		"the first":     {`{"tasks":[{"id":"a","command":"false"},{"id":"b","command":"true","blockedBy":"a"},{"id":"c","command":"true","blockedBy":"b"}]}`, &event.Edit{Rerun: []string{"a", "b"}, Changed: []string{"c"}}},
		"the last":      {`{"tasks":[{"id":"a","command":"true"},{"id":"b","command":"true","blockedBy":"a"},{"id":"c","command":"false","blockedBy":"b"}]}`, &event.Edit{Changed: []string{"c"}}},
		"an edge":       {`{"tasks":[{"id":"a","command":"true"},{"id":"b","command":"true"},{"id":"c","command":"true","blockedBy":"b"}]}`, &event.Edit{Rerun: []string{"b"}, Changed: []string{"c"}}},
		"another id":    {`{"tasks":[{"id":"a","command":"true"},{"id":"b","command":"true","blockedBy":"a"},{"id":"d","command":"true","blockedBy":"b"}]}`, &event.Edit{Added: []string{"d"}, Dropped: []string{"c"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := []event.Event{{Seq: 1, Body: event.RunStarted{}}}
			was, now := replayed(t, mustPlan(t, before), begun), replayed(t, mustPlan(t, c.now), begun)
			for _, id := range []string{"a", "b"} {
				i, _ := was.Index(id)
				was.move(i, event.Completed)
				if was.Tasks[i].Key == now.Tasks[i].Key {
					now.move(i, event.Completed)
				}
			}
			if got := ComparePlans(was, now); !reflect.DeepEqual(got, c.want) {
				t.Errorf("edited: %+v, want %+v", got, c.want)
			}
		})
	}
}
