package request

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

const precise = "Add a function Sum(a, b int) int to sum.go of this Go module, with a table test in sum_test.go; only these two files, no new dependencies; done when go test ./... passes."

// asked returns the options of a new request that is scored without a model, so no agent is called.
func asked(dir, text string) (o Options, said *[]string, told *[]event.Event) {
	said, told = new([]string), new([]event.Event)
	id := runlog.NewID(time.Now()) // processes with the mark of this request are ended
	return Options{Dir: dir, Loop: loop.In(dir), ID: id, New: true, Text: text,
		Agent: agent.Agent{Name: agent.Rehearsal},
		Config: event.RequestConfig{Agent: agent.Rehearsal, Plan: filepath.Join(dir, "plan.json"), Offline: true,
			Limits: budget.Limits{NoUSD: true, NoIterations: true}},
		Redactor: secret.New([]string{"API_KEY=a-very-secret-value-5"}),
		Notify:   func(text string) { *said = append(*said, text) },
		View:     func(e event.Event) { *told = append(*told, e) }}, said, told
}

// A request is on record from the start, without secrets. Each event is shown after it was
// recorded, with its own number, the file has the stage, and a second session continues the
// request.
func TestDriver(t *testing.T) {
	dir := t.TempDir()
	o, said, told := asked(dir, precise+" The key is a-very-secret-value-5.")
	r, err := Open(o)
	testrepo.Must(t, err)
	defer r.Close()
	var held *journal.LockedError
	if _, err := Open(o); !errors.As(err, &held) || held.Holder.Run != o.ID {
		t.Errorf("two at once: %v", err)
	}
	res, err := r.Run(t.Context())
	if err != nil || res.Plan.File != nil || !strings.HasPrefix(res.Origin.Request, "Add a function") || r.Spent() != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	r.Close()
	r.Close()
	events, err := runlog.Read(o.Loop)
	if err != nil || len(events) < 2 || len(events) != len(*told) {
		t.Fatalf("%d events on record, %d told, %v", len(events), len(*told), err)
	}
	for i, e := range events {
		if shown := (*told)[i]; shown.Seq != e.Seq || shown.Body.Type() != e.Body.Type() {
			t.Errorf("on record is %d %s, told %d %s", e.Seq, e.Body.Type(), shown.Seq, shown.Body.Type())
		}
	}
	all := fmt.Sprint(*told, *said)
	testrepo.Must(t, filepath.WalkDir(string(o.Loop), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, rerr := os.ReadFile(path)
			all, err = all+string(text), rerr
		}
		return err
	}))
	if strings.Contains(all, "very-secret") || !strings.Contains(all, "[redacted: API_KEY]") || len(*said) == 0 {
		t.Errorf("%s", all)
	}
	if text, err := os.ReadFile(o.Loop.Path("workflow-state.json")); err != nil ||
		!strings.Contains(string(text), "Add a function") {
		t.Errorf("%s, %v", text, err)
	}
	o.New, o.JournalLen, *told = false, len(events), nil
	again, err := Open(o)
	testrepo.Must(t, err)
	defer again.Close()
	if res, err := again.Run(t.Context()); err != nil || !strings.HasPrefix(res.Origin.Request, "Add a function") {
		t.Errorf("%+v, %v", res, err)
	}
	if now, err := runlog.Read(o.Loop); err != nil || len(now) != len(events) || len(*told) != 0 {
		t.Errorf("going on added %d events, told %d, %v", len(now)-len(events), len(*told), err)
	}
}

// A vague request is refused with the missing dimensions, unless it is forced.
func TestVague(t *testing.T) {
	dir := t.TempDir()
	o, _, _ := asked(dir, "make it better")
	r, err := Open(o)
	testrepo.Must(t, err)
	var vague *NotReadyError
	if _, err := r.Run(t.Context()); !errors.As(err, &vague) {
		t.Errorf("%v", err)
	}
	r.Close()
	events, err := runlog.Read(o.Loop)
	testrepo.Must(t, err)
	o.New, o.JournalLen, o.Force = false, len(events), true
	r, err = Open(o)
	testrepo.Must(t, err)
	defer r.Close()
	if res, err := r.Run(t.Context()); err != nil || res.Origin.Request != "make it better" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A request that cannot be opened holds no resource and is not on record; a file that cannot be
// written is reported, and stops nothing.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	o, said, _ := asked(dir, precise)
	o.JournalLen = 4
	var blocked *usererr.BlockedError
	if r, err := Open(o); r != nil || !errors.As(err, &blocked) {
		t.Errorf("others were here: %v, %v", r, err)
	}
	if events, err := runlog.Read(o.Loop); err != nil || len(events) != 0 || journal.Locked(o.Loop) {
		t.Errorf("%v, %v, held %v", events, err, journal.Locked(o.Loop))
	}
	o.JournalLen = 0
	testrepo.Files{".loop/workflow-state.json/x": ""}.Write(t, dir)
	r, err := Open(o)
	testrepo.Must(t, err)
	defer r.Close()
	if _, err := r.Run(t.Context()); err != nil || !strings.Contains(strings.Join(*said, "\n"), "warning: ") {
		t.Errorf("%v; it says %q", err, *said)
	}
}

// The plan has the budget that was given for the request, and no other.
func TestPlanBudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given  bool
		limits budget.Limits
		want   string
	}{
		"none given": {false, budget.Limits{USD: 3 * budget.Dollar}, "<nil>"},
		"given":      {true, budget.Limits{USD: 3 * budget.Dollar}, "map[usd:3]"},
		"no limit":   {true, budget.Limits{NoUSD: true}, "map[usd:none]"},
	} {
		o, _, _ := asked(t.TempDir(), precise)
		o.BudgetGiven, o.Config.Limits = c.given, c.limits
		if got := fmt.Sprint(newMachine(o, nil, nil).PlanBudget); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
