package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/cmd"
	"wavex/internal/testrepo"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Must(t, write(cmd.Root(cmd.Stdio{}), dir))
	for name, want := range map[string]bool{"wavex.1": true, "wavex-run.1": true, "wavex-resume.1": true,
		"wavex-hook-stop.1": true,
		"wavex-help.1":      false, "wavex-agent.1": false, "wavex-guard.1": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "wavex-run.1"))
	testrepo.Must(t, err)
	text := string(page)
	for _, part := range []string{".TH \"WAVEX-RUN\" \"1\" \"\" \"wavex ", "Exit status", "\n.TP\n\\fB--budget\\fP"} {
		if !strings.Contains(text, part) {
			t.Errorf("wavex-run.1 has no %q", part)
		}
	}
	if strings.Contains(text, "\t") {
		t.Error("wavex-run.1 has a tab in it")
	}
	if write(cmd.Root(cmd.Stdio{}), filepath.Join(dir, "none")) == nil {
		t.Error("there is no such folder, and nothing was said")
	}
}
