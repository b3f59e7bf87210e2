package scheduler

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

// usersPlans are the plans of testdata/journals, by the name of the journal.
func usersPlans(t *testing.T) map[string]*plan.Plan {
	const output = `"output":{"type":"object"}`
	return map[string]*plan.Plan{
		"resumed": mustPlan(t, planText(
			`{"id":"g","command":"one",`+output+`,"foreach":{"items":["a","b"],"allowFailures":1}}`,
			`{"id":"d","command":"cat ${tasks.g.outputs}",`+output+`}`, `{"id":"e","command":"echo ${tasks.d.output | json}"}`,
			`{"id":"f","command":"two","blockedBy":["g"]}`, `{"id":"late","command":"three"}`)),
		"integrated": mustPlan(t, planText(`{"id":"T-001","subject":"A","verify":["look a"],`+output+`}`, task("slow"),
			`{"id":"u","subject":"U","verify":["look u"],"prompt":"${tasks.1.output.n}",`+output+`}`,
			`{"id":"v","command":"echo ${tasks.u.output.n}"}`, task("w", "T-001"))),
	}
}

// A replay reopens the users of an output that the record names, and no others.
func TestUsersOnRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		journal string
		users   []string
		want    string
	}{
		{"resumed", []string{}, "[g[a] late]"},
		{"resumed", []string{"f", "gone", "late"}, "[g[a] f late]"},
		{"integrated", []string{}, "[T-001]"},
		{"integrated", []string{"w"}, "[T-001 w]"},
	} {
		events := readJournal(t, c.journal)
		switch b := events[len(events)-1].Body.(type) {
		case event.RunResumed:
			b.Users, b.Retried = c.users, []string{"g[a]", "late"}
			events[len(events)-1].Body = b
		case event.IntegrationEnded:
			b.Users = c.users
			events[len(events)-1].Body = b
		}
		s := replayed(t, usersPlans(t)[c.journal], events)
		pending := []string{}
		for i := range s.Tasks {
			if s.Tasks[i].Status == event.Pending {
				pending = append(pending, s.Plan.Tasks[i].ID)
			}
		}
		if got := fmt.Sprint(pending); got != c.want {
			t.Errorf("%s with users %q: %s are pending, want %s", c.journal, c.users, got, c.want)
		}
	}
}

// readJournal returns the events of a journal of testdata.
func readJournal(t *testing.T, name string) (events []event.Event) {
	f, err := os.Open(filepath.Join("testdata", "journals", name+".jsonl"))
	testrepo.Must(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e event.Event
		testrepo.Must(t, json.Unmarshal(lines.Bytes(), &e))
		events = append(events, e)
	}
	return events
}

// mustRecordUsers fails unless the events of a journal record the users of outputs, altogether those in want.
func mustRecordUsers(t *testing.T, j *memJournal, want ...string) {
	t.Helper()
	var all []string
	for _, e := range j.events {
		var users []string
		switch b := e.Body.(type) {
		case event.RunResumed:
			users = b.Users
		case event.IntegrationEnded:
			if len(b.Reopened) == 0 {
				continue
			}
			users = b.Users
		default:
			continue
		}
		if all = append(all, users...); users == nil {
			t.Errorf("record %d has no users: %+v", e.Seq, e.Body)
		}
	}
	if !slices.Equal(all, want) {
		t.Errorf("the users on record are %v, want %v", all, want)
	}
}
