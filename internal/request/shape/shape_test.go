package shape_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/request/shape"
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
	got, err := shape.Parse(seed)
	want := shape.Shape{
		Criteria: []shape.Item{
			{Text: "tests pass", Verification: "execution output", Run: "go test ./..."},
			{Text: "API returns 200", Verification: "observation"},
			{Text: "UI renders", Verification: "observation"},
			{Text: "docs are written", Verification: "assumption"},
		},
		MustNot: []shape.Item{{Text: "a dependency is added"}, {Text: "the lock file changes",
			Run: "! git diff --quiet go.sum"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	if got.CountAssumptions() != 1 {
		t.Errorf("%d assumed, want 1", got.CountAssumptions())
	}
	for _, bad := range []string{"", "# Shape\n", "```yaml\ncriteria: [\n```\n", "```yaml\ncriteria: ['']\n```\n",
		"```yaml\nmustNot: [x]\n```\n"} {
		var e *shape.Error
		if s, err := shape.Parse(bad); !errors.As(err, &e) {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
	}
}

// Parse of the rendered text returns the same shape.
func TestRenderParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) shape.Item {
			return shape.Item{Text: rapid.String().Draw(t, "text"),
				Run:          rapid.SampledFrom([]string{"", "go test ./...", "test -e 'x: #y'", "a\nb"}).Draw(t, "run"),
				Verification: rapid.SampledFrom(append(shape.EvidenceKinds, "", "odd")).Draw(t, "tier")}
		}), 0, 6)
		s := shape.Shape{Criteria: append(items.Draw(t, "criteria"), shape.Item{Text: "one"}),
			MustNot: items.Draw(t, "mustNot")}.Clean()
		text := shape.Render("a request\n```yaml\nwith a fence\n```", s)
		got, err := shape.Parse(text)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%+v, %v\nwant %+v\n%s", got, err, s, text)
		}
	})
}

func TestRead(t *testing.T) {
	t.Parallel()
	s, err := shape.ReadAnswer(json.RawMessage(`{"criteria":[{"text":" a\n b ","verification":"assumption","run":"true"},{"text":"c","verification":"gut feeling"}],"mustNot":[]}`))
	want := []shape.Item{{Text: "a b", Verification: "execution output", Run: "true"},
		{Text: "c", Verification: "assumption"}}
	if err != nil || !reflect.DeepEqual(s.Criteria, want) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"criteria":[{"text":"  "}]}`, `{"criteria":3}`} {
		if s, err := shape.ReadAnswer(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: %+v", bad, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(seed)
	f.Add("---\ncriteria: [a]\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := shape.Parse(text)
		if err == nil && (len(s.Criteria) == 0 || !reflect.DeepEqual(s, s.Clean())) {
			t.Errorf("%q reads as %+v", text, s)
		}
	})
}
