package convert

// Helpers of the tests here: a comparison of plans, and tasks for wavex plans.

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

// ok is a task of a wavex plan; tasks wraps tasks into a plan.
const ok = `{"id":"a","subject":"A","verify":"true"}`

func tasks(list ...string) string { return `{"tasks":[` + strings.Join(list, ",") + `]}` }

func load(t *testing.T, file string) *plan.Plan {
	t.Helper()
	p, ds, err := Load(file, plan.Options{})
	if p == nil {
		t.Fatal(ds, err)
	}
	return p
}

// same compares the content of plans and ignores positions.
func same(t *testing.T, got, want *plan.Plan) {
	t.Helper()
	words := func(p plan.Plan) string {
		p.Path, p.Digest, p.Tasks = "", "", slices.Clone(p.Tasks)
		for i := range p.Tasks {
			p.Tasks[i].Pos = plan.Pos{}
		}
		out, err := json.Marshal(&p)
		testrepo.Must(t, err)
		return string(out)
	}
	if a, b := words(*got), words(*want); a != b {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

func hasCode(ds []plan.Diagnostic, code string) bool {
	return slices.ContainsFunc(ds, func(d plan.Diagnostic) bool { return d.Code == code })
}

// parse is like Load, for bytes in memory. name stands for the file.
func parse(name string, data []byte, opts plan.Options) (*plan.Plan, []plan.Diagnostic) {
	return detect(name, string(data), opts).read(sha256.Sum256(data))
}
