package proc

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/proc/proctest"
)

// TryWall returns a wall only if the trial start shows that it holds, and otherwise the reason.
func TestTryWall(t *testing.T) {
	t.Parallel()
	const skip = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift\n"
	dir := t.TempDir()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the user stops"))
	for name, c := range map[string]struct {
		ctx           context.Context
		script, wants string
	}{
		"missing":        {t.Context(), "", "bubblewrap (bwrap) is not installed"},
		"refused":        {t.Context(), "#!/bin/sh\necho no rights; echo more; exit 1\n", "no rights"},
		"silent":         {t.Context(), "#!/bin/sh\nexit 4\n", "bwrap ended with code 4"},
		"killed":         {t.Context(), "#!/bin/sh\nkill -SEGV $$\n", "bwrap ended with code -1 SIGSEGV"},
		"without effect": {t.Context(), skip + `exec "$@"`, "a closed file can be written"},
		"hanging":        {stopped, "#!/bin/sh\nexec /bin/sleep 600\n", "trying bwrap: the user stops"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			if c.script != "" {
				proctest.Script(t, filepath.Join(bin, "bwrap"), c.script)
			}
			w, err := TryWall(c.ctx, dir, []string{"PATH=" + bin, "LC_ALL=C"})
			if w != nil || err == nil || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("%v, %v; want %q", w, err, c.wants)
			}
		})
	}
}
