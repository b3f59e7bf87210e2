package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// 24 attempts, four at a time, run the setup once in each worktree. After a task has changed a file that the setup
// names, the setup runs again in a worktree when that gets the change, and not before.
func TestSetupOfManyAttempts(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"lock": "1\n"})
	o, log := r.options("r1"), filepath.Join(t.TempDir(), "log")
	o.Setup.Run, o.Setup.When = "pwd >>"+log, []string{"lock"}
	m := r.open(o)
	setups := func() []string {
		text, err := os.ReadFile(log)
		must(t, err)
		return strings.Fields(string(text))
	}
	for wave := range 6 {
		var all errgroup.Group
		var done []string
		for i := range 4 {
			task := fmt.Sprintf("t%d", 4*wave+i)
			done = append(done, task+": test -e "+task)
			all.Go(func() error {
				r.attempt(m, task, r.edits(files{task: "1\n"}))
				return nil
			})
		}
		must(t, all.Wait())
		r.integrate(m, wave+1, done...)
	}
	once := setups()
	if len(once) > 6 {
		t.Errorf("the setup ran in %q", once)
	}
	r.attempt(m, "lock", r.edits(files{"lock": "2\n"}))
	equal(t, "setups before the change is integrated", len(setups()), len(once))
	r.integrate(m, 7, "lock: test -e lock")
	before := len(setups())
	r.attempt(m, "after", r.edits(files{"after": "1\n"}))
	r.attempt(m, "after", r.edits(files{"after": "2\n"}))
	if again := setups()[before:]; len(again) != 1 {
		t.Errorf("after the change the setup ran again in %q", again)
	}
}
