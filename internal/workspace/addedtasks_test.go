package workspace

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

// addCheckpoints adds checkpoints to the fixture's loop, whose Request has the minimum of fields.
func (b *fixture) addCheckpoints(warn func(error)) *Checkpointer {
	points := b.NewCheckpointer(b.Context(), "", warn)
	b.attempts.Checkpoints = points
	b.loop.Request = func(s *scheduler.State, i int, e event.AttemptStarted) (runner.Request, error) {
		points.Schedule(s, i)
		return runner.Request{Run: "r-1", Task: s.Plan.Tasks[i].ID, Attempt: e.Attempt, Dir: b.dir}, nil
	}
	return points
}

// start makes an attempt as the loop requests it.
func (b *fixture) start(task string) runner.Result {
	b.Helper()
	i, ok := b.loop.State.Index(task)
	if !ok {
		b.Fatalf("there is no task %s", task)
	}
	req, err := b.loop.Request(b.loop.State, i, event.AttemptStarted{Task: task, Attempt: 1})
	testrepo.Must(b, err)
	return b.loop.Runner.Attempt(b.Context(), req, runner.Hooks{})
}

// Each attempt has the checkpoints of its own wave and task, even if the task joined the run or is
// the first that is hard to undo.
func TestCheckpointsOfAddedTasks(t *testing.T) {
	t.Parallel()
	const hard, easy = `{"tasks":[{"id":"a","subject":"a","reversibility":"2B"}]}`, `{"tasks":[{"id":"a","subject":"a"}]}`
	for name, c := range map[string]struct {
		plan     string
		schedule event.Schedule
		joins    string // "easy" or "hard" tasks, b and c, each in a wave of its own
		want     string
	}{
		"nothing hard": {easy, "waves", "easy", "end wave/1"},
		"an easy one":  {hard, "waves", "easy", "end task/a/after task/a/before wave/1 wave/2"},
		"a hard one": {hard, "waves", "easy hard",
			"end task/a/after task/a/before task/c/after task/c/before wave/1 wave/2 wave/3"},
		"the first hard":        {easy, "waves", "hard", "end task/b/after task/b/before wave/1 wave/2"},
		"eager":                 {hard, "eager", "easy", "end task/a/after task/a/before wave/1"},
		"eager, the first hard": {easy, "eager", "hard", "end task/b/after task/b/before wave/1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n"})
			with := config(dir, "shared")
			with.Schedule = c.schedule
			b := newFixture(t, dir, c.plan, with, writes)
			points := b.addCheckpoints(func(err error) { t.Error(err) })
			b.start("a")
			for k, kind := range strings.Fields(c.joins) {
				id, class := string(rune('b'+k)), map[string]string{"easy": "2A", "hard": "1"}[kind]
				more := event.Added{ID: id, Task: json.RawMessage(`{"id":"` + id + `","subject":"x","reversibility":"` +
					class + `"}`)}
				testrepo.Must(t, b.loop.State.Replay([]event.Event{{Body: event.TasksAdded{Wave: k + 2,
					Origin: event.FromList, Tasks: []event.Added{more}}}}))
				if res := b.start(id); res.Outcome != runner.Done {
					t.Errorf("%+v", res)
				}
			}
			points.Seal(t.Context(), false)
			const below = "refs/wavex/r-1.points/"
			got := strings.Fields(strings.ReplaceAll(testrepo.Git(t, dir, "for-each-ref", "--format=%(refname)", below), below,
				""))
			if strings.Join(got, " ") != c.want {
				t.Errorf("checkpoints %q, want %q", got, c.want)
			}
			// The checkpoint of a wave has the files of the tasks before it.
			if slices.Contains(got, "wave/2") {
				if files := strings.Fields(testrepo.Git(t, dir, "ls-tree", "--name-only", below+"wave/2")); !slices.Equal(files,
					[]string{".gitignore", "a"}) {
					t.Errorf("the checkpoint of wave 2 holds %q", files)
				}
			}
		})
	}
}
