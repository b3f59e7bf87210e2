package loop_test

import (
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/loop"
)

func TestOwned(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		project, names string
		own            int
	}{
		"/p/x":                                 {"", "", 0},
		"/p/.loopy/x":                          {"", "", 0},
		"/.loop/lock":                          {"/", ".loop lock", 2},
		".loop":                                {"", ".loop", 1},
		"/p/.loop/journal.jsonl":               {"/p", ".loop journal.jsonl", 2},
		"/p/.loop.bak-1-x/runs/r/tasks":        {"/p", ".loop.bak-1-x runs r tasks", 4},
		"/p/.loop/worktrees/trash":             {"/p", ".loop worktrees trash", 3},
		"/p/.loop/worktrees/trash/r.1-1/a":     {"/p", ".loop worktrees trash r.1-1 a", 3},
		"/p/.loop/worktrees/r.1/a":             {"/p", ".loop worktrees r.1 a", 3},
		"/p/.loop/worktrees/r.bundles/1.next":  {"/p", ".loop worktrees r.bundles 1.next", 4},
		"/p/.loop/runs/r/made-up/a":            {"/p", ".loop runs r made-up a", 4},
		"/p/.loop/runs/r/made-up.part/a":       {"/p", ".loop runs r made-up.part a", 4},
		"/p/.loop/runs/r/made-up.part":         {"/p", ".loop runs r made-up.part", 4},
		"/p/.loop/worktrees/r.1/p/.loop/lock":  {"/p/.loop/worktrees/r.1/p", ".loop lock", 2},
		"/p/.loop/runs/../worktrees/r.1/a/b/c": {"/p", ".loop worktrees r.1 a b c", 3},
	} {
		project, names, own := loop.Owned(filepath.FromSlash(path))
		if filepath.ToSlash(project) != want.project || strings.Join(names, " ") != want.names || own != want.own {
			t.Errorf("%s: %q, %q, %d", path, project, names, own)
		}
	}
}
