package run

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/review"
	"wavex/internal/testrepo"
	"wavex/internal/workspace"
	"wavex/runner/runnertest"
	"wavex/scheduler"
)

// chain returns the types of a Runner and of its inner ones, the outermost first.
func chain(r any) string {
	var types []string
	for v := reflect.ValueOf(r); v.IsValid(); {
		types = append(types, fmt.Sprint(v.Type()))
		inner := reflect.Indirect(v).FieldByName("Runner")
		if !inner.IsValid() {
			inner = reflect.Indirect(v).FieldByName("inner")
		}
		if v = inner; v.IsValid() {
			v = v.Elem()
		}
	}
	return strings.Join(types, " ")
}

// The detector of tampering sees all changes, a checkpoint is made outside of the directory's lock, and a
// worktree is released before one is taken.
func TestDecorators(t *testing.T) {
	t.Parallel()
	for isolation, want := range map[event.Isolation]string{
		gitwork.Shared: "run.tamperDetector workspace.checkpointed *gitwork.sharedRunner *runnertest.Fake",
		gitwork.Worktree: "run.tamperDetector workspace.checkpointed workspace.releaser " +
			"*gitwork.worktreeRunner *runnertest.Fake",
	} {
		dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n"})
		p := testrepo.Plan(t, dir, `{"tasks":[{"id":"a","command":"true"}]}`)
		r := &Session{plan: p, config: event.Config{Run: "r", Dir: dir, Loop: loop.In(dir), Isolation: isolation}}
		var err error
		r.workspace, err = workspace.Open(t.Context(), p, r.config, "", nil, nil, func(string) {}, func(error) {})
		testrepo.Must(t, err)
		reviews, err := review.New(review.Options{Plan: p, Config: r.config, Workspace: r.workspace})
		testrepo.Must(t, err)
		l := r.newLoop(Console{}, parts{runner: &runnertest.Fake{}, reviews: reviews,
			checkpoints: r.workspace.NewCheckpointer(t.Context(), "", r.warn), views: []scheduler.View{nil, r.workspace}})
		if got := chain(l.Runner); got != want {
			t.Errorf("%s: %s, want %s", isolation, got, want)
		}
		if len(l.Views) != 1 {
			t.Errorf("%d views, want one", len(l.Views))
		}
		testrepo.Must(t, r.workspace.Close(t.Context()))
	}
}
