package forecast

import (
	"strings"
	"testing"

	"wavex/internal/plan"
)

func TestBest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ plan, want string }{
		"checks":      {`{"tasks":[{"id":"a","subject":"A","verify":["x"]}]}`, "ends at best: SHIP"},
		"a criterion": {`{"criteria":["c"],"tasks":[{"id":"a","subject":"A"}]}`, "ends at best: SHIP"},
		"hard to undo": {`{"tasks":[{"id":"a","subject":"A","verify":["x"],"reversibility":"1"}]}`,
			"ends at best: MONITOR\n  hard to undo: a"},
		"nothing shows it": {`{"tasks":[{"id":"a","subject":"A"},{"id":"b","command":"true"}]}`,
			"ends at best: SHIP\n  no check, no criterion and no file; only a review of their edits can show them: a"},
		"an assumption": {`{"criteria":[{"text":"c","verification":"assumption"}],"tasks":[{"id":"a","command":"x"}]}`,
			"ends at best: refused by the gate\n  assumptions, which need --accept-assumptions: C-1"},
		"a prose must not": {`{"mustNot":["it burns"],"tasks":[{"id":"a","command":"true"}]}`,
			"ends at best: SHIP\n  must not be true, and has no check, so only reviewers look at it: it burns"},
	} {
		p, diags := plan.Parse("plan.json", []byte(c.plan), plan.Options{})
		if p == nil {
			t.Fatalf("%s: %v", name, diags)
		}
		if got := strings.TrimSpace(Best(p).String()); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
