//go:build unix

package review

import (
	"path/filepath"
	"testing"

	"wavex/internal/testrepo"
	"wavex/runner"
)

// A named pipe in the place of a declared file does not block.
func TestPipeInPlaceOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.NamedPipe(t, filepath.Join(dir, "pipe"))
	if fileText(dir, "pipe") != "" || fileDigest(dir, "pipe") != "" || containsQuote(dir, "pipe", "some words") {
		t.Error("something was read from a pipe")
	}
	text, err := baseline{dir: dir}.describeFiles(t.Context(), []string{"pipe"})
	if text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// A named pipe in the place of a stored answer does not block.
func TestPipeInPlaceOfAnAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := &fakeCaller{answers: map[string]any{"q": "fresh"}}
	h, _ := newCoordinator(t, dir, onePlan, who)
	testrepo.Files{".loop/runs/r/reviews/1/x/y": "", ".loop/runs/r/reviews/2/x/prompt.md": "what"}.Write(t, dir)
	testrepo.NamedPipe(t, filepath.Join(dir, ".loop/runs/r/reviews/1/x/prompt.md"))
	testrepo.NamedPipe(t, filepath.Join(dir, ".loop/runs/r/reviews/2/x/result.json"))
	got := cachedAnswers{who, h, []int{1, 2}}.Ask(t.Context(), runner.Question{Name: "q", Prompt: "what",
		LogDir: filepath.Join(dir, "3", "x")})
	if string(got.Structured) != `"fresh"` {
		t.Errorf("%+v", got)
	}
}
