package gitwork

import (
	"errors"
	"strings"
	"testing"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, c := range map[string]struct {
		Room
		attempts int
		says     string
	}{
		"enough":        {Room{5, 100, 200 * mb, 1000 * mb}, 4, " (100 files) need 1000 MB, and 1000 MB are free"},
		"a byte less":   {Room{5, 100, 200 * mb, 1000*mb - 1}, 3, "999 MB are free, which suffices for -j 3"},
		"for one":       {Room{5, 100, 200 * mb, 400 * mb}, 1, "-j 1"},
		"for none":      {Room{5, 100, 200 * mb, 399 * mb}, 0, "399 MB are free"},
		"less than one": {Room{2, 100, 200 * mb, mb}, 0, "2 worktrees of 200 MB"},
		"full disk":     {Room{2, 100, 1, 0}, 0, "0 MB are free"},
		"no files":      {Room{3, 0, 0, 0}, 2, "0 MB are free"},
		"a huge disk":   {Room{3, 1, 4096, 1 << 63}, 2, "GB are free"},
	} {
		if got := c.Attempts(); got != c.attempts || c.Short() != (got < c.Worktrees-1) {
			t.Errorf("%s: %d attempts, short %v; want %d", name, got, c.Short(), c.attempts)
		}
		if got := c.String(); !strings.HasSuffix(got, c.says) && !strings.Contains(got, c.says) ||
			c.Short() && c.attempts > 0 != strings.Contains(got, " -j ") {
			t.Errorf("%s: %s", name, got)
		}
		if got := c.Advice(); c.attempts > 0 != strings.HasPrefix(got, "use -j ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Before anything else a new run compares its worktrees with the free space: of blocks, of all files of the repository,
// for as many attempts as work at a time.
func TestTooLittleRoom(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": strings.Repeat("a", 5000), "sub/b": "b\n", "sub/c": "c\n"})
	before := r.userFingerprint()
	const tree = 4 * block // a has two blocks
	for name, c := range map[string]struct {
		mode     string
		attempts int
		free     uint64
		known    bool
		want     string // "": refused
		says     string
	}{
		"enough":        {Worktree, 4, 5 * tree, true, Worktree, "asked for"},
		"refused":       {Worktree, 4, 5*tree - 1, true, "", "80 KB, and 79 KB are free, which suffices for -j 3; use -j 3,"},
		"fewer":         {Worktree, 3, 5*tree - 1, true, Worktree, "asked for"},
		"none":          {Worktree, 1, 2*tree - 1, true, "", "31 KB are free; make room on the disk of .loop"},
		"by the width":  {Worktree, 0, 5*tree - 1, true, "", "5 worktrees of 16 KB"},
		"automatically": {Auto, 4, 5*tree - 1, true, Shared, "79 KB are free, which suffices for -j 3"},
		"not known":     {Worktree, 4, 0, false, Worktree, "asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &repo{t: t, dir: r.dir, env: r.env}
			o := r.options("r" + strings.ReplaceAll(name, " ", "-"))
			o.Project, o.Mode, o.Attempts, o.Trees = r.dir+"/sub", c.mode, c.attempts, TreesPool
			o.DiskFree = func(dir string) (bytes, files uint64, known bool) {
				if dir != string(o.Loop) {
					t.Error("free space of", dir)
				}
				return c.free, 0, c.known
			}
			m, err := Open(t.Context(), o)
			var refused *Error
			switch {
			case c.want == "":
				if !errors.As(err, &refused) || refused.Problem != NoRoom || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %s", err, c.says)
				}
				if Exists(o.Loop, o.Run) {
					t.Error("it has a workspace")
				}
			case err != nil:
				t.Fatal(err)
			default:
				if m.Mode() != c.want || !strings.Contains(m.ModeReason(), c.says) {
					t.Errorf("%s: %s, want %s: %s", m.Mode(), m.ModeReason(), c.want, c.says)
				}
				must(t, m.Close(t.Context()))
			}
		})
	}
	t.Cleanup(func() { r.untouched(before) })
}
