package workspace

import (
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// The steps of an attempt see the refs of those before: of checkpoints, and of the work in a worktree.
func TestSteps(t *testing.T) {
	t.Parallel()
	for mode, want := range map[event.Isolation]string{
		"shared": "guard:; make: r-1.here r-1.points/task/a/before r-1.points/wave/1; end: r-1.here " +
			"r-1.points/task/a/after r-1.points/task/a/before r-1.points/wave/1; make: ",
		"worktree": "guard: r-1.run/base r-1.run/tip; make: r-1.run/base r-1.run/tip; " +
			"end: r-1.run/base r-1.run/tip r-1/a; make: ",
	} {
		dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n"})
		var said []string
		say := func(step string) {
			refs := testrepo.Git(t, dir, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/wavex")
			said = append(said, strings.TrimSpace(step+": "+strings.Join(strings.Fields(refs), " ")))
		}
		b := newFixture(t, dir, `{"tasks":[{"id":"a","subject":"a","reversibility":"2B"}]}`, config(dir, mode),
			func(dir string, req runner.Request) error {
				say("make")
				return writes(dir, req)
			})
		b.addCheckpoints(func(err error) { t.Error(err) })
		b.attempts.Guard = func(runner.Request, *runner.Hooks) (func(*runner.Result), error) {
			say("guard")
			return func(res *runner.Result) { say("end"); res.Report = string(res.Outcome) }, nil
		}
		res := b.start("a")
		again := runner.Request{Run: "r-1", Task: "a", Attempt: 2, Dir: dir, Command: "of the plan's author"}
		b.attempts.Attempt(t.Context(), again, runner.Hooks{})
		if got := strings.Join(said, "; "); res.Report != "done" || !strings.HasPrefix(got, want) || len(said) != 4 {
			t.Errorf("%s: %q, want %q; %+v", mode, got, want, res)
		}
	}
}
