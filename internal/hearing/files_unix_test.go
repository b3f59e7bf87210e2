//go:build unix

package hearing

import (
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
	"wavex/runner"
)

// A named pipe in the place of a declared file does not block.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Pipe(t, filepath.Join(dir, "pipe"))
	if head(dir, "pipe") != "" || fileSum(dir, "pipe") != "" || quoted(dir, "pipe", "some words") {
		t.Error("something was read from a pipe")
	}
	text, err := since{dir: dir}.changes(t.Context(), []string{"pipe"})
	if text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// A named pipe in the place of a stored answer does not block.
func TestPipeForAnAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := &asked{answers: map[string]any{"q": "fresh"}}
	h, _ := heard(t, dir, onePlan, who)
	roomtest.Files{".loop/runs/r/reviews/1/x/y": "", ".loop/runs/r/reviews/2/x/prompt.md": "what"}.Write(t, dir)
	roomtest.Pipe(t, filepath.Join(dir, ".loop/runs/r/reviews/1/x/prompt.md"))
	roomtest.Pipe(t, filepath.Join(dir, ".loop/runs/r/reviews/2/x/result.json"))
	got := again{who, h, []int{1, 2}}.Ask(t.Context(), runner.Question{Name: "q", Prompt: "what",
		LogDir: filepath.Join(dir, "3", "x")})
	if string(got.Structured) != `"fresh"` {
		t.Errorf("%+v", got)
	}
}
