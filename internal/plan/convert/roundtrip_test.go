package convert

// This file checks that an exported plan is imported as the same work.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/plan"
)

type writer struct {
	name  string
	write func(*plan.Plan) ([]byte, []string)
}

func writers() []writer {
	return []writer{{"p.md", WritePhase}, {"p.json", WritePhaseDoc}}
}

// alike compares the work of two plans: ids, words, files, checks, waves, edges.
func alike(p, q *plan.Plan) error {
	if len(p.Tasks) != len(q.Tasks) || p.Name != q.Name || p.Request != q.Request || len(p.Criteria) != len(q.Criteria) {
		return fmt.Errorf("%d tasks of %q (%q), and %d of %q (%q)", len(p.Tasks), p.Name, p.Request, len(q.Tasks),
			q.Name, q.Request)
	}
	a, _, _ := figures(p)
	b, _, _ := figures(q)
	if a != b {
		return fmt.Errorf("waves %s, and %s", a, b)
	}
	for i := range p.Criteria {
		if p.Criteria[i].Text != q.Criteria[i].Text {
			return fmt.Errorf("criterion %q, and %q", p.Criteria[i].Text, q.Criteria[i].Text)
		}
	}
	for i := range p.Tasks {
		k, ok := q.Lookup(p.Tasks[i].ID)
		if !ok {
			return fmt.Errorf("task %s is lost", p.Tasks[i].ID)
		}
		x, y := p.Tasks[i], q.Tasks[k]
		show := func(t plan.Task, blockers []string) string {
			slices.Sort(blockers)
			out, _ := json.Marshal([]any{t.ID, t.Subject, t.Description, t.Files, t.Verify, t.Criteria, t.Metadata, blockers})
			return string(out)
		}
		if a, b := show(x, blockerIDs(p, i)), show(y, blockerIDs(q, k)); a != b {
			return fmt.Errorf("task %s\n%s\n%s", x.ID, a, b)
		}
	}
	return nil
}

func TestSamplesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		p, _ := parse(s.file, s.read(t), plan.Options{})
		for i := range p.Tasks { // markdown cannot represent them; see TestOmissions
			delete(p.Tasks[i].Metadata, "test_required")
			delete(p.Tasks[i].Metadata, "priority")
			if len(p.Tasks[i].Metadata) == 0 {
				p.Tasks[i].Metadata = nil
			}
		}
		for i := range p.Criteria {
			p.Criteria[i].Check = nil
		}
		for _, w := range writers() {
			out, lost := w.write(p)
			q, ds := parse(w.name, out, plan.Options{})
			if q == nil {
				t.Fatal(s.file, ds)
			}
			if err := alike(p, q); err != nil {
				t.Errorf("%s by %s: %v", s.file, w.name, err)
			}
			if len(lost) > 0 {
				t.Errorf("%s by %s: lost %v", s.file, w.name, lost)
			}
		}
	}
}

// The forms keep every text that a plan may contain.
func TestExportsImportTheSame(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`([A-Za-z0-9<>&"'#*/ .,:=!\[\]{}-]|\n  ?|é|</action>\n<done>|\n</task>\n|\n<task id="9">\n|` + "\n```\n" + `){1,40}`)
	line := rapid.StringMatching(`[A-Za-z0-9<>&"'#/.:=!-]([A-Za-z0-9<>&"'#/ .,:=!-]{0,20}[A-Za-z0-9<>&"'#/.:=!-])?`)
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	rapid.Check(t, func(t *rapid.T) {
		type object = map[string]any
		n := rapid.IntRange(1, 5).Draw(t, "tasks")
		var list []object
		for i := range n {
			task := object{"id": fmt.Sprintf("T-%d", i+1), "subject": squeeze(line.Draw(t, "subject")), "verify": []any{}}
			if d := dedent(text.Draw(t, "description")); strings.TrimSpace(d) != "" {
				task["description"] = d
			}
			var checks []any
			for range rapid.IntRange(0, 3).Draw(t, "checks") {
				switch words := squeeze(line.Draw(t, "check")); rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					checks = append(checks, object{"run": words})
				case 1:
					checks = append(checks, object{"file": "a/b c.md", "contains": words})
				case 2:
					checks = append(checks, object{"file": "x.go", "contains": words})
				default:
					checks = append(checks, object{"file": "dir/x.go"})
				}
			}
			if checks != nil {
				task["verify"] = checks
			}
			if rapid.Bool().Draw(t, "words") {
				task["criteria"] = []any{object{"text": squeeze(line.Draw(t, "criterion")), "verification": "observation"}}
			}
			if rapid.Bool().Draw(t, "files") {
				task["files"] = []any{object{"path": "src/x.go", "action": "create"}, "other.md"}
			}
			var blockers []any
			for b := range i {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					blockers = append(blockers, b+1)
				}
			}
			if blockers != nil {
				task["blockedBy"] = blockers
			}
			list = append(list, task)
		}
		data, err := json.Marshal(object{"tasks": list, "criteria": []string{"It works."}, "name": "Phase 2: Words",
			"waves": []any{object{"wave": 1, "parallel": rapid.Bool().Draw(t, "parallel")}}})
		if err != nil {
			t.Fatal(err)
		}
		p, ds := parse("p.json", data, plan.Options{})
		if p == nil {
			t.Fatal(ds)
		}
		for _, w := range writers() {
			out, lost := w.write(p)
			q, ds := parse(w.name, out, plan.Options{})
			if q == nil {
				t.Fatalf("%v\n%s", ds, out)
			}
			if err := alike(p, q); err != nil {
				t.Fatalf("%s: %v\n%s", w.name, err, out)
			}
			if len(lost) > 0 {
				t.Fatal(lost)
			}
		}
	})
}

func TestOmissions(t *testing.T) {
	t.Parallel()
	p := load(t, "../testdata/full.json")
	for _, w := range writers() {
		out, lost := w.write(p)
		if q, ds := parse(w.name, out, plan.Options{}); q == nil || len(q.Tasks) != len(p.Tasks) ||
			q.Graph.Edges() != p.Graph.Edges() {
			t.Errorf("%v", ds)
		}
		for _, want := range []string{"the budget", "parallel", "the eager schedule", "the defaults", "mustNot",
			"rehearse blocks", "checks and verifications of criteria",
			"that a task is a command (it became words)", "settings of tasks", "budgets of tasks", "estimates", "reversibility",
			"aspects", "active forms"} {
			if !slices.Contains(lost, want) {
				t.Errorf("%s: %q is dropped in silence", w.name, want)
			}
		}
	}
	q, _ := parse("p.json", []byte(tasks(ok)), plan.Options{})
	if _, lost := WritePhase(q); len(lost) > 0 {
		t.Errorf("nothing is lost, but %v", lost)
	}
	for name, want := range map[string][2]string{"Phase 2: X": {"2", "X"}, "Phase 2": {"2", ""}, "X": {"", "X"}} {
		if n, title := PhaseNumber(&plan.Plan{Name: name}); n != want[0] || title != want[1] {
			t.Errorf("%s: %q %q", name, n, title)
		}
	}
}
