package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
)

// readForms lists the forms that testdata/forms holds plans of, and that are read as their authors mean them.
var readForms = []string{"beads", "checklist", "github", "gsd", "kiro", "openspec", "speckit", "taskmaster"}

// expected is a person's reading of a plan, written before the code. testdata/forms/README.md describes the fields.
type expected struct {
	Form     string
	Tasks    []expectedTask
	Cycle    []string
	Groups   []expectedTask
	May      []expectedTask
	Outside  []string
	Choice   any                 // several tags: the tasks of master are read
	Criteria []string            `json:"plan_criteria"`
	More     map[string][]string `json:"also_after"`
}

type expectedTask struct {
	Key       string
	Subject   string `json:"subject_contains"`
	After     []string
	Checks    []string
	MayChecks []string `json:"may_checks"`
	Criteria  json.RawMessage
	Gate      bool
	Done      bool
	Status    string
	Subtasks  []expectedTask
}

// TestForms compares imported plans with a person's reading: each task that is to run, its order, its checks and
// gates, and nothing more.
func TestForms(t *testing.T) {
	t.Parallel()
	dirs := []string{filepath.Join("testdata", "forms")}
	if dir := os.Getenv("WAVEX_FORMS"); dir != "" { // plans of other people, which are not kept here
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.expect.json"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no plans in %s: %v", dir, err)
		}
		for _, name := range names {
			var want expected
			data, err := os.ReadFile(name)
			if err == nil {
				err = json.Unmarshal(data, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(readForms, want.Form) {
				t.Run(filepath.Base(strings.TrimSuffix(name, ".expect.json")), func(t *testing.T) {
					t.Parallel()
					compareForm(t, strings.TrimSuffix(name, ".expect.json"), want)
				})
			}
		}
	}
}

// compareForm imports the plan that a reading is of.
func compareForm(t *testing.T, stem string, want expected) {
	t.Helper()
	found, err := filepath.Glob(stem + ".[jm]*[^t].json*")
	if err != nil || len(found) == 0 {
		for _, ext := range []string{".md", ".json", ".jsonl"} {
			if _, err := os.Stat(stem + ext); err == nil {
				found = []string{stem + ext}
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no plan beside %s.expect.json", stem)
	}
	p, said := importForm(t, found[0], want.Form)
	if want.Choice != nil {
		want.chooseMaster()
	}
	if !slices.ContainsFunc(want.Tasks, func(w expectedTask) bool { return !w.Done }) {
		if p != nil || !strings.Contains(said, plan.CodeEmptyPlan) && !strings.Contains(said, "has no open issue") {
			t.Errorf("all tasks are done, but it says\n%s", said)
		}
		return
	}
	if len(want.Cycle) > 0 {
		for _, key := range want.Cycle {
			if !strings.Contains(said, key) {
				t.Errorf("the cycle of %v is not named:\n%s", want.Cycle, said)
			}
		}
		return
	}
	if p == nil && want.refused(said) {
		return
	}
	if p == nil {
		t.Fatalf("not imported:\n%s", said)
	}
	for _, key := range want.Outside {
		if !strings.Contains(said, key) {
			t.Errorf("%s, which is not in the file, is not named:\n%s", key, said)
		}
	}
	all := want.conditions(p)
	for _, text := range want.Criteria {
		if !strings.Contains(all, text) {
			t.Errorf("the plan lacks the criterion %q", text)
		}
	}
	want.compare(t, p, said)
}

// refused reports whether it is right that a file makes no plan: no task is left to run, and each look by a person is
// named.
func (want expected) refused(said string) bool {
	open := func(w expectedTask) bool {
		return !w.Done && !(w.Gate && strings.Contains(plainText(said), plainText(w.Subject)))
	}
	return strings.Contains(said, "["+plan.CodeEmptyPlan+"]") && !slices.ContainsFunc(want.Tasks, open)
}

// importForm returns the plan of a file and all that the import says; nil if it is refused.
func importForm(t *testing.T, path, form string) (p *plan.Plan, said string) {
	t.Helper()
	if form != "github" {
		p, ds, err := Load(path, plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p, strings.Join(plan.Lines(ds), "\n")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if data[0] == '[' { // a plain list, without links
		data = fmt.Appendf(nil, `{"data": {"repository": {"nameWithOwner": "octo/s", "issues": {"nodes": %s}}}}`, data)
	}
	var head struct {
		Data struct {
			Repository struct{ NameWithOwner string }
		}
	}
	if err := json.Unmarshal(data, &head); err != nil {
		t.Fatal(err)
	}
	owner, name, _ := strings.Cut(head.Data.Repository.NameWithOwner, "/")
	out, warnings, err := IssueSource{Owner: owner, Name: name}.Plan(context.Background(),
		func(context.Context, string, map[string]string) (io.Reader, error) { return bytes.NewReader(data), nil })
	if err != nil {
		return nil, err.Error()
	}
	p, ds := plan.Parse(path, out, plan.Options{})
	return p, strings.Join(append(warnings, plan.Lines(ds)...), "\n")
}

// chooseMaster drops the tasks of other tags than master, and the tag in the keys.
func (want *expected) chooseMaster() {
	want.Tasks = slices.DeleteFunc(want.Tasks, func(w expectedTask) bool { return !strings.HasPrefix(w.Key, "master:") })
	for i := range want.Tasks {
		w := &want.Tasks[i]
		w.Key = strings.TrimPrefix(w.Key, "master:")
		for k := range w.After {
			w.After[k] = strings.TrimPrefix(w.After[k], "master:")
		}
	}
}

func (want expected) conditions(p *plan.Plan) string {
	var b strings.Builder
	for _, c := range p.Criteria {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// compare matches the tasks that are to run, by their subjects and the order of the file, and then the parts of each.
func (want expected) compare(t *testing.T, p *plan.Plan, said string) {
	t.Helper()
	of := map[string]int{} // index of the plan's task by key
	taken := map[int]bool{}
	open := 0
	for i, w := range want.Tasks {
		if w.Done {
			continue
		}
		for _, look := range want.Tasks[i+1:] { // its command is a check of the task before it
			if !look.Gate {
				break
			}
			w.MayChecks = append(w.MayChecks, look.MayChecks...)
		}
		if w.Gate {
			want.compareGate(t, p, w)
			continue
		}
		open++
		i := slices.IndexFunc(p.Tasks, func(task plan.Task) bool {
			i, _ := p.Lookup(task.ID)
			text := task.Subject + "\n" + task.Description
			return !taken[i] && strings.Contains(plainText(text), plainText(w.Subject))
		})
		named := strings.Contains(plainText(said), plainText(w.Subject))
		if (w.Status == "deferred" || w.Status == "unclear") && i < 0 && named {
			continue // it does not run, and the import says so
		}
		if i < 0 {
			t.Errorf("task %s, %q, is missing", w.Key, w.Subject)
			continue
		}
		of[w.Key], taken[i] = i, true
		w.compare(t, &p.Tasks[i])
	}
	for i := range p.Tasks {
		known := func(g expectedTask) bool {
			return strings.Contains(plainText(p.Tasks[i].Subject), plainText(g.Subject))
		}
		if !taken[i] && !slices.ContainsFunc(want.Groups, known) && !slices.ContainsFunc(want.May, known) {
			t.Errorf("task %s, %q, is surplus, of %d", p.Tasks[i].ID, p.Tasks[i].Subject, open)
		}
	}
	want.compareOrder(t, p, of)
}

// compareGate compares a look by a person. Plans have no gates yet: it is a criterion that nothing passes by
// itself, of the task before it or of the plan.
func (want expected) compareGate(t *testing.T, p *plan.Plan, w expectedTask) {
	t.Helper()
	all := want.conditions(p)
	for i := range p.Tasks {
		for _, c := range p.Tasks[i].Criteria {
			all += c.Text + "\n"
		}
	}
	if !strings.Contains(plainText(all), plainText(w.Subject)) {
		t.Errorf("no criterion says that a person must look at %s, %q", w.Key, w.Subject)
	}
}

func plainText(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "**", "")), " ")
}

// compareOrder compares which tasks come before which. An order by way of tasks that are done is right, and not needed.
func (want expected) compareOrder(t *testing.T, p *plan.Plan, of map[string]int) {
	t.Helper()
	after, may := map[string][]string{}, map[string][]string{}
	done := map[string]bool{}
	for _, w := range want.Tasks {
		after[w.Key], done[w.Key] = w.After, w.Done
		may[w.Key] = append(slices.Clone(w.After), want.More[w.Key]...)
	}
	got := map[string][]string{}
	for i := range p.Tasks {
		for _, b := range p.Graph.Blockers(i) {
			got[p.Tasks[i].ID] = append(got[p.Tasks[i].ID], p.Tasks[b].ID)
		}
	}
	none := map[string]bool{}
	for a, i := range of {
		before := reach(got, p.Tasks[i].ID, none)
		needed, allowed := reach(after, a, done), reach(may, a, none)
		for b, j := range of {
			switch has := before[p.Tasks[j].ID]; {
			case needed[b] && !has:
				t.Errorf("%s does not wait for %s", a, b)
			case has && !allowed[b]:
				t.Errorf("%s waits for %s", a, b)
			}
		}
	}
}

// reach returns all that comes before a key, not looking behind what ends the search.
func reach(edges map[string][]string, from string, ends map[string]bool) map[string]bool {
	seen := map[string]bool{}
	for list := slices.Clone(edges[from]); len(list) > 0; list = list[1:] {
		if key := list[0]; !seen[key] {
			seen[key] = true
			if !ends[key] {
				list = append(list, edges[key]...)
			}
		}
	}
	return seen
}

// compare compares the checks, criteria and the gate of one task.
func (w expectedTask) compare(t *testing.T, task *plan.Task) {
	t.Helper()
	var runs []string
	for _, c := range task.Verify {
		if c.Run != "" {
			runs = append(runs, c.Run)
		}
	}
	text := plainText(task.Subject + "\n" + task.Description)
	for _, c := range task.Criteria {
		text += "\n" + plainText(c.Text)
	}
	for _, c := range w.Checks {
		if !slices.Contains(runs, c) {
			t.Errorf("%s: the check %q is missing; it has %q", w.Key, c, runs)
		}
	}
	for _, c := range runs {
		if !slices.Contains(w.Checks, c) && !slices.Contains(w.MayChecks, c) {
			t.Errorf("%s: the check %q is invented", w.Key, c)
		}
	}
	var criteria []string
	_ = json.Unmarshal(w.Criteria, &criteria) // a number says only how many
	for _, c := range criteria {
		if !strings.Contains(text, plainText(c)) {
			t.Errorf("%s: %q is not in\n%s", w.Key, c, text)
		}
	}
	for _, s := range w.Subtasks {
		if !strings.Contains(text, plainText(s.Subject)) {
			t.Errorf("%s: the subtask %q is not in\n%s", w.Key, s.Subject, text)
		}
	}
}
