package userdata

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"wavex/internal/testrepo"
)

func day(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

func TestAddAndLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", learningsFile)
	if list, bad, err := LoadLearnings(path); list != nil || bad != 0 || err != nil {
		t.Fatalf("a file that is not there: %v, %d, %v", list, bad, err)
	}
	first := Learning{Kind: Failure, Context: "writing sum.go", Failure: "the tests failed", Cause: "a wrong operator",
		Time: day(1)}
	again := first
	again.Time = day(9)
	for _, l := range []Learning{first, {Kind: "odd", Context: "x\ny", Time: day(2)}, again} {
		testrepo.Must(t, AddLearnings(path, []Learning{l}, Shared))
	}
	// A torn line, and one without a learning.
	testrepo.Must(t, os.WriteFile(path, append(read(t, path), "{}\n{\"cont"...), 0o600))
	more := []Learning{{Kind: Constraint, Context: "keep the API", Time: day(3)}}
	testrepo.Must(t, AddLearnings(path, more, Shared))
	list, bad, err := LoadLearnings(path)
	if err != nil || bad != 2 || len(list) != 3 {
		t.Fatalf("%d learnings, %d bad, %v: %+v", len(list), bad, err, list)
	}
	if l := list[0]; l.Count != 2 || !l.Time.Equal(day(9)) || l.ID == "" || l.ID == list[1].ID {
		t.Errorf("learnt twice: %+v", l)
	}
	if l := list[1]; l.Kind != Discovery || l.Context != "x y" {
		t.Errorf("cleaned: %+v", l)
	}
	if list[2].Context != "keep the API" {
		t.Errorf("behind a torn line: %+v", list[2])
	}
	if got, want := list[0].String(), "failure: writing sum.go; the tests failed; because: a wrong operator"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	testrepo.Must(t, err)
	return data
}

func sampleLearnings() []Learning {
	list, _ := parseLearnings([]byte(`
{"context":"parsing dates in the importer","failure":"dates without a zone were read as local","prevention":"parse with time.UTC","files":["importer/date.go"],"time":"2025-12-01T00:00:00Z"}
{"context":"importing CSV files","failure":"a byte order mark broke the header","prevention":"trim the BOM","files":["importer/csv.go"],"time":"2025-12-20T00:00:00Z"}
{"context":"rate limits of the mail service","failure":"429 after 10 mails a second","time":"2025-06-01T00:00:00Z"}
{"context":"validateToken accepts expired tokens","root_cause":"the clock is compared in seconds","files":["auth/token.go"],"signature":"token_test.go: expired token accepted","time":"2025-11-01T00:00:00Z"}
{"context":"the build needs go 1.24","kind":"constraint","time":"2025-01-01T00:00:00Z"}`))
	return list
}

func TestRecall(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"Import CSV files with dates":                   "importing CSV files",
		"Fix auth/token.go: expired tokens are refused": "validateToken accepts expired tokens",
		"send mails within the rate limit":              "rate limits of the mail service",
		"token_test.go: expired token accepted":         "validateToken accepts expired tokens",
		"paint the fence green":                         "",
		"":                                              "",
		"the and of":                                    "",
	} {
		hits := Recall(sampleLearnings(), query, day(0))
		got := ""
		if len(hits) > 0 {
			got = hits[0].Context
		}
		if got != want {
			t.Errorf("%q recalls %q, want %q", query, got, want)
		}
	}
}

// The newer and more frequent of two learnings with equal words ranks higher. There are never more
// than Top.
func TestRecallWeights(t *testing.T) {
	t.Parallel()
	var list []Learning
	for i, age := range []int{-800, -3, -400} {
		list = append(list, Learning{ID: string(rune('a' + i)), Context: "flaky network test", Time: day(age), Count: 1})
	}
	if got := ids(Recall(list, "the network test is flaky", day(0))); got != "bca" {
		t.Errorf("by age: %s", got)
	}
	list[0].Count = 64
	if got := ids(Recall(list, "the network test is flaky", day(0))); got != "abc" {
		t.Errorf("with a frequent one: %s", got)
	}
	for i := range 9 {
		list = append(list, Learning{ID: string(rune('m' + i)), Context: "flaky network test", Time: day(-i)})
	}
	if got := Recall(list, "the network test is flaky", day(0)); len(got) != MaxRecalled {
		t.Errorf("%d hits", len(got))
	}
}

func ids(hits []Hit) string {
	var b strings.Builder
	for _, h := range hits {
		b.WriteString(h.ID)
	}
	return b.String()
}

func TestFamiliarity(t *testing.T) {
	t.Parallel()
	if got := Familiarity(nil, "anything at all"); got != 0 {
		t.Errorf("nothing known: %d", got)
	}
	q := "Import CSV files with dates"
	some := Familiarity(Recall(sampleLearnings(), q, day(0)), q)
	if some < 1 || some > 9 {
		t.Errorf("something known: %d", some)
	}
	many := make([]Hit, MaxRecalled)
	for i := range many {
		many[i].Matched = 4
	}
	if got := Familiarity(many, q); got != 10 {
		t.Errorf("all known: %d", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	got := keywords("The tests of parseURLPath in cmd/run_test.go")
	want := []string{"test", "parse", "url", "path", "parseurlpath", "cmd", "run", "test", "go"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProposals(t *testing.T) {
	t.Parallel()
	ctx := `# Conversation Context
### Understanding
- Found: not here
## Post-Context
### Deviations
- Before: two code paths are identical
- Found: one adds an icon
- Adjustment: add a variant
- Before: XXX
- Found: YYY
- Adjustment: ZZZ
- Before: T-001 Write the importer
- Found: check failed (wrong, attempt 1)
- Adjustment: by counsel: trim the mark <!-- own r/7 -->
- Found: more work than planned
- Adjustment: 1 task added to the plan <!-- own r/9 -->
* **Found**: helpers ` + "\x1b]0;title\a\x1b[31m" + `cannot be reused
- 2026-01-02 10:00Z: run r is complete, no deviation <!-- own r/12 -->
### Interventions
- Found: neither here`
	got := Deviations(ctx, "<!-- own ", "r", day(2))
	if len(got) != 2 || got[0].Context != "two code paths are identical" || got[0].Failure != "one adds an icon" ||
		got[0].Prevention != "add a variant" || got[1].Failure != "helpers cannot be reused" || got[1].Kind != Discovery {
		t.Errorf("%+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"context":"a","count":2}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _ := parseLearnings(data)
		seen := map[string]bool{}
		for _, l := range list {
			if seen[l.ID] || l.Count < 1 || len(l.Context) > maxText {
				t.Errorf("%+v", l)
			}
			seen[l.ID] = true
		}
		for _, h := range Recall(list, string(data), day(0)) {
			if !(h.Score >= 0) {
				t.Errorf("score %v of %+v", h.Score, h.Learning)
			}
		}
	})
}
