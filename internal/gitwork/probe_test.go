package gitwork

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// A hook that waits for a person is found. Only pre-commit may take long.
func TestHooksThatWait(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"pre-commit", "prepare-commit-msg", "commit-msg"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			m := r.open(r.options("r1"))
			started := filepath.Join(t.TempDir(), "started")
			r.script(".git/hooks/"+hook, "touch "+started+"\nexec sleep 1000")
			ctx, cancel := context.WithCancelCause(t.Context())
			go cancelAt(ctx, func(error) { cancel(errHookProbeTimeout) }, started)
			var args []string
			if hook != "pre-commit" {
				args = []string{"a"}
			}
			err := m.probeHook(ctx, m.g, hook, "x", args)
			said := strings.Join(m.Notices(), "; ")
			if hook == "pre-commit" {
				must(t, err)
				equal(t, "notices", said, "the hook pre-commit took longer than 1m0s without changes; each commit waits for it")
				return
			}
			problem(t, err, HookRefuses)
		})
	}
}
