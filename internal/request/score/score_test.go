package score_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/request/score"
)

// newScore returns a score with these points.
func newScore(points ...int) score.Score {
	s := score.Score{Source: score.FromModel}
	for i, d := range score.Dimensions {
		s.Rating(d).Points = points[i]
	}
	return s
}

// Each anchor gets the points that it is the example for.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, d := range score.Dimensions {
		for points := range score.MaxPoints + 1 {
			anchor := d.Example(points)
			if anchor == "none stated" || anchor == "implied" {
				anchor = ""
			}
			s := score.Offline(anchor)
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
	for _, d := range score.Dimensions {
		for _, p := range d.Proposals() {
			s := score.Offline("Improve the search\n" + d.Title() + ": " + p)
			if got := s.Rating(d); got.Points != score.MaxPoints {
				t.Errorf("%s: %q scores %d (%s)", d, p, got.Points, got.Reason)
			}
		}
	}
}

func TestSpecBoundaries(t *testing.T) {
	t.Parallel()
	for spec, want := range map[int]score.Shape{0: score.Blocked, 4: score.Blocked, 5: score.Colleague,
		7: score.Colleague, 8: score.Tool, 10: score.Tool} {
		if got := score.ShapeBySpec(spec); got != want {
			t.Errorf("spec %d is %s, want %s", spec, got, want)
		}
	}
}

func TestFitBoundaries(t *testing.T) {
	t.Parallel()
	for fit, want := range map[int]score.Shape{0: score.Blocked, 24: score.Blocked, 25: score.Colleague,
		29: score.Colleague,
		30: score.ToolReview, 39: score.ToolReview, 40: score.Tool, 75: score.Tool} {
		if got := score.ShapeByFit(fit); got != want {
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
		shape       score.Shape
		bySpec      score.Shape
		byFit       score.Shape
	}{
		{[]int{0, 0, 0, 0, 0}, 0, 0, score.Blocked, score.Blocked, score.Blocked},
		{[]int{0, 0, 2, 2, 0}, 10, 40, score.Blocked, score.Blocked, score.Tool},           // spec 4: the gate comes first
		{[]int{1, 1, 1, 1, 1}, 0, 25, score.Colleague, score.Colleague, score.Colleague},   // spec 5
		{[]int{2, 2, 1, 0, 0}, 4, 29, score.Colleague, score.Colleague, score.Colleague},   // spec 5
		{[]int{2, 2, 1, 0, 0}, 5, 30, score.ToolReview, score.Colleague, score.ToolReview}, // spec 5, familiar domain
		{[]int{2, 1, 2, 0, 0}, 0, 30, score.ToolReview, score.Colleague, score.ToolReview}, // spec 5, a constraint
		{[]int{2, 2, 1, 1, 0}, 0, 30, score.ToolReview, score.Colleague, score.ToolReview}, // spec 6
		{[]int{2, 2, 2, 0, 0}, 4, 39, score.ToolReview, score.Colleague, score.ToolReview}, // spec 6
		{[]int{2, 2, 2, 0, 0}, 5, 40, score.Tool, score.Colleague, score.Tool},             // spec 6
		{[]int{2, 2, 1, 1, 1}, 0, 35, score.ToolReview, score.Colleague, score.ToolReview}, // spec 7, no bonus
		{[]int{2, 2, 1, 1, 2}, 0, 45, score.Tool, score.Tool, score.Tool},                  // spec 8
		{[]int{2, 2, 2, 2, 2}, 99, 75, score.Tool, score.Tool, score.Tool},                 // the maximum
		{[]int{2, 2, 2, 2, 2}, -9, 65, score.Tool, score.Tool, score.Tool},
	} {
		d := score.Decide(newScore(c.points...), c.familiarity)
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
		for range score.Dimensions {
			points = append(points, rapid.IntRange(0, score.MaxPoints).Draw(t, "points"))
		}
		s, familiarity := newScore(points...), rapid.IntRange(-5, 20).Draw(t, "familiarity")
		d := score.Decide(s, familiarity)
		if (d.Shape == score.Blocked) != (d.Spec < score.MinReady) {
			t.Errorf("%v: %+v", points, d)
		}
		if d.BySpec == score.Tool && d.Shape != score.Tool {
			t.Errorf("%v: %+v", points, d)
		}
		if d.Fit < d.Spec*5 || d.Fit > 75 {
			t.Errorf("%v: fit %d out of range", points, d.Fit)
		}
		if more := score.Decide(s, familiarity+1); more.Fit < d.Fit {
			t.Errorf("%v: knowing more lowers the fit from %d to %d", points, d.Fit, more.Fit)
		}
		missing := s.Missing()
		for i, dim := range missing {
			if s.Rating(dim).Points >= score.MaxPoints || i > 0 && s.Rating(dim).Points < s.Rating(missing[i-1]).Points {
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
	for request, want := range map[string]score.Workflow{
		"fix the login by adding a check":             score.Debug,
		"add a check that fixes the login":            score.Debug,
		"refactor the parser and add tests":           score.Refactor,
		"add tests, then clean up the parser":         score.Refactor,
		"migrate to v2 and fix what breaks":           score.Debug,
		"create a new feature":                        score.Build,
		"reorganise the docs":                         score.Refactor,
		"an address book":                             score.Build, // "add" is not a word in it
		"add a suffix and a prefix":                   score.Build, // nor "fix"
		"Add a page that says `error: bug fixed`":     score.Build, // a quotation does not count
		"Add the message \"failing to fix\" to it":    score.Build,
		"the test is FAILING":                         score.Debug,
		"bring latency below 5 ms":                    score.Build,
		"implement error handling for the new parser": score.Debug, // a documented false match
	} {
		if got := score.ClassifyWorkflow(request); got.Workflow != want {
			t.Errorf("%q is %s by %q, want %s", request, got.Workflow, got.By, want)
		}
	}
	var gates []string
	for _, w := range []score.Workflow{score.Build, score.Debug, score.Refactor} {
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
	for request, want := range map[string]score.ReversibilityClass{
		"rename a config key":                             score.Quick,
		"upgrade the dependencies":                        score.Stepwise,
		"add a flag; no new dependencies":                 score.Quick,
		"add a flag without a breaking change":            score.Quick,
		"keep the public API and split the file":          score.Stepwise,
		"change the database schema":                      score.Irreversible,
		"drop the column and upgrade the dependency":      score.Irreversible,
		"speed it up; the public API stays as it is":      score.Quick,
		"rewrite the parser":                              score.Stepwise,
		"change the public API":                           score.Irreversible,
		"Do not touch the schema. Publish it when done":   score.Irreversible,
		"write \"deploy to production\" into the README":  score.Quick,
		"delete all user data that is older than a year":  score.Irreversible,
		"migrate the build to make":                       score.Stepwise,
		"migrate the data of the users to the new tables": score.Irreversible,
	} {
		if got := score.ClassifyReversibility(request); got.Class != want {
			t.Errorf("%q is %s by %q, want %s", request, got.Class, got.By, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	d := score.Decide(newScore(2, 2, 2, 1, 1), 0)
	good := score.PreflightFacts{Decision: d, Reversibility: score.Reversibility{Class: score.Quick},
		Workflow: score.WorkflowMatch{Workflow: score.Debug},
		Criteria: 3, Tasks: 4, Waves: 2, Plan: "plan.json", State: ".loop", Budget: "$25"}
	points := score.Preflight(good)
	if len(points) != 8 || !score.PreflightPassed(points) {
		t.Fatalf("%d points: %+v", len(points), points)
	}
	if got, want := score.Announcement(good),
		"[LOOP] Starting | Shape: tool (8/10) | Workflow: B | Steps: 4 | Budget: $25"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, spoil := range map[string]func(*score.PreflightFacts){
		"spec scored":                      func(f *score.PreflightFacts) { f.Decision = score.Decision{} },
		"reversibility classified":         func(f *score.PreflightFacts) { f.Reversibility = score.Reversibility{} },
		"success criteria extracted":       func(f *score.PreflightFacts) { f.Criteria = 0 },
		"decomposed into steps":            func(f *score.PreflightFacts) { f.Tasks = 0 },
		"tasks written, each with a check": func(f *score.PreflightFacts) { f.Unchecked = []string{"T-001"} },
		"state can be kept":                func(f *score.PreflightFacts) { f.State = "" },
		"announced":                        func(f *score.PreflightFacts) { f.Workflow = score.WorkflowMatch{} },
	} {
		bad := good
		spoil(&bad)
		points := score.Preflight(bad)
		at := slices.IndexFunc(points, func(p score.PreflightItem) bool { return p.Name == name })
		if score.PreflightPassed(points) || at < 0 || points[at].OK {
			t.Errorf("%s: %+v", name, points)
		}
	}
	low := score.Decide(newScore(1, 1, 1, 1, 0), 0)
	bad := good
	bad.Decision = low
	if points := score.Preflight(bad); points[0].OK || points[1].OK {
		t.Errorf("a spec of 4 passes: %+v", points)
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	build, refactor := score.WorkflowMatch{Workflow: score.Build}, score.WorkflowMatch{Workflow: score.Refactor}
	quick, oneWay := score.Reversibility{Class: score.Quick}, score.Reversibility{Class: score.Irreversible}
	for _, c := range []struct {
		s    score.Score
		kind score.WorkflowMatch
		undo score.Reversibility
		want string
	}{
		{newScore(2, 2, 2, 1, 1), build, quick, "[]"},
		{newScore(2, 1, 2, 2, 1), build, quick, "[plan]"},
		{newScore(2, 2, 2, 1, 1), refactor, quick, "[plan design]"},
		{newScore(2, 2, 2, 1, 1), build, oneWay, "[plan design]"},
		{newScore(2, 2, 2, 0, 2), build, quick, "[plan requirements design]"},
	} {
		if got := fmt.Sprint(score.Phases(c.s, c.kind, c.undo)); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.s, c.kind.Workflow, c.undo.Class, got, c.want)
		}
	}
}

// Large work gets requirements in the right place, and no phase twice.
func TestPhasesForSize(t *testing.T) {
	t.Parallel()
	plan, req, design := score.PhasePlan, score.PhaseRequirements, score.PhaseDesign
	for _, c := range []struct {
		phases []score.Phase
		tasks  int
		want   string
	}{
		{nil, 0, "[]"}, {nil, 5, "[]"}, {nil, 6, "[requirements]"}, {[]score.Phase{plan}, 5, "[plan]"},
		{[]score.Phase{plan}, 6, "[plan requirements]"},
		{[]score.Phase{plan, design}, 25, "[plan requirements design]"}, {[]score.Phase{plan, req, design}, 25,
			"[plan requirements design]"},
	} {
		if got := fmt.Sprint(score.PhasesForSize(c.phases, c.tasks)); got != c.want {
			t.Errorf("%v and %d tasks: %s, want %s", c.phases, c.tasks, got, c.want)
		}
	}
}

// Any text is scored without a panic, in range, and deterministically.
func FuzzOffline(f *testing.F) {
	f.Add("Fix /api/auth/token; no new deps; `go test ./...`; done when merged")
	f.Add("\xff`\"make it better")
	f.Fuzz(func(t *testing.T, request string) {
		s := score.Offline(request)
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if again := score.Offline(request); again != s || s.Source != score.FromHeuristic {
			t.Errorf("%q scores %s, then %s", request, s, again)
		}
		if k := score.ClassifyWorkflow(request); k.Workflow == "" || k.By == "" {
			t.Errorf("%q has no workflow", request)
		}
	})
}
