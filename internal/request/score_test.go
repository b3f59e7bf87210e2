package request

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// newScore returns a score with these points.
func newScore(points ...int) Score {
	s := Score{Source: fromModel}
	for i, r := range s.ratings() {
		r.Points = points[i]
	}
	return s
}

// Each anchor gets the points that it is the example for.
func TestExamples(t *testing.T) {
	t.Parallel()
	for i, d := range dimensions {
		for points, anchor := range d.examples {
			if anchor == "none stated" || anchor == "implied" {
				anchor = ""
			}
			s := offlineScore(anchor)
			if got := s.ratings()[i].Points; got != points {
				t.Errorf("%s: %q scores %d, want %d", d.name, anchor, got, points)
			}
		}
	}
}

// The heuristic gives the proposed answers full points, so a person who takes one is not asked
// again.
func TestProposalsAreClear(t *testing.T) {
	t.Parallel()
	for i, d := range dimensions {
		for _, p := range d.proposals {
			s := offlineScore("Improve the search\n" + d.name + ": " + p)
			if got := s.ratings()[i]; got.Points != maxPoints {
				t.Errorf("%s: %q scores %d (%s)", d.name, p, got.Points, got.Reason)
			}
		}
	}
}

func TestSpecBoundaries(t *testing.T) {
	t.Parallel()
	for spec, want := range map[int]Autonomy{0: Blocked, 4: Blocked, 5: Colleague,
		7: Colleague, 8: Tool, 10: Tool} {
		if got := autonomyBySpec(spec); got != want {
			t.Errorf("spec %d is %s, want %s", spec, got, want)
		}
	}
}

func TestFitBoundaries(t *testing.T) {
	t.Parallel()
	for fit, want := range map[int]Autonomy{0: Blocked, 24: Blocked, 25: Colleague,
		29: Colleague,
		30: ToolReview, 39: ToolReview, 40: Tool, 75: Tool} {
		if got := autonomyByFit(fit); got != want {
			t.Errorf("fit %d is %s, want %s", fit, got, want)
		}
	}
}

// The gate on the spec score comes first, then the fit score determines the shape; if the two
// disagree, both are recorded.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		points      []int // outcome, scope, constraints, success, done
		familiarity int
		fit         int
		shape       Autonomy
		bySpec      Autonomy
		byFit       Autonomy
	}{
		{[]int{0, 0, 0, 0, 0}, 0, 0, Blocked, Blocked, Blocked},
		{[]int{0, 0, 2, 2, 0}, 10, 40, Blocked, Blocked, Tool},           // spec 4: the gate comes first
		{[]int{1, 1, 1, 1, 1}, 0, 25, Colleague, Colleague, Colleague},   // spec 5
		{[]int{2, 2, 1, 0, 0}, 4, 29, Colleague, Colleague, Colleague},   // spec 5
		{[]int{2, 2, 1, 0, 0}, 5, 30, ToolReview, Colleague, ToolReview}, // spec 5, familiar domain
		{[]int{2, 1, 2, 0, 0}, 0, 30, ToolReview, Colleague, ToolReview}, // spec 5, a constraint
		{[]int{2, 2, 1, 1, 0}, 0, 30, ToolReview, Colleague, ToolReview}, // spec 6
		{[]int{2, 2, 2, 0, 0}, 4, 39, ToolReview, Colleague, ToolReview}, // spec 6
		{[]int{2, 2, 2, 0, 0}, 5, 40, Tool, Colleague, Tool},             // spec 6
		{[]int{2, 2, 1, 1, 1}, 0, 35, ToolReview, Colleague, ToolReview}, // spec 7, no bonus
		{[]int{2, 2, 1, 1, 2}, 0, 45, Tool, Tool, Tool},                  // spec 8
		{[]int{2, 2, 2, 2, 2}, 99, 75, Tool, Tool, Tool},                 // the maximum
		{[]int{2, 2, 2, 2, 2}, -9, 65, Tool, Tool, Tool},
	} {
		d := decide(newScore(c.points...), c.familiarity, "")
		if d.Fit != c.fit || d.Shape != c.shape || d.BySpec != c.bySpec || d.ByFit != c.byFit {
			t.Errorf("%v with familiarity %d: %+v, want fit %d, %s (spec %s, fit %s)", c.points, c.familiarity, d, c.fit,
				c.shape, c.bySpec, c.byFit)
		}
	}
}

// For any points the gate is on the spec score, the fit score stays in range and grows with
// familiarity, and missing dimensions are in order. From 8 points on both scores say tool.
func TestDecideAlways(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var points []int
		for range dimensions {
			points = append(points, rapid.IntRange(0, maxPoints).Draw(t, "points"))
		}
		s, familiarity := newScore(points...), rapid.IntRange(-5, 20).Draw(t, "familiarity")
		d := decide(s, familiarity, "")
		if (d.Shape == Blocked) != (d.Spec < MinReady) {
			t.Errorf("%v: %+v", points, d)
		}
		if d.BySpec == Tool && d.Shape != Tool {
			t.Errorf("%v: %+v", points, d)
		}
		if d.Fit < d.Spec*5 || d.Fit > 75 {
			t.Errorf("%v: fit %d out of range", points, d.Fit)
		}
		if more := decide(s, familiarity+1, ""); more.Fit < d.Fit {
			t.Errorf("%v: knowing more lowers the fit from %d to %d", points, d.Fit, more.Fit)
		}
		missing := s.missing()
		for i, dim := range missing {
			if p := s.ratings()[dim].Points; p >= maxPoints || i > 0 && p < s.ratings()[missing[i-1]].Points {
				t.Errorf("%v: missing %v", points, missing)
			}
		}
	})
}

func TestScoreValidate(t *testing.T) {
	t.Parallel()
	if err := newScore(0, 1, 2, 1, 0).Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []int{-1, 3} {
		if newScore(0, bad, 0, 0, 0).Validate() == nil {
			t.Errorf("%d points pass", bad)
		}
	}
	if got, want := newScore(2, 1, 0, 0, 1).String(),
		"4/10 (outcome 2, scope 1, constraints 0, success 0, done 1)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Debug has precedence over refactor, and refactor over build, in any order of the words.
func TestWorkflowPrecedence(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]Workflow{
		"fix the login by adding a check":             Debug,
		"add a check that fixes the login":            Debug,
		"refactor the parser and add tests":           Refactor,
		"add tests, then clean up the parser":         Refactor,
		"migrate to v2 and fix what breaks":           Debug,
		"create a new feature":                        Build,
		"reorganise the docs":                         Refactor,
		"an address book":                             Build, // "add" is not a word in it
		"add a suffix and a prefix":                   Build, // nor "fix"
		"Add a page that says `error: bug fixed`":     Build, // a quotation does not count
		"Add the message \"failing to fix\" to it":    Build,
		"the test is FAILING":                         Debug,
		"bring latency below 5 ms":                    Build,
		"implement error handling for the new parser": Debug, // a documented false match
	} {
		if got := classifyWorkflow(request); got.Workflow != want {
			t.Errorf("%q is %s by %q, want %s", request, got.Workflow, got.By, want)
		}
	}
	var gates []string
	for _, w := range []Workflow{Build, Debug, Refactor} {
		gates = append(gates, w.Gate())
	}
	for i, start := range []string{"Library search", "Root cause before workaround", "Deletion before redesign"} {
		if !strings.HasPrefix(gates[i], start) {
			t.Errorf("gate %d is %q", i, gates[i])
		}
	}
}

func TestClassifyReversibility(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]ReversibilityClass{
		"rename a config key":                             Quick,
		"upgrade the dependencies":                        Stepwise,
		"add a flag; no new dependencies":                 Quick,
		"add a flag without a breaking change":            Quick,
		"keep the public API and split the file":          Stepwise,
		"change the database schema":                      Irreversible,
		"drop the column and upgrade the dependency":      Irreversible,
		"speed it up; the public API stays as it is":      Quick,
		"rewrite the parser":                              Stepwise,
		"change the public API":                           Irreversible,
		"Do not touch the schema. Publish it when done":   Irreversible,
		"write \"deploy to production\" into the README":  Quick,
		"delete all user data that is older than a year":  Irreversible,
		"migrate the build to make":                       Stepwise,
		"migrate the data of the users to the new tables": Irreversible,
	} {
		if got := classifyReversibility(request); got.Class != want {
			t.Errorf("%q is %s by %q, want %s", request, got.Class, got.By, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	d := decide(newScore(2, 2, 2, 1, 1), 0, "")
	good := PreflightFacts{Decision: d, Reversibility: Reversibility{Class: Quick},
		Workflow: WorkflowMatch{Workflow: Debug},
		Criteria: 3, Tasks: 4, Waves: 2, Plan: "plan.json", State: ".loop", Budget: "$25"}
	points := Preflight(good)
	if len(points) != 8 || !PreflightPassed(points) {
		t.Fatalf("%d points: %+v", len(points), points)
	}
	if got, want := announcement(good),
		"[LOOP] Starting | Shape: tool (8/10) | Workflow: B | Steps: 4 | Budget: $25"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, spoil := range map[string]func(*PreflightFacts){
		"spec scored":                      func(f *PreflightFacts) { f.Decision = Decision{} },
		"reversibility classified":         func(f *PreflightFacts) { f.Reversibility = Reversibility{} },
		"success criteria extracted":       func(f *PreflightFacts) { f.Criteria = 0 },
		"decomposed into steps":            func(f *PreflightFacts) { f.Tasks = 0 },
		"tasks written, each with a check": func(f *PreflightFacts) { f.Unchecked = []string{"T-001"} },
		"state can be kept":                func(f *PreflightFacts) { f.State = "" },
		"announced":                        func(f *PreflightFacts) { f.Workflow = WorkflowMatch{} },
	} {
		bad := good
		spoil(&bad)
		points := Preflight(bad)
		at := slices.IndexFunc(points, func(p PreflightItem) bool { return p.Name == name })
		if PreflightPassed(points) || at < 0 || points[at].OK {
			t.Errorf("%s: %+v", name, points)
		}
	}
	low := decide(newScore(1, 1, 1, 1, 0), 0, "")
	bad := good
	bad.Decision = low
	if points := Preflight(bad); points[0].OK || points[1].OK {
		t.Errorf("a spec of 4 passes: %+v", points)
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	build, refactor := WorkflowMatch{Workflow: Build}, WorkflowMatch{Workflow: Refactor}
	quick, oneWay := Reversibility{Class: Quick}, Reversibility{Class: Irreversible}
	for _, c := range []struct {
		s    Score
		kind WorkflowMatch
		undo Reversibility
		want string
	}{
		{newScore(2, 2, 2, 1, 1), build, quick, "[]"},
		{newScore(2, 1, 2, 2, 1), build, quick, "[plan]"},
		{newScore(2, 2, 2, 1, 1), refactor, quick, "[plan design]"},
		{newScore(2, 2, 2, 1, 1), build, oneWay, "[plan design]"},
		{newScore(2, 2, 2, 0, 2), build, quick, "[plan requirements design]"},
	} {
		if got := fmt.Sprint(phasesOf(c.s, c.kind, c.undo)); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.s, c.kind.Workflow, c.undo.Class, got, c.want)
		}
	}
}

// Large work gets requirements in the right place, and no phase twice.
func TestPhasesForSize(t *testing.T) {
	t.Parallel()
	plan, req, design := PhasePlan, PhaseRequirements, PhaseDesign
	for _, c := range []struct {
		phases []Phase
		tasks  int
		want   string
	}{
		{nil, 0, "[]"}, {nil, 5, "[]"}, {nil, 6, "[requirements]"}, {[]Phase{plan}, 5, "[plan]"},
		{[]Phase{plan}, 6, "[plan requirements]"},
		{[]Phase{plan, design}, 25, "[plan requirements design]"}, {[]Phase{plan, req, design}, 25,
			"[plan requirements design]"},
	} {
		if got := fmt.Sprint(phasesForSize(c.phases, c.tasks)); got != c.want {
			t.Errorf("%v and %d tasks: %s, want %s", c.phases, c.tasks, got, c.want)
		}
	}
}

// Any text is scored without a panic, in range, and deterministically.
func FuzzOffline(f *testing.F) {
	f.Add("Fix /api/auth/token; no new deps; `go test ./...`; done when merged")
	f.Add("\xff`\"make it better")
	f.Fuzz(func(t *testing.T, request string) {
		s := offlineScore(request)
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if again := offlineScore(request); again != s || s.Source != fromHeuristic {
			t.Errorf("%q scores %s, then %s", request, s, again)
		}
		if k := classifyWorkflow(request); k.Workflow == "" || k.By == "" {
			t.Errorf("%q has no workflow", request)
		}
	})
}
