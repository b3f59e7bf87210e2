package request

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const seed = `# SHAPE

` + "```yaml" + `
criteria:
  - tests pass
  - text: API returns 200
    verification: observation
  - UI renders
mustNot:
  - a dependency is added
  - {text: the lock file changes, run: "! git diff --quiet go.sum"}
verification:
  tests pass: {type: execution output, run: go test ./...}
  UI renders: observation
` + "```" + `

Words between.

` + "```yaml" + `
criteria: [docs are written]
` + "```\n"

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parseShape(seed)
	want := Shape{
		Criteria: []Item{
			{Text: "tests pass", Verification: "execution output", Run: "go test ./..."},
			{Text: "API returns 200", Verification: "observation"},
			{Text: "UI renders", Verification: "observation"},
			{Text: "docs are written", Verification: "assumption"},
		},
		MustNot: []Item{{Text: "a dependency is added"}, {Text: "the lock file changes",
			Run: "! git diff --quiet go.sum"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	if got.CountAssumptions() != 1 {
		t.Errorf("%d assumed, want 1", got.CountAssumptions())
	}
	for _, bad := range []string{"", "# Shape\n", "```yaml\ncriteria: [\n```\n", "```yaml\ncriteria: ['']\n```\n",
		"```yaml\nmustNot: [x]\n```\n",
		"```yaml\ncriteria: [x]\nmustNot:\n" + strings.Repeat("- y\n", 41) + "```\n"} {
		var e shapeProblem
		if s, err := parseShape(bad); !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
	}
}

// A list under verification assigns evidence by criterion, or in the order of the criteria. Words that assign
// nothing are refused, not dropped.
func TestVerificationList(t *testing.T) {
	t.Parallel()
	const criteria = "```yaml\ncriteria: [tests pass, API returns 200, UI renders]\nverification:\n"
	want := []Item{{Text: "tests pass", Verification: "execution output", Run: "go test ./..."},
		{Text: "API returns 200", Verification: "measurement"}, {Text: "UI renders", Verification: "observation"}}
	for name, list := range map[string]string{
		"in order": "- {type: execution output, run: go test ./...}\n- measurement\n- Observation\n",
		"by criterion": "- {criterion: UI renders, type: observation}\n" +
			"- {text: API returns 200, verification: measurement}\n- {criterion: tests pass, run: go test ./...}\n",
		"pairs": "- UI renders: observation\n- API returns 200: {type: measurement}\n" +
			"- tests pass: {run: go test ./...}\n",
		"pairs, by kind": "- observation: UI renders\n- measurement: API returns 200\n" +
			"- {criterion: tests pass, run: go test ./...}\n",
		"both": "- {criterion: UI renders, type: observation, who: []}\n- measurement\n- tests pass: {run: go test ./...}\n",
	} {
		got, err := parseShape(criteria + list + "```\n")
		if err != nil || !reflect.DeepEqual(got.Criteria, want) {
			t.Errorf("%s: %+v, %v", name, got.Criteria, err)
		}
	}
	got, err := parseShape("```yaml\ncriteria: [a]\n```\n```yaml\ncriteria: [b]\nverification: [observation]\n```\n")
	if err != nil || got.Criteria[0].Verification != "assumption" || got.Criteria[1].Verification != "observation" {
		t.Errorf("the order is that of its own block: %+v, %v", got, err)
	}
	for list, word := range map[string]string{
		"- run the tests and look\n":                                   `"run the tests and look"`,
		"- {criterion: no such, type: observation}":                    `"no such"`,
		"  no such: observation\n":                                     `"no such"`,
		"- tests pass: by hand\n":                                      `"by hand"`,
		"  tests pass: by hand\n":                                      `"by hand"`,
		"- observation\n- observation\n- observation\n- measurement\n": "entry 4",
		"- [observation]\n":                                            "entry 1",
		"  observation\n":                                              "verification",
	} {
		var e shapeProblem
		if _, err := parseShape(criteria + list + "\n```\n"); !errors.As(err, &e) || !strings.Contains(string(e), word) ||
			!strings.Contains(string(e), "execution output") {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// Parse of the rendered text returns the same shape.
func TestRenderParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Item {
			return Item{Text: rapid.String().Draw(t, "text"),
				Run:          rapid.SampledFrom([]string{"", "go test ./...", "test -e 'x: #y'", "a\nb"}).Draw(t, "run"),
				Verification: rapid.SampledFrom(append(evidenceKinds, "", "odd")).Draw(t, "tier")}
		}), 0, 6)
		s := Shape{Criteria: append(items.Draw(t, "criteria"), Item{Text: "one"}),
			MustNot: items.Draw(t, "mustNot")}.clean()
		text := renderShape("a request\n```yaml\nwith a fence\n```", s)
		got, err := parseShape(text)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%+v, %v\nwant %+v\n%s", got, err, s, text)
		}
	})
}

func TestRead(t *testing.T) {
	t.Parallel()
	s, err := readShapeAnswer(json.RawMessage(`{"criteria":[{"text":" a\n b ","verification":"assumption","run":"true"},{"text":"c","verification":"gut feeling"}],"mustNot":[]}`))
	want := []Item{{Text: "a b", Verification: "execution output", Run: "true"},
		{Text: "c", Verification: "assumption"}}
	if err != nil || !reflect.DeepEqual(s.Criteria, want) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"criteria":[{"text":"  "}]}`, `{"criteria":3}`} {
		if s, err := readShapeAnswer(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %+v", bad, s)
		}
	}
}

func FuzzParseShape(f *testing.F) {
	f.Add(seed)
	f.Add("---\ncriteria: [a]\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseShape(text)
		if err == nil && (len(s.Criteria) == 0 || !reflect.DeepEqual(s, s.clean())) {
			t.Errorf("%q reads as %+v", text, s)
		}
	})
}
