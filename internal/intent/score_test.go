package intent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/intent"
)

// newScore returns a score with these points.
func newScore(points ...int) intent.Score {
	s := intent.Score{Source: intent.FromModel}
	for i, d := range intent.Dimensions {
		s.Rating(d).Points = points[i]
	}
	return s
}

// Each anchor gets the points that it is the example for.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, d := range intent.Dimensions {
		for points := range intent.MaxPoints + 1 {
			anchor := d.Example(points)
			if anchor == "none stated" || anchor == "implied" {
				anchor = ""
			}
			s := intent.Offline(anchor)
			if got := s.Rating(d).Points; got != points {
				t.Errorf("%s: %q scores %d, want %d", d, anchor, got, points)
			}
		}
	}
}

// The heuristic gives the proposed answers full points, so a person who takes one is not asked
// again.
func TestProposalsAreClear(t *testing.T) {
	t.Parallel()
	for _, d := range intent.Dimensions {
		for _, p := range d.Proposals() {
			s := intent.Offline("Improve the search\n" + d.Title() + ": " + p)
			if got := s.Rating(d); got.Points != intent.MaxPoints {
				t.Errorf("%s: %q scores %d (%s)", d, p, got.Points, got.Reason)
			}
		}
	}
}

func TestSpecBoundaries(t *testing.T) {
	t.Parallel()
	for spec, want := range map[int]intent.Shape{0: intent.Blocked, 4: intent.Blocked, 5: intent.Colleague,
		7: intent.Colleague, 8: intent.Tool, 10: intent.Tool} {
		if got := intent.ShapeBySpec(spec); got != want {
			t.Errorf("spec %d is %s, want %s", spec, got, want)
		}
	}
}

func TestFitBoundaries(t *testing.T) {
	t.Parallel()
	for fit, want := range map[int]intent.Shape{0: intent.Blocked, 24: intent.Blocked, 25: intent.Colleague,
		29: intent.Colleague,
		30: intent.ToolReview, 39: intent.ToolReview, 40: intent.Tool, 75: intent.Tool} {
		if got := intent.ShapeByFit(fit); got != want {
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
		shape       intent.Shape
		bySpec      intent.Shape
		byFit       intent.Shape
	}{
		{[]int{0, 0, 0, 0, 0}, 0, 0, intent.Blocked, intent.Blocked, intent.Blocked},
		{[]int{0, 0, 2, 2, 0}, 10, 40, intent.Blocked, intent.Blocked, intent.Tool},           // spec 4: the gate comes first
		{[]int{1, 1, 1, 1, 1}, 0, 25, intent.Colleague, intent.Colleague, intent.Colleague},   // spec 5
		{[]int{2, 2, 1, 0, 0}, 4, 29, intent.Colleague, intent.Colleague, intent.Colleague},   // spec 5
		{[]int{2, 2, 1, 0, 0}, 5, 30, intent.ToolReview, intent.Colleague, intent.ToolReview}, // spec 5, familiar domain
		{[]int{2, 1, 2, 0, 0}, 0, 30, intent.ToolReview, intent.Colleague, intent.ToolReview}, // spec 5, a constraint
		{[]int{2, 2, 1, 1, 0}, 0, 30, intent.ToolReview, intent.Colleague, intent.ToolReview}, // spec 6
		{[]int{2, 2, 2, 0, 0}, 4, 39, intent.ToolReview, intent.Colleague, intent.ToolReview}, // spec 6
		{[]int{2, 2, 2, 0, 0}, 5, 40, intent.Tool, intent.Colleague, intent.Tool},             // spec 6
		{[]int{2, 2, 1, 1, 1}, 0, 35, intent.ToolReview, intent.Colleague, intent.ToolReview}, // spec 7, no bonus
		{[]int{2, 2, 1, 1, 2}, 0, 45, intent.Tool, intent.Tool, intent.Tool},                  // spec 8
		{[]int{2, 2, 2, 2, 2}, 99, 75, intent.Tool, intent.Tool, intent.Tool},                 // the maximum
		{[]int{2, 2, 2, 2, 2}, -9, 65, intent.Tool, intent.Tool, intent.Tool},
	} {
		d := intent.Decide(newScore(c.points...), c.familiarity)
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
		for range intent.Dimensions {
			points = append(points, rapid.IntRange(0, intent.MaxPoints).Draw(t, "points"))
		}
		s, familiarity := newScore(points...), rapid.IntRange(-5, 20).Draw(t, "familiarity")
		d := intent.Decide(s, familiarity)
		if (d.Shape == intent.Blocked) != (d.Spec < intent.MinReady) {
			t.Errorf("%v: %+v", points, d)
		}
		if d.BySpec == intent.Tool && d.Shape != intent.Tool {
			t.Errorf("%v: %+v", points, d)
		}
		if d.Fit < d.Spec*5 || d.Fit > 75 {
			t.Errorf("%v: fit %d out of range", points, d.Fit)
		}
		if more := intent.Decide(s, familiarity+1); more.Fit < d.Fit {
			t.Errorf("%v: knowing more lowers the fit from %d to %d", points, d.Fit, more.Fit)
		}
		missing := s.Missing()
		for i, dim := range missing {
			if s.Rating(dim).Points >= intent.MaxPoints || i > 0 && s.Rating(dim).Points < s.Rating(missing[i-1]).Points {
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
	for request, want := range map[string]intent.Workflow{
		"fix the login by adding a check":             intent.Debug,
		"add a check that fixes the login":            intent.Debug,
		"refactor the parser and add tests":           intent.Refactor,
		"add tests, then clean up the parser":         intent.Refactor,
		"migrate to v2 and fix what breaks":           intent.Debug,
		"create a new feature":                        intent.Build,
		"reorganise the docs":                         intent.Refactor,
		"an address book":                             intent.Build, // "add" is not a word in it
		"add a suffix and a prefix":                   intent.Build, // nor "fix"
		"Add a page that says `error: bug fixed`":     intent.Build, // a quotation does not count
		"Add the message \"failing to fix\" to it":    intent.Build,
		"the test is FAILING":                         intent.Debug,
		"bring latency below 5 ms":                    intent.Build,
		"implement error handling for the new parser": intent.Debug, // a documented false match
	} {
		if got := intent.ClassifyWorkflow(request); got.Workflow != want {
			t.Errorf("%q is %s by %q, want %s", request, got.Workflow, got.By, want)
		}
	}
	var gates []string
	for _, w := range []intent.Workflow{intent.Build, intent.Debug, intent.Refactor} {
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
	for request, want := range map[string]intent.ReversibilityClass{
		"rename a config key":                             intent.Quick,
		"upgrade the dependencies":                        intent.Stepwise,
		"add a flag; no new dependencies":                 intent.Quick,
		"add a flag without a breaking change":            intent.Quick,
		"keep the public API and split the file":          intent.Stepwise,
		"change the database schema":                      intent.Irreversible,
		"drop the column and upgrade the dependency":      intent.Irreversible,
		"speed it up; the public API stays as it is":      intent.Quick,
		"rewrite the parser":                              intent.Stepwise,
		"change the public API":                           intent.Irreversible,
		"Do not touch the schema. Publish it when done":   intent.Irreversible,
		"write \"deploy to production\" into the README":  intent.Quick,
		"delete all user data that is older than a year":  intent.Irreversible,
		"migrate the build to make":                       intent.Stepwise,
		"migrate the data of the users to the new tables": intent.Irreversible,
	} {
		if got := intent.ClassifyReversibility(request); got.Class != want {
			t.Errorf("%q is %s by %q, want %s", request, got.Class, got.By, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	d := intent.Decide(newScore(2, 2, 2, 1, 1), 0)
	good := intent.PreflightFacts{Decision: &d, Reversibility: &intent.Reversibility{Class: intent.Quick},
		Workflow: &intent.WorkflowMatch{Workflow: intent.Debug},
		Criteria: 3, Tasks: 4, Waves: 2, Plan: "plan.json", State: ".loop", Budget: "$25"}
	points := intent.Preflight(good)
	if len(points) != 8 || !intent.PreflightPassed(points) {
		t.Fatalf("%d points: %+v", len(points), points)
	}
	if got, want := intent.Announcement(good),
		"[LOOP] Starting | Shape: tool (8/10) | Workflow: B | Steps: 4 | Budget: $25"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, spoil := range map[string]func(*intent.PreflightFacts){
		"spec scored":                      func(f *intent.PreflightFacts) { f.Decision = nil },
		"reversibility classified":         func(f *intent.PreflightFacts) { f.Reversibility = nil },
		"success criteria extracted":       func(f *intent.PreflightFacts) { f.Criteria = 0 },
		"decomposed into steps":            func(f *intent.PreflightFacts) { f.Tasks = 0 },
		"tasks written, each with a check": func(f *intent.PreflightFacts) { f.Unchecked = []string{"T-001"} },
		"state can be kept":                func(f *intent.PreflightFacts) { f.State = "" },
		"announced":                        func(f *intent.PreflightFacts) { f.Workflow = nil },
	} {
		bad := good
		spoil(&bad)
		points := intent.Preflight(bad)
		at := slices.IndexFunc(points, func(p intent.PreflightItem) bool { return p.Name == name })
		if intent.PreflightPassed(points) || at < 0 || points[at].OK {
			t.Errorf("%s: %+v", name, points)
		}
	}
	low := intent.Decide(newScore(1, 1, 1, 1, 0), 0)
	bad := good
	bad.Decision = &low
	if points := intent.Preflight(bad); points[0].OK || points[1].OK {
		t.Errorf("a spec of 4 passes: %+v", points)
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	build, refactor := intent.WorkflowMatch{Workflow: intent.Build}, intent.WorkflowMatch{Workflow: intent.Refactor}
	quick, oneWay := intent.Reversibility{Class: intent.Quick}, intent.Reversibility{Class: intent.Irreversible}
	for _, c := range []struct {
		s    intent.Score
		kind intent.WorkflowMatch
		undo intent.Reversibility
		want string
	}{
		{newScore(2, 2, 2, 1, 1), build, quick, "[]"},
		{newScore(2, 1, 2, 2, 1), build, quick, "[plan]"},
		{newScore(2, 2, 2, 1, 1), refactor, quick, "[plan design]"},
		{newScore(2, 2, 2, 1, 1), build, oneWay, "[plan design]"},
		{newScore(2, 2, 2, 0, 2), build, quick, "[plan requirements design]"},
	} {
		if got := fmt.Sprint(intent.Phases(c.s, c.kind, c.undo)); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.s, c.kind.Workflow, c.undo.Class, got, c.want)
		}
	}
}

// Large work gets requirements in the right place, and no phase twice.
func TestPhasesForSize(t *testing.T) {
	t.Parallel()
	plan, req, design := intent.PhasePlan, intent.PhaseRequirements, intent.PhaseDesign
	for _, c := range []struct {
		phases []intent.Phase
		tasks  int
		want   string
	}{
		{nil, 0, "[]"}, {nil, 5, "[]"}, {nil, 6, "[requirements]"}, {[]intent.Phase{plan}, 5, "[plan]"},
		{[]intent.Phase{plan}, 6, "[plan requirements]"},
		{[]intent.Phase{plan, design}, 25, "[plan requirements design]"}, {[]intent.Phase{plan, req, design}, 25,
			"[plan requirements design]"},
	} {
		if got := fmt.Sprint(intent.PhasesForSize(c.phases, c.tasks)); got != c.want {
			t.Errorf("%v and %d tasks: %s, want %s", c.phases, c.tasks, got, c.want)
		}
	}
}

// Any text is scored without a panic, in range, and deterministically.
func FuzzOffline(f *testing.F) {
	f.Add("Fix /api/auth/token; no new deps; `go test ./...`; done when merged")
	f.Add("\xff`\"make it better")
	f.Fuzz(func(t *testing.T, request string) {
		s := intent.Offline(request)
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if again := intent.Offline(request); again != s || s.Source != intent.FromHeuristic {
			t.Errorf("%q scores %s, then %s", request, s, again)
		}
		if k := intent.ClassifyWorkflow(request); k.Workflow == "" || k.By == "" {
			t.Errorf("%q has no workflow", request)
		}
	})
}
