package counsel

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/check"
	"wavex/runner"
)

// failing returns a case whose one check printed output.
func failing(output string) Case {
	return Case{Outcome: runner.Wrong, Checks: []check.Evidence{{Check: "make check", ExitCode: 1, Output: output}},
		Attempt: 1}
}

func TestSelectExperts(t *testing.T) {
	t.Parallel()
	with := func(c Case, change func(*Case)) Case { change(&c); return c }
	test := "--- FAIL: TestSum\n want 5"
	for _, tt := range []struct {
		name string
		c    Case
		want []string
	}{
		{"a failing test", failing(test), []string{"debugger", "tester"}},
		{"nothing known", Case{}, []string{"debugger", "api-designer"}},
		{"does not compile", failing("./a.go:3: undefined: Sum"), []string{"api-designer", "debugger"}},
		{"a dependency is missing", failing("missing go.sum entry; no such file"), []string{"build-engineer", "debugger"}},
		{"linter", failing("golangci-lint: 3 issues"), []string{"simplifier", "build-engineer"}},
		{"panic", failing("panic: runtime error"), []string{"debugger", "api-designer"}},
		{"time ran out", Case{Outcome: runner.TimedOut}, []string{"delivery-manager", "debugger"}},
		{"stalled", Case{Outcome: runner.Stalled}, []string{"operator", "debugger"}},
		{"too many turns", Case{Outcome: runner.OverTurns}, []string{"simplifier", "delivery-manager"}},
		{"port taken", failing("dial tcp 127.0.0.1:5432: connection refused"), []string{"operator", "debugger"}},
		{"a constraint", failing("ERROR: duplicate key value violates unique constraint"),
			[]string{"data-engineer", "debugger"}},
		{"permission denied", failing("open /etc/x: permission denied"), []string{"operator", "debugger"}},
		{"aspect first", with(failing(test), func(c *Case) { c.Aspects = []string{"Security"} }),
			[]string{"security-engineer", "debugger"}},
		{"two aspects", with(failing(test), func(c *Case) { c.Aspects = []string{"ux", "performance"} }),
			[]string{"performance-engineer", "ux-designer"}},
		{"file kinds", with(failing(test), func(c *Case) { c.Files = []string{"web/cart.tsx", "web/cart.css"} }),
			[]string{"ux-designer", "debugger"}},
		{"test files", with(failing(test), func(c *Case) { c.Files = []string{"sum_test.go"} }),
			[]string{"debugger", "tester"}},
		{"nothing was edited", Case{Outcome: runner.Wrong, Files: []string{"x.zig"}},
			[]string{"delivery-manager", "debugger"}},

		{"the same error again", with(failing(test), func(c *Case) {
			c.SameError, c.Consulted = true, []string{"debugger", "tester"}
		}), []string{"simplifier", "delivery-manager"}},
		{"another error, the best again", with(failing(test), func(c *Case) { c.Consulted = []string{"debugger", "tester"} }),
			[]string{"debugger", "tester"}},
		{"thorough", with(failing(test), func(c *Case) { c.Thorough, c.Consulted = true, []string{"debugger", "tester"} }),
			[]string{"debugger", "delivery-manager", "domain-modeller"}},
		{"thorough, the best were all consulted", with(failing("odd"), func(c *Case) {
			c.Aspects, c.Consulted = []string{"security", "ux", "data"}, []string{"ux-designer", "data-engineer",
				"security-engineer"}
			c.Thorough = true
		}), []string{"data-engineer", "security-engineer", "debugger"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, "experts", names(SelectExperts(builtIn(t), tt.c)), tt.want)
		})
	}
}

func TestSelectFromASmallRoster(t *testing.T) {
	t.Parallel()
	all := builtIn(t).Experts()
	two := &Roster{experts: []Expert{all[3], all[10]}} // debugger, tester
	c := failing("--- FAIL")
	c.Thorough = true
	same(t, "all there are", names(SelectExperts(two, c)), []string{"debugger", "tester"})
	c.SameError, c.Consulted = true, []string{"tester", "gone", "debugger"}
	same(t, "the longest ago first", names(SelectExperts(two, c)), []string{"tester", "debugger"})
	c.Consulted = []string{"debugger"}
	same(t, "new views first", names(SelectExperts(two, c)), []string{"tester", "debugger"})
	same(t, "nobody", len(SelectExperts(&Roster{}, c)), 0)
}

// A thorough panel is whole if every expert was consulted, and a tie goes to one that was not.
func TestSelectAfterConsultations(t *testing.T) {
	t.Parallel()
	roster := builtIn(t)
	c := failing("odd")
	c.Thorough, c.Consulted = true, names(roster.Experts())
	same(t, "all were consulted", len(SelectExperts(roster, c)), thoroughSize)
	equal := &Roster{[]Expert{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}}
	c.Thorough = false
	for _, tt := range []struct{ consulted, want []string }{
		{nil, []string{"a", "b"}},
		{[]string{"a"}, []string{"b", "c"}},
		{[]string{"a", "c"}, []string{"b", "d"}},
		{[]string{"a", "b", "d"}, []string{"c", "a"}},
	} {
		c.Consulted = tt.consulted
		same(t, strings.Join(tt.consulted, ""), names(SelectExperts(equal, c)), tt.want)
	}
}

func TestSelectProperties(t *testing.T) {
	t.Parallel()
	roster := builtIn(t)
	all := names(roster.Experts())
	rapid.Check(t, func(t *rapid.T) {
		c := failing(rapid.SampledFrom([]string{"", "--- FAIL", "panic: x", "sql: no rows", "timed out", "eslint"}).Draw(t,
			"output"))
		c.Aspects = rapid.SliceOfN(rapid.SampledFrom([]string{"security", "ux", "api", "data", "build", "odd"}), 0,
			3).Draw(t, "aspects")
		c.Files = rapid.SliceOfN(rapid.SampledFrom([]string{"a.go", "b.css", "c.sql", "Makefile", "d_test.go"}), 0,
			3).Draw(t, "files")
		c.Consulted = rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, len(all), rapid.ID[string]).Draw(t, "consulted")
		c.SameError, c.Thorough = rapid.Bool().Draw(t, "same"), rapid.Bool().Draw(t, "thorough")
		got := names(SelectExperts(roster, c))
		if again := names(SelectExperts(roster, c)); !slices.Equal(got, again) {
			t.Fatalf("%v, then %v", got, again)
		}
		want := panelSize
		if c.Thorough {
			want = thoroughSize
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(unique) != want {
			t.Fatalf("%v: not %d distinct experts", got, want)
		}
		fresh := 0
		for _, name := range got {
			if !slices.Contains(c.Consulted, name) {
				fresh++
			}
		}
		left := len(all) - len(c.Consulted)
		if c.SameError && fresh != min(want, left) {
			t.Fatalf("%v after %v: %d new, %d are left", got, c.Consulted, fresh, left)
		}
		if c.Thorough && left > 0 && fresh == 0 {
			t.Fatalf("%v after %v: nobody new", got, c.Consulted)
		}
	})
}

func TestClassifyFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		c    Case
		want []string
	}{
		{"outcome alone", Case{Outcome: runner.Stalled}, []string{"stalled"}},
		{"colours of words", failing("Traceback (most recent call last)\nModuleNotFoundError: No module named 'x'"),
			[]string{"dependency", "panic", "wrong"}},
		{"rust", failing("error[E0425]: cannot find value"), []string{"compile", "wrong"}},
		{"race", failing("WARNING: DATA RACE\nFAIL"), []string{"race", "test", "wrong"}},
		{"no word inside a word", failing("the room and the classroom"), []string{"wrong"}},
		{"killed for memory", failing("signal: killed"), []string{"memory", "wrong"}},
		{"reason counts", Case{Outcome: runner.Wrong, Reason: "bash: foo: command not found"}, []string{"missing", "wrong"}},
		{"history", Case{Outcome: runner.Wrong, History: []string{"a", "b"}}, []string{"repeated", "wrong"}},
		{"one earlier failure is no repetition", Case{Outcome: runner.Wrong, History: []string{"a"}}, []string{"wrong"}},
		{"passed checks are silent", Case{Outcome: runner.Wrong, Checks: []check.Evidence{{Passed: true, Output: "panic:"}}},
			[]string{"wrong"}},
		{"the agent's words are not asked", Case{Outcome: runner.Wrong, Report: "panic: deadlock"}, []string{"wrong"}},
		{"edited, so not unchanged", Case{Outcome: runner.Wrong, Files: []string{"a"}, Diff: "+x"}, []string{"wrong"}},
		{"a check failed, so not unchanged", Case{Outcome: runner.Wrong, Files: []string{"a"}, Checks: []check.Evidence{{}}},
			[]string{"wrong"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, "kinds", ClassifyFailure(tt.c), tt.want)
		})
	}
}

func TestFileKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"a/b.go", []string{"b", "go"}},
		{"a/b_test.go", []string{"b_test", "go", "test"}},
		{"cart.test.ts", []string{"cart.test", "test", "ts"}},
		{"test_cart.py", []string{"py", "test", "test_cart"}},
		{"src/test/cart.c", []string{"c", "cart", "test"}},
		{`web\cart.spec.TS`, []string{"cart.spec", "spec", "ts"}},
		{"cart_spec.rb", []string{"cart_spec", "rb", "spec"}},
		{"types.d.ts", []string{"d.ts", "ts"}},
		{"Dockerfile", []string{"dockerfile"}},
		{"Dockerfile.dev", []string{"dev", "dockerfile"}},
		{".env", []string{"env"}},
		{"tests/run", []string{"run", "test"}},
		{".github/workflows/release.yml", []string{"ci", "release", "yml"}},
		{".gitlab-ci.yml", []string{".gitlab-ci", "ci", "yml"}},
		{"Jenkinsfile", []string{"ci", "jenkinsfile"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			same(t, "kinds", fileKinds([]string{tt.file}), tt.want)
		})
	}
}

// The second expert of a panel covers another feature of the case, although the first one's counts for more.
func TestSelectOtherViews(t *testing.T) {
	t.Parallel()
	c := failing("--- FAIL: TestSum\n want 5")
	c.Aspects, c.Files = []string{"security", "ux"}, []string{"a.go", "b.css"}
	for name, experts := range map[string][3]Expert{
		"aspect": {{Aspects: []string{"security"}}, {Aspects: []string{"security"}}, {Files: []string{"css"}}},
		"kind":   {{Failures: []string{"test"}}, {Failures: []string{"test"}}, {Files: []string{"css"}}},
		"file":   {{Files: []string{"go"}}, {Files: []string{"go"}}, {Failures: []string{anyFailure}}},
	} {
		for i, e := range []string{"a", "b", "c"} {
			experts[i].Name = e
		}
		same(t, name, names(SelectExperts(&Roster{experts[:]}, c)), []string{"a", "c"})
	}
}
