package statement

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// The documentation lists the tested releases and all statements unchanged.
func TestStatementsAreDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/claude-cli.md")
	testrepo.Must(t, err)
	var b strings.Builder
	b.WriteString("| release | published | fails |\n|---|---|---|\n")
	for _, r := range Releases() {
		ids := make([]string, len(r.Fails))
		for i, id := range r.Fails {
			ids[i] = "`" + string(id) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Version, r.Date, cmp.Or(strings.Join(ids, ", "), "none"))
	}
	b.WriteString("\n| id | statement |\n|---|---|\n")
	var required []string
	for _, s := range All() {
		if s.Required {
			required = append(required, "`"+string(s.ID)+"`")
		}
		fmt.Fprintf(&b, "| %s `%s` | %s |\n", s.Kind, s.ID, s.Text)
	}
	last := len(required) - 1
	fmt.Fprintf(&b, "\nWhere %s or %s fails there is **no run**", strings.Join(required[:last], ", "), required[last])
	if !strings.Contains(string(data), b.String()) {
		t.Errorf("docs/claude-cli.md lacks these tables:\n%s", b.String())
	}
}
