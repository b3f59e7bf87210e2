//go:build unix

package e2e

// This file tests a run with reviews and real processes: a light review beside the second wave,
// criteria by a command and by a judge, a thorough review with one blocker that stands and one
// that does not, the task that mends it, and the gate.

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// answers returns an agent that gives one structured answer to every call of a kind.
func answers(name string, when fakeapi.Match, what func(*fakeapi.Request) map[string]any) *fakeapi.Agent {
	then := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		return fakeapi.Use(fakeapi.StructuredOutput(what(r))).WithUsage(use)
	})
	return &fakeapi.Agent{Name: name, When: when, Then: &then}
}

func system(words string) fakeapi.Match {
	return func(r *fakeapi.Request) bool { return strings.Contains(r.System(), words) }
}

func asks(words string) fakeapi.Match {
	return func(r *fakeapi.Request) bool { return strings.Contains(r.Users(), words) }
}

func TestReviewedToCompletion(t *testing.T) {
	t.Parallel()
	light, thorough := asks("review of one wave's changes"), asks("thorough review of a whole run")
	judge, refute := system("You judge whether statements"), system("Try to refute that")
	mended := system("Is it resolved?")
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		answers("judge", judge, func(*fakeapi.Request) map[string]any {
			return map[string]any{"rulings": []any{map[string]any{"id": "C-2", "verdict": "yes",
				"reason": "both files speak of them", "file": "f0.txt", "line": 1, "quote": "sheep"}}}
		}),
		answers("refuters", refute, func(r *fakeapi.Request) map[string]any {
			wolves := strings.Contains(r.Users(), "wolves are near")
			return map[string]any{"refuted": wolves, "reason": "looked at the files"}
		}),
		answers("mended", mended, func(*fakeapi.Request) map[string]any {
			return map[string]any{"refuted": true, "reason": "it has a name"}
		}),
		answers("light", light, func(*fakeapi.Request) map[string]any {
			return map[string]any{"score": 7, "findings": []any{map[string]any{"severity": "WARNING", "text": "short"}}}
		}),
		answers("thorough", thorough, func(r *fakeapi.Request) map[string]any {
			if strings.Contains(r.Users(), "named sheep") {
				return map[string]any{"score": 9, "findings": []any{}}
			}
			return map[string]any{"score": 4, "findings": []any{
				map[string]any{"severity": "BLOCKER", "file": "f0.txt", "line": 1, "text": "the flock has no name",
					"fix": "name it"},
				map[string]any{"severity": "BLOCKER", "file": "f1.txt", "line": 1, "text": "wolves are near"}}}
		}),
		author("T-001", "f0.txt", "sheep\n", "pwd", nil), author("T-002", "f1.txt", "sheep\n", "pwd", nil),
		{Name: "R-001", When: task("R-001"), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Read("f0.txt")).WithUsage(use),
			fakeapi.Use(fakeapi.Edit("f0.txt", "sheep", "named sheep")).WithUsage(use), report("true")}},
	}})
	r := newRepo(t, `-- plan.json --
{"name": "flock", "defaults": {"model": "`+model+`"}, "mustNot": ["never write of goats"],
 "criteria": [{"text": "no goats", "verify": "! grep goats *.txt"}, "the files are about sheep"],
 "tasks": [
  {"id": "T-001", "subject": "Write one", "files": ["f0.txt"], "verify": [{"file": "f0.txt", "contains": "sheep"}]},
  {"id": "T-002", "subject": "Write the other", "blockedBy": ["T-001"], "files": ["f1.txt"], "verify": [{"file": "f1.txt", "contains": "sheep"}]}]}
`)
	e := r.wavex(srv, "run", "plan.json", "--review", "auto").end()
	journal, err := os.ReadFile(loop.In(r.dir).Path(loop.Journal))
	testrepo.Must(t, err)
	events, last, err := readEvents(string(journal))
	if err != nil {
		t.Fatalf("%v\n%s", err, e.stderr)
	}
	if e.exit != 0 || last.Status != "complete" || last.Tasks.Completed != 3 || last.Iterations != 3 {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	if !strings.Contains(e.stdout, "---END_STATUS---\n<loop-complete>\nAll tasks verified:\n") ||
		!strings.Contains(e.stdout, "- R-001: ✓") || !strings.HasSuffix(strings.TrimSpace(e.stdout), "</loop-complete>") {
		t.Errorf("stdout: %s", e.stdout)
	}
	var story []string
	for _, ev := range events {
		switch ev.Type {
		case "review_ended":
			story = append(story, reviewed(t, ev.Data))
		case "tasks_added":
			var d struct{ Tasks []struct{ ID string } }
			if err := json.Unmarshal(ev.Data, &d); err != nil || len(d.Tasks) != 1 {
				t.Fatalf("%v: %s", err, ev.Data)
			}
			story = append(story, "added "+d.Tasks[0].ID)
		case "gate_ended":
			if strings.Contains(string(ev.Data), `"exit_signal":true`) {
				story = append(story, "gate")
			}
		}
	}
	if got, want := strings.Join(story, ", "),
		"light, thorough confirmed f0.txt refuted f1.txt, added R-001, thorough refuted f0.txt, gate"; got != want {
		t.Errorf("what happened: %s\nwant: %s", got, want)
	}
	for _, m := range []struct {
		name string
		of   fakeapi.Match
		n    int
	}{{"light", light, 2}, {"thorough", thorough, 6}, {"refute", refute, 2}, {"mended", mended, 1}, {"judge", judge, 2}} {
		if got := len(srv.Messages(m.of)); got != m.n {
			t.Errorf("%d calls for %s, want %d", got, m.name, m.n)
		}
	}
	if got := srv.Messages(task("R-001"))[0].Users(); !strings.Contains(got, "the flock has no name") ||
		!strings.Contains(got, "never write of goats") {
		t.Error("the task that mends is not told what, or what must not happen")
	}
	if got := budget.FromFloat(last.CostUSD); got != srv.Charged() {
		t.Errorf("cost %d, the API charged %d", got, srv.Charged())
	}
}

// reviewed returns a review in words: its mode, and the fate of its blockers.
func reviewed(t *testing.T, data []byte) string {
	t.Helper()
	var d struct {
		Mode   string
		Review struct {
			Findings []struct {
				File, Refuted string
				Confirmed     bool
			}
		}
	}
	testrepo.Must(t, json.Unmarshal(data, &d))
	l := d.Mode
	for _, f := range d.Review.Findings {
		switch {
		case f.Confirmed:
			l += " confirmed " + f.File
		case f.Refuted != "":
			l += " refuted " + f.File
		}
	}
	return l
}
