package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/fleet/ferry"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// Old runs are removed, but not one whose work could not be pushed. Salvage pushes that work.
func TestRemoveOld(t *testing.T) {
	t.Parallel()
	ctx, dir, bare := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "bare.git")
	testrepo.Git(t, dir, "init", "-q", "--bare", bare)
	testrepo.Git(t, dir, "init", "-q", filepath.Join(dir, reposDir, "0")) // of a worker that was killed then
	r, err := New(Options{Name: "w1", Dir: dir, Env: os.Environ()}).repo(ctx, bare)
	testrepo.Must(t, err)
	head := strings.TrimSpace(testrepo.Git(t, r.dir, "rev-parse", "HEAD"))
	for _, run := range []string{"old", "unpushed"} {
		testrepo.Files{"stderr.txt": ""}.Write(t, r.loop().Task(run, "a", loop.Attempt(1)))
		testrepo.Git(t, r.dir, "update-ref", ferry.Work(run, "a", 1), head)
	}
	testrepo.Must(t, os.WriteFile(r.loop().Run("unpushed", keptFile), nil, 0o600))
	remove := func(want int, left ...string) {
		t.Helper()
		n, err := RemoveOld(ctx, dir, time.Now().Add(time.Hour), os.Environ())
		refs := testrepo.Git(t, r.dir, "for-each-ref", "--format=%(refname)", "refs/wavex")
		if n != want || err != nil || refs != strings.Join(left, "") {
			t.Errorf("removed %d, %v, left %q; want %d, %q", n, err, refs, want, left)
		}
	}
	work := ferry.Work("unpushed", "a", 1)
	remove(1, work+"\n")
	pushed, err := Salvage(ctx, dir, "unpushed", os.Environ())
	if err != nil || len(pushed) != 1 || !strings.Contains(testrepo.Git(t, bare, "show-ref"), work) {
		t.Errorf("%q, %v", pushed, err)
	}
	remove(1)
}
