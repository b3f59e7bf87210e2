package safefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// No function follows a link in .loop, wherever it leads, and each works on the directories of wavex.
func TestLinksInLoop(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"absolute", "../../inside", "../../../outside", "nowhere", ".."} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			at := func(name string) string { return filepath.Join(top, "p", ".loop", filepath.FromSlash(name)) }
			testrepo.Files{"p/.loop/runs/r/x": "", "p/inside/x": "keep", "outside/x": "keep", "absolute/x": "keep"}.Write(t, top)
			if target == "absolute" {
				target = filepath.Join(top, "absolute")
			}
			testrepo.Must(t, os.Symlink(target, at("runs/link")))
			for name, do := range map[string]func() error{
				"MkdirAll":  func() error { return safefile.MkdirAll(at("runs/link/new/deep"), 0o700) },
				"Write":     func() error { return safefile.Write(at("runs/link/x"), nil, 0o600) },
				"Replace":   func() error { return safefile.Replace(at("runs/link/x"), nil, 0o600, true) },
				"Remove":    func() error { return safefile.Remove(at("runs/link/x")) },
				"RemoveAll": func() error { return safefile.RemoveAll(at("runs/link/x")) },
				"Rename":    func() error { return safefile.Rename(at("runs/r/x"), at("runs/link/y")) },
				"Read":      func() error { _, err := safefile.Read(at("runs/link/x"), 9); return err },
				"OpenIn":    func() error { _, err := safefile.OpenIn(at("runs/link"), "x"); return err },
				"ReadDir":   func() error { _, err := safefile.ReadDir(at("runs/link")); return err },
				"CheckPath": func() error { return safefile.CheckPath(at("runs/link")) },
				"CheckTree": func() error { return safefile.CheckTree(at("")) },
				"temporary": func() error { _, err := safefile.CreateTemp(at("runs/link"), "x-*"); return err },
				"OpenFile": func() error {
					_, err := safefile.OpenFile(at("runs/link"), os.O_CREATE|os.O_RDWR, 0o600)
					return err
				},
			} {
				var path *fs.PathError
				if err := do(); !errors.Is(err, safefile.ErrLink) || !errors.As(err, &path) || path.Path != at("runs/link") {
					t.Errorf("%s: %v", name, err)
				}
			}
			testrepo.Must(t, safefile.RemoveAll(at("runs/link"))) // the link itself
			for _, name := range []string{"p/inside/x", "outside/x", "absolute/x"} {
				if text, err := os.ReadFile(filepath.Join(top, name)); string(text) != "keep" {
					t.Errorf("%s: %q, %v", name, text, err)
				}
			}
			testrepo.Must(t, safefile.CheckTree(at("")))
		})
	}
}

// The links of a working tree are the user's, and a project may be behind a link.
func TestLinksOfTheUser(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	testrepo.Files{"real/data": "hello"}.Write(t, top)
	project := filepath.Join(top, "project")
	testrepo.Must(t, os.Symlink("real", project))
	tree := filepath.Join(project, ".loop", "worktrees", "r.1")
	testrepo.Must(t, safefile.MkdirAll(filepath.Join(project, ".loop"), 0o700))
	testrepo.Must(t, safefile.MkdirAll(filepath.Join(tree, "sub"), 0o700))
	testrepo.Must(t, os.Symlink(filepath.Join(top, "real"), filepath.Join(tree, "link")))
	part := filepath.Join(project, ".loop", "runs", "r", "made-up.part")
	testrepo.Must(t, os.MkdirAll(part, 0o700))
	testrepo.Must(t, os.Symlink("CLAUDE.md", filepath.Join(part, "AGENTS.md")))
	testrepo.Must(t, safefile.CheckTree(filepath.Join(project, ".loop")))
	testrepo.Must(t, safefile.CheckPath(filepath.Join(tree, "link", "data")))
	if text, err := safefile.Read(filepath.Join(tree, "link", "data"), 9); string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	trash := filepath.Join(project, ".loop", "worktrees", "trash")
	testrepo.Must(t, safefile.MkdirAll(trash, 0o700))
	testrepo.Must(t, safefile.Rename(tree, filepath.Join(trash, "r.1-1")))
	testrepo.Must(t, safefile.RemoveAll(trash))
	if _, err := os.Stat(filepath.Join(top, "real", "data")); err != nil {
		t.Error(err)
	}
	if err := safefile.MkdirAll(filepath.Join(top, "gone", ".loop"), 0o700); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of a project was made: %v", err)
	}
}
