package loop_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// literals returns the strings of a Go file.
func literals(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	testrepo.Must(t, err)
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value) // the parser has accepted it
			out = append(out, text)
		}
		return true
	})
	return out
}

// Only this package writes the name of .loop, or of an attempt's file, in a path. Sentences may name them.
func TestNameIsInOneFile(t *testing.T) {
	t.Parallel()
	own := []string{loop.Journal, loop.LockHolder, loop.WatchdogLock, loop.HookSnapshot, loop.Outline, loop.PromptFile,
		loop.StreamFile, loop.StderrFile, loop.ResultFile, loop.OutputFile, loop.RehearseFile, loop.SystemFile}
	name := regexp.MustCompile(`(^|[^\w.])\.loop($|[^\w-])`)
	read := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == filepath.Join("..", "..",
			"internal", "loop", "dir.go"):
			return nil
		}
		read++
		for _, text := range literals(t, path) {
			if slices.Contains(own, text) || !strings.ContainsAny(text, " \n") && name.MatchString(text) {
				t.Errorf("%s has %q: use internal/loop", path, text)
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files read, %v", read, err)
	}
}

// Each path that docs/loop-files.md lists is one of a Dir.
func TestPathsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/loop-files.md")
	testrepo.Must(t, err)
	_, lists, _ := strings.Cut(string(doc), "\n## Files\n")
	got := map[string]bool{}
	for _, item := range regexp.MustCompile("(?m)^- ((?:`[^`]+`(?:,\\s+)?)+):").FindAllStringSubmatch(lists, -1) {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(item[1], -1) {
			got[strings.TrimSuffix(quoted[1], "/")] = true
		}
	}
	if len(got) < 30 {
		t.Errorf("docs/loop-files.md lists %d paths", len(got))
	}
	d := loop.Dir("")
	want := map[string]bool{d.Path("PHASE.md"): true, d.Run("RUN"): true, d.Task("RUN", "TASK"): true}
	for _, path := range []string{d.Worktree("RUN", "N"), d.Worktree("RUN", "json"), d.Worktree("RUN", "lock"),
		d.Worktree("RUN", "bundles"),
		d.Calls("RUN", "review-N"), d.Calls("RUN", "criteria-N"), d.Calls("RUN", "precheck-TASK-N"),
		d.Task("RUN", "TASK", loop.Attempt(0)), d.Task("RUN", "TASK", loop.Panel(0))} {
		want[strings.Replace(path, "-0", "-N", 1)] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "dir.go", nil, parser.SkipObjectResolution)
	testrepo.Must(t, err)
	parent := []string{"", d.Run("RUN"), d.Task("RUN", "TASK"), ""}
	for _, decl := range file.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || !block.Lparen.IsValid() {
			continue
		}
		if len(parent) == 0 {
			t.Fatal("there is one more block of constants; say where its files are")
		}
		for _, spec := range block.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				name, _ := strconv.Unquote(value.(*ast.BasicLit).Value)
				want[filepath.Join(parent[0], name)] = true
			}
		}
		parent = parent[1:]
	}
	for path := range want {
		delete(got, filepath.ToSlash(path))
	}
	if len(got) > 0 {
		t.Errorf("docs/loop-files.md has paths that no Dir has: %q", slices.Sorted(maps.Keys(got)))
	}
}

func TestIsName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{".loop": true, ".loop.bak-x": true, ".loopy": false, "loop": false} {
		if got := loop.IsName(name); got != want {
			t.Errorf("IsName(%q) = %v, want %v", name, got, want)
		}
	}
}
