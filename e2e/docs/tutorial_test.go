//go:build unix

package docs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wavex/internal/testrepo"
)

// TestTutorial follows the tutorial from its first line to its last, in one folder: it writes the
// files as the page shows them, and every step ends as the page says.
func TestTutorial(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/tutorial.md")
	testrepo.Must(t, err)
	w := sandbox{dir: t.TempDir(), home: t.TempDir()}
	steps := 0
	for _, part := range strings.Split(string(b), "\n```")[1:] {
		info, text, _ := strings.Cut(part, "\n")
		kind, arg, _ := strings.Cut(info, " ")
		switch kind {
		case "json":
			testrepo.Must(t, os.WriteFile(filepath.Join(w.dir, arg), []byte(text+"\n"), 0o644))
		case "sh":
			want, _ := strconv.Atoi(arg)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			out, err := w.command(ctx, "set -e\n"+text).CombinedOutput()
			cancel()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != want {
				t.Fatalf("exit code %d, want %d, of\n%s\n%s", code, want, text, out)
			}
			t.Logf("%s\n%s", text, out)
			steps++
		}
	}
	if steps < 7 {
		t.Errorf("only %d steps were found", steps)
	}
}

// TestReadme rehearses the plan of the README in an empty folder to its end.
func TestReadme(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../README.md")
	testrepo.Must(t, err)
	_, rest, _ := strings.Cut(string(b), "\n```json\n")
	text, _, found := strings.Cut(rest, "\n```")
	if !found {
		t.Fatal("the README has no plan")
	}
	w := sandbox{dir: t.TempDir(), home: t.TempDir()}
	testrepo.Must(t, os.WriteFile(filepath.Join(w.dir, "plan.json"), []byte(text), 0o600))
	for _, command := range []string{"wavex check plan.json", "wavex run plan.json --agent rehearse", "wavex status"} {
		if out, err := w.command(t.Context(), command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}
