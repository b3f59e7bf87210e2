package statement

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The documentation lists all statements unchanged.
func TestStatementsAreDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/claude-cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| id | statement | %s | %s | where it fails or is unknown |\n|---|---|---|---|---|\n",
		Oldest(), Newest())
	for _, s := range All() {
		fallback := s.Fallback
		if s.Required {
			fallback = "fails: **no run** (exit 5); unknown: " + fallback
		}
		fmt.Fprintf(&b, "| %s `%s` | %s | %s | %s | %s |\n", s.Kind, s.ID, s.Text, s.tested[0], s.tested[1], fallback)
	}
	if !strings.Contains(string(data), b.String()) {
		t.Errorf("docs/claude-cli.md lacks this table:\n%s", b.String())
	}
}
