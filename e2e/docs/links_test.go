//go:build unix

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

var link = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)]*)?\)`)

// TestLinks: every link target of a page within the repository exists, and every page of the
// documentation can be reached from its index.
func TestLinks(t *testing.T) {
	t.Parallel()
	indexed := map[string]bool{}
	for _, page := range append(pages(t), "../../CONTRIBUTING.md", "../../fleet/docs/workers.md",
		"../../fleet/docs/telemetry.md") {
		b, err := os.ReadFile(page)
		testrepo.Must(t, err)
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s points to %s: %v", page, m[1], err)
			}
			if page == "../../docs/README.md" {
				indexed[path] = true
			}
		}
	}
	for _, page := range pages(t) {
		if !indexed[page] && page != "../../docs/README.md" && page != "../../README.md" {
			t.Errorf("docs/README.md does not list %s", page)
		}
	}
}
