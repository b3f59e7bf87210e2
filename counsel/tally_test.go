package counsel

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
)

func op(expert string, action Action, approach string, confidence float64, falsifier string) Opinion {
	return Opinion{Expert: expert, Diagnosis: "d of " + expert, Cause: "c of " + expert, Approach: approach,
		Confidence: confidence, Falsifier: falsifier, Action: action, Cost: 10}
}

const concrete = "`go test ./sum` still prints 6"

func TestTally(t *testing.T) {
	t.Parallel()
	const (
		operator = "Replace the multiplication operator in sum.go with addition."
		likewise = "In sum.go, use addition; the multiplication is the bug."
		parser   = "Rewrite the parser so that whitespace is skipped before numbers."
		delegate = "Extract the database layer behind an interface and mock it."
	)
	for _, tt := range []struct {
		name      string
		ops       []Opinion
		lead      string
		action    Action
		agreement float64
		tradeoff  bool
		dissent   int
	}{
		{"one answer", []Opinion{op("a", Retry, operator, 0.6, concrete)}, "a", Retry, 1, false, 0},
		{"agreement", []Opinion{op("a", Retry, operator, 0.6, concrete), op("b", Retry, likewise, 0.8, concrete)}, "b", Retry,
			1, false, 0},
		{"testable beats slightly more confident", []Opinion{op("a", Retry, operator, 0.7, concrete),
			op("b", Retry, likewise, 0.8, "no idea")}, "a", Retry, 1, false, 0},
		{"concrete beats vague by a quarter", []Opinion{op("a", Retry, operator, 0.4, concrete),
			op("b", Retry, likewise, 0.6, "it still fails")}, "b", Retry, 1, false, 0},
		{"two alike against a louder one of the same action", []Opinion{op("a", Retry, delegate, 0.9, concrete),
			op("b", Retry, operator, 0.5, concrete), op("c", Retry, likewise, 0.6, concrete)}, "c", Retry, 2. / 3, false, 1},
		{"split of two, a tradeoff", []Opinion{op("a", Retry, operator, 0.7, concrete),
			op("b", Split, parser, 0.8, concrete)}, "b", Split, 0.5, true, 1},
		{"split of two, one is unsure", []Opinion{op("a", Retry, operator, 0.9, concrete),
			op("b", Split, parser, 0.3, concrete)}, "a", Retry, 0.5, false, 1},
		{"same action, other approach", []Opinion{op("a", Retry, operator, 0.8, concrete),
			op("b", Retry, parser, 0.8, concrete)}, "a", Retry, 0.5, true, 1},
		{"similar words, other action", []Opinion{op("a", Retry, operator, 0.8, concrete),
			op("b", Amend, operator, 0.8, concrete)}, "a", Retry, 0.5, true, 1},
		{"two against a louder one", []Opinion{op("a", Abandon, delegate, 1, concrete),
			op("b", Retry, operator, 0.5, concrete), op("c", Retry, likewise, 0.6, concrete)},
			"c", Retry, 2. / 3, false, 1},
		{"two actions alike outvote one, though their ways differ", []Opinion{op("a", Abandon, delegate, 1, concrete),
			op("b", Retry, operator, 0.5, concrete), op("c", Retry, parser, 0.6, concrete)},
			"c", Retry, 1. / 3, true, 2},
		{"three ways", []Opinion{op("a", Abandon, delegate, 0.8, concrete), op("b", Retry, operator, 0.8, concrete),
			op("c", Split, parser, 0.8, concrete)},
			"b", Retry, 1. / 3, true, 2},
		{"two actions alike, one of them in two ways", []Opinion{op("a", Retry, operator, 0.8, concrete),
			op("b", Retry, likewise, 0.7, concrete), op("c", Split, parser, 0.7, concrete),
			op("d", Split, delegate, 0.6, concrete)}, "a", Retry, 0.5, true, 2},
		{"the absent do not count", []Opinion{op("a", Retry, operator, 0.6, concrete), {Expert: "b", Unavailable: "throttled",
			Cost: 10}}, "a", Retry, 1, false, 0},
		{"certain of nothing", []Opinion{op("a", Retry, operator, 0, ""), op("b", Abandon, parser, 0, "")}, "a", Retry,
			0.5, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := Tally(tt.ops)
			if !strings.HasPrefix(v.Analysis, "d of "+tt.lead+"\nCause: c of "+tt.lead) {
				t.Errorf("analysis %q is not led by %s", v.Analysis, tt.lead)
			}
			same(t, "action", v.Action, tt.action)
			same(t, "agreement", v.Agreement, tt.agreement)
			same(t, "tradeoff", v.Tradeoff, tt.tradeoff)
			same(t, "dissent", len(v.Dissent), tt.dissent)
			same(t, "cost", v.Cost, budget.USD(10*len(tt.ops)))
			if v.Confidence < 0 || v.Confidence > 1 || v.Unavailable != "" {
				t.Errorf("confidence %v, unavailable %q", v.Confidence, v.Unavailable)
			}
		})
	}
}

func TestTallyUnavailable(t *testing.T) {
	t.Parallel()
	same(t, "none asked", Tally(nil), Verdict{Unavailable: "nobody was asked"})
	v := Tally([]Opinion{{Expert: "b", Unavailable: "throttled", Cost: 3}, {Expert: "a", Unavailable: "stalled", Cost: 4}})
	same(t, "why", v.Unavailable, "no expert answered: a: stalled; b: throttled")
	same(t, "cost", v.Cost, budget.USD(7))
}

func drawOpinions(t *rapid.T) []Opinion {
	approach := rapid.OneOf(rapid.SampledFrom([]string{
		"replace the operator in sum.go", "replace that operator, sum.go line 3", "rewrite the parser entirely",
		"skip whitespace within the parser", "the", ""}), rapid.String())
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Opinion {
		o := Opinion{
			Expert:    rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "expert"),
			Diagnosis: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "diagnosis"),
			Approach:  approach.Draw(t, "approach"),
			Confidence: rapid.OneOf(rapid.Float64Range(0, 1),
				rapid.SampledFrom([]float64{0.5, 0.5, 0.8})).Draw(t, "confidence"),
			Falsifier: rapid.SampledFrom([]string{"", concrete, "it works after all"}).Draw(t, "falsifier"),
			Action:    rapid.SampledFrom([]Action{Retry, Amend, Split, Abandon}).Draw(t, "action"),
			Cost:      budget.USD(rapid.IntRange(0, 1000).Draw(t, "cost")),
		}
		if rapid.IntRange(0, 3).Draw(t, "absent") == 0 {
			o = Opinion{Expert: o.Expert, Unavailable: "throttled", Cost: o.Cost}
		}
		return o
	}), 0, 5).Draw(t, "opinions")
}

func TestTallyDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOpinions(t)
		before := fmt.Sprintf("%#v", ops)
		v := Tally(ops)
		if fmt.Sprintf("%#v", ops) != before {
			t.Fatal("the input was changed")
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffled := slices.Clone(ops)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		w := Tally(shuffled)
		for i, o := range w.Opinions {
			if o.Expert != shuffled[i].Expert || o.Approach != shuffled[i].Approach {
				t.Fatal("the opinions' order was changed")
			}
		}
		v.Opinions, w.Opinions = nil, nil
		if !reflect.DeepEqual(v, w) {
			t.Fatalf("%+v\n%+v", v, w)
		}
	})
}

func TestTallyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOpinions(t)
		v := Tally(ops)
		var cost budget.USD
		answered := 0
		for _, o := range ops {
			cost += o.Cost
			if o.Unavailable == "" {
				answered++
			}
		}
		if v.Cost != cost {
			t.Fatalf("cost %d, want %d", v.Cost, cost)
		}
		if (answered == 0) != (v.Unavailable != "") {
			t.Fatalf("%d answered, unavailable %q", answered, v.Unavailable)
		}
		if answered == 0 {
			return
		}
		// Every expert that answered counts either for the advice or as dissent.
		behind := int(math.Round(v.Agreement * float64(answered)))
		if behind < 1 || behind+len(v.Dissent) != answered {
			t.Fatalf("%d behind, %d in dissent, %d answered", behind, len(v.Dissent), answered)
		}
		if v.Tradeoff && v.Agreement > 0.5 {
			t.Fatalf("a tradeoff with %v agreement", v.Agreement)
		}
		if v.Action.rank() < 0 || !(v.Confidence >= 0 && v.Confidence <= 1) {
			t.Fatalf("action %q, confidence %v", v.Action, v.Confidence)
		}
		if len(v.Analysis) > maxAnalysis || len(v.Fix) > maxFix {
			t.Fatal("a text is out of bounds")
		}
	})
}

func TestTestable(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"":                                   0,
		"None.":                              0,
		"nothing would prove me wrong":       0,
		"n/a for this case":                  0,
		"it fails":                           0,
		"it still fails":                     1,
		"the build breaks in the same place": 1,
		"go vet ./... is clean":              2,
		"the response has status 500":        2,
		"Sum() returns the right value":      2,
		"`make` passes without it":           2,
		"the list in plan.json is empty":     2,
	} {
		same(t, s, testable(s), want)
	}
}

// The words of a text that count: long enough, uncommon, without endings.
func TestKeywords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                    "",
		"Go up, to the FILE of x":             "",
		"walking walked walks walk":           "walk",
		"failed fail":                         "fail",
		"sing added code parse buses boxes":   "added boxe buse pars sing",
		"x_1 and ünder: 404, time.Parse(...)": "404 pars time x_1 ünder",
	} {
		same(t, text, strings.Join(slices.Sorted(maps.Keys(keywords(text))), " "), want)
	}
}

// words returns n different words, from a number on.
func words(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%04d ", from+i)
	}
	return b.String()
}

func TestSimilar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"Replace the multiplication by an addition in sum.go", "sum.go multiplies; replaced with addition", true},
		{"Import the missing module json in api.py", "Add the import of module json", true},
		{"Raise the timeout of the client", "Rewrite the parser by hand", false},
		{"Replace the regular expression for dates by time.Parse, keep the layout constant beside the reader, return the position",
			"Write a table of malformed dates, run the reader over every row, count rejected rows, and compare totals with the ledger", false},
		{"Fix the code in the file", "Change the tests of the task", false},
		{"walking talking", "jumping swimming", false},
		{"mock", "mock", true},
		{"", "", true},
		{"", "mock the clock", false},
		{words(0, 20), words(13, 20), true}, // exactly 35 %
		{words(0, 98), words(64, 98), false},
	} {
		same(t, tt.a+" ~ "+tt.b, similar(tt.a, tt.b), tt.want)
		same(t, tt.b+" ~ "+tt.a, similar(tt.b, tt.a), tt.want)
	}
}
