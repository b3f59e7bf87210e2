package gitwork

import (
	"fmt"
	"sync"
	"testing"

	"wavex/runner"
)

// After an integration whose record was lost, its tasks come again together with others. They stay integrated, and a
// task that breaks their checks is the culprit, wherever it stands in the plan.
func TestIntegratedWorkIsNoCandidate(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"f": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "breaks", r.edits(files{"bad": "1\n"}))
	r.attempt(m, "good", r.edits(files{"good": "1\n"}))
	first := r.integrate(m, 1, "good: test ! -e bad")
	equal(t, "integrated first", first.Integrated, []string{"good"})
	in := r.integrate(m, 1, "breaks: test -e bad", "good: test ! -e bad")
	equal(t, "integrated", in.Integrated, []string{"good"})
	equal(t, "culprits", names(in.Culprits), "breaks red")
	equal(t, "commit", in.Commit, first.Commit)
}

// Attempts begin, commit and end while other work is integrated; nothing is lost.
func TestIntegrationsBesideAttempts(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"f": "1\n"})
	m := r.open(r.options("r1"))
	const tasks = 12
	verified := make(chan string, tasks)
	var agents sync.WaitGroup
	for worker := range 3 {
		agents.Go(func() {
			for i := worker; i < tasks; i += 3 {
				id := fmt.Sprintf("t%02d", i)
				req := runner.Request{Run: "r1", Task: id, Attempt: 1, Dir: r.dir, Slot: worker}
				res := attemptIn(t.Context(), m, r.edits(files{id: id + "\n"}), req, runner.Hooks{})
				if res.Outcome != runner.Done {
					t.Errorf("%s is %s: %s", id, res.Outcome, res.Reason)
				}
				verified <- id
			}
		})
	}
	go func() { agents.Wait(); close(verified) }()
	want := files{"f": "1\n"}
	for id := range verified {
		in := r.integrate(m, 1, id+": test -e "+id)
		equal(t, "integrated", in.Integrated, []string{id})
		want[id] = id + "\n"
	}
	equal(t, "wavex/r1", r.tree("wavex/r1"), want)
}
