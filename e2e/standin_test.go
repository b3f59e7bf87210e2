//go:build unix

package e2e

// This file makes scripts that stand in for a CLI, and finds lines of stderr.

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/proc/proctest"
)

// executable writes a script, and returns it as a CLI.
func executable(t *testing.T, lines string) cli {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bin", "claude")
	proctest.Script(t, path, lines)
	return cli{path: path}
}

// checkOutput checks that one line of stderr has all parts.
func checkOutput(t *testing.T, e wavexEnd, parts ...string) {
	t.Helper()
	for line := range strings.Lines(e.stderr) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return
		}
	}
	t.Errorf("exit %d; no line says %q:\n%s", e.exit, parts, e.stderr)
}
