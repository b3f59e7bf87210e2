package cmd

import (
	"fmt"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// A list that comes with the run has tasks for agents before it is known: they get a wall, or the record says why not.
func TestPreflightOfALateList(t *testing.T) {
	t.Parallel()
	const head = `{"tasks":[{"id":"a","foreach":{"command":"ls"},`
	for task, want := range map[string]bool{`"subject":"A"}]}`: true, `"command":"true"}]}`: false} {
		r := invocation{plan: testrepo.Plan(t, ".", head+task)}
		r.config.Dir, r.config.Sandbox.Mode = t.TempDir(), event.SandboxAuto
		if _, err := r.tryWall(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := r.config.Sandbox; (s.Wall || s.Reason != "") != want {
			t.Errorf("%s: %+v", task, s)
		}
	}
	p := testrepo.Plan(t, ".", head+`"subject":"A","permissionMode":"bypassPermissions"}]}`)
	if got := fmt.Sprint(bypassTasks(p)); got != "[a]" {
		t.Errorf("permissions are bypassed by %s", got)
	}
}
