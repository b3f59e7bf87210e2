package scheduler

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file makes the tasks that repair unmet criteria and findings of reviews and of verifications
// outside of a session. They are whole tasks of a plan file, so that a replay does not depend on this
// file.

// Condition returns the plan's condition for a criterion, or nil if the plan no longer has it.
func (s *State) Condition(id string) *plan.Condition {
	task, k, ok := strings.Cut(id, "/C-")
	list := s.Plan.Criteria
	if ok {
		i, known := s.Index(task)
		if !known {
			return nil
		}
		list = s.Plan.Tasks[i].Criteria
	} else {
		k = strings.TrimPrefix(id, "C-")
	}
	var n int
	if _, err := fmt.Sscanf(k, "%d", &n); err != nil || n < 1 || n > len(list) {
		return nil
	}
	return &list[n-1]
}

// remediationTask is a task in the form of a plan file.
type remediationTask struct {
	ID          string      `json:"id"`
	Subject     string      `json:"subject"`
	Description string      `json:"description"`
	Files       []plan.File `json:"files,omitempty"`
	Verify      []checkJSON `json:"verify,omitempty"`
	Aspects     []string    `json:"aspects,omitempty"`
	Dir         string      `json:"dir,omitempty"`
}

type checkJSON struct {
	Run      string `json:"run,omitempty"`
	Timeout  string `json:"timeout,omitempty"`
	File     string `json:"file,omitempty"`
	Contains string `json:"contains,omitempty"`
	Matches  string `json:"matches,omitempty"`
}

func checkJSONOf(c plan.Check) checkJSON {
	out := checkJSON{Run: c.Run, File: c.File, Contains: c.Contains, Matches: c.Matches}
	if c.Timeout > 0 {
		out.Timeout = c.Timeout.String()
	}
	return out
}

// decideCriteriaRemediation returns the event that adds a task for each unmet criterion.
func decideCriteriaRemediation(s *State, open []event.Criterion) event.Body {
	ev := event.TasksAdded{Wave: s.Waves + 1, Origin: "criteria", Round: s.closing.remediations + 1}
	free := freeIDs(s)
	for _, c := range open {
		m := remediationTask{ID: free(), Subject: "Make true: " + textfmt.Clip(c.Text, 120),
			Description: "This must be true when the work is done, and it is not:\n" + c.Text + "\n\nWhat was seen:\n" +
				cmp.Or(textfmt.Clip(c.Evidence, 2000), "nothing")}
		if cond := s.Condition(c.ID); cond != nil && cond.Check != nil {
			m.Verify = append(m.Verify, checkJSONOf(*cond.Check))
		}
		if i, ok := s.Index(c.Task); ok && c.Task != "" {
			m.Aspects, m.Dir = s.Plan.Tasks[i].Aspects, s.Plan.Tasks[i].SubDir()
		}
		addRemediation(s, &ev, m, c.ID)
	}
	if len(ev.Tasks) == 0 {
		return nil
	}
	return ev
}

// decideFindingRemediation returns the event that adds a task for each blocker to repair, or nil if all of them were
// skipped, did not change, or have a task, which failed.
func decideFindingRemediation(s *State, last *event.ReviewEnded) event.Body {
	ev := event.TasksAdded{Wave: s.Waves + 1, Origin: "review", Round: last.Round}
	free := freeIDs(s)
	for _, f := range last.Review.Blockers() {
		what := fmt.Sprintf("review %d, %s", last.N, f.ID)
		if f.Resolution == "skipped" || f.Resolution == counsel.Unchanged ||
			slices.ContainsFunc(s.Assessment.Added, func(a event.Added) bool { return a.For == what }) {
			continue
		}
		m := remediationTask{ID: free(), Subject: "Mend: " + textfmt.Clip(f.Text, 120), Aspects: f.Aspects,
			Description: textfmt.Clip(findingText(s, f), 8000)}
		if f.File != "" {
			m.Files = []plan.File{{Path: f.File, Action: "create or modify"}}
			m.Verify = checksOfFile(s, f.File)
		}
		addRemediation(s, &ev, m, what)
	}
	if len(ev.Tasks) == 0 {
		return nil
	}
	return ev
}

// repairsBlocker reports whether a task repairs a blocker of a review.
func (s *State) repairsBlocker(id string) bool {
	return slices.ContainsFunc(s.Assessment.Added, func(a event.Added) bool { return a.ID == id && a.Origin == "review" })
}

// failedRepairs returns the tasks that failed to repair a blocker.
func (s *State) failedRepairs() (ids []string) {
	for _, a := range s.Assessment.Added {
		if i, ok := s.Index(a.ID); ok && a.Origin == "review" && s.isFailed(i) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// addRemediation adds a task to the event. If the reviewer's files or aspects make the task invalid, it leaves
// them out: an event that does not add its task would be decided again and again.
func addRemediation(s *State, ev *event.TasksAdded, m remediationTask, what string) {
	raw, err := json.Marshal(m)
	if err == nil {
		_, err = s.Plan.WithTasks(ev.Wave, raw)
	}
	if err != nil && (m.Files != nil || m.Aspects != nil) {
		m.Files, m.Aspects = nil, nil
		addRemediation(s, ev, m, what)
		return
	}
	if err != nil {
		return
	}
	ev.Tasks = append(ev.Tasks, event.Added{ID: m.ID, For: what, Task: raw})
}

// Remediation is a repair task without an id.
type Remediation struct {
	For         string // the finding that it repairs, for the record
	Subject     string
	Description string
	Dir         string // relative to the project; "": the project's own
	Files       []string
	Checks      []plan.Check
}

// ErrNoRemediation means that none of the tasks is valid.
var ErrNoRemediation = errors.New("there is nothing to mend")

// OnFindings adds repair tasks to a run between sessions. The next session runs them.
func OnFindings(s *State, round int, list []Remediation) (event.TasksAdded, error) {
	ev := event.TasksAdded{Wave: s.Waves + 1, Origin: "verify", Round: round}
	free := freeIDs(s)
	for _, one := range list {
		m := remediationTask{ID: free(), Subject: textfmt.Clip(one.Subject, 150), Description: one.Description, Dir: one.Dir}
		for _, f := range one.Files {
			m.Files = append(m.Files, plan.File{Path: f, Action: "create or modify"})
		}
		for _, c := range one.Checks {
			m.Verify = append(m.Verify, checkJSONOf(c))
		}
		addRemediation(s, &ev, m, one.For)
	}
	if len(ev.Tasks) == 0 {
		return ev, ErrNoRemediation
	}
	return ev, nil
}

// findingText returns the task description for a finding. The texts of reviewers and outputs are
// bounded and marked as theirs.
func findingText(s *State, f counsel.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A review holds that this keeps the work from being done (in the reviewer's words, which a second "+
		"one could not refute):\n%s%s\nIt stays open until this file has changed, or any file if none is named, and a "+
		"reviewer says that it is resolved.\n", f.Location(), f.Text)
	if f.Evidence != "" {
		fmt.Fprintf(&b, "\nEvidence:\n%s\n", f.Evidence)
	}
	if f.Fix != "" {
		fmt.Fprintf(&b, "\nWhat the reviewer would do:\n%s\n", f.Fix)
	}
	for k, m := range s.Plan.MustNot {
		if k == 0 {
			b.WriteString("\nThis must not become true by it:\n")
		}
		b.WriteString("- " + m.Text + "\n")
	}
	return b.String()
}

// checksOfFile returns the checks of the tasks that write a file, so that the repair breaks none of
// them. Tasks that work in a directory of their own are left out.
func checksOfFile(s *State, file string) []checkJSON {
	const most = 5
	var out []checkJSON
	for i := range s.Plan.Tasks {
		t := &s.Plan.Tasks[i]
		if t.SubDir() != "" ||
			!slices.ContainsFunc(t.Files, func(f plan.File) bool { return f.Path == file && f.Writes() }) {
			continue
		}
		for _, c := range t.Verify {
			if k := checkJSONOf(c); !c.Once && len(out) < most && !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// freeIDs returns a function that returns and so on, without ids that are taken.
func freeIDs(s *State) func() string {
	n := len(s.Assessment.Added)
	return func() string {
		for {
			n++
			id := fmt.Sprintf("R-%03d", n)
			if _, taken := s.Plan.Lookup(id); !taken {
				return id
			}
		}
	}
}
