package counsel

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
)

func trials(counsel bool, class string, passed, n int, cost budget.USD) []Trial {
	var out []Trial
	for i := range n {
		out = append(out, Trial{Counsel: counsel, Class: class, Passed: i < passed, Cost: cost})
	}
	return out
}

// Reference values of the score interval, computed apart from this code with
// z = 1.959963984540054 (0 of 10 and 10 of 10 are in closed form: z²/(n+z²)).
func TestWilson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		passed, n int
		low, high float64
	}{
		{0, 0, 0, 1},
		{0, 10, 0, 0.27753},
		{10, 10, 0.72247, 1},
		{5, 10, 0.23659, 0.76341},
		{1, 1, 0.20655, 1},
		{15, 20, 0.53130, 0.88814},
		{-3, 10, 0, 0.27753},
		{30, 10, 0.72247, 1},
	} {
		low, high := Wilson(tt.passed, tt.n)
		if math.Abs(low-tt.low) > 5e-5 || math.Abs(high-tt.high) > 5e-5 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.5f to %.5f", tt.passed, tt.n, low, high, tt.low, tt.high)
		}
	}
}

func TestMeasureEffect(t *testing.T) {
	t.Parallel()
	p := MeasureEffect(append(trials(true, "wrong", 15, 20, 300_000), trials(false, "wrong", 5, 20, 200_000)...))
	same(t, "with", []int{p.With.Passed, p.With.Trials}, []int{15, 20})
	same(t, "cost", p.With.Cost, 6*budget.Dollar)
	same(t, "per pass", []budget.USD{p.With.PerPass, p.Without.PerPass}, []budget.USD{400_000, 800_000})
	same(t, "gain", p.Gain, 0.5)
	same(t, "enough", p.Sufficient, true)
	// Newcombe's interval by hand: sqrt(0.21870²+0.21870²) = 0.30929 below, sqrt(0.13814²+0.13814²) = 0.19536 above.
	if math.Abs(p.Low-0.19071) > 5e-5 || math.Abs(p.High-0.69536) > 5e-5 {
		t.Errorf("interval %.5f to %.5f", p.Low, p.High)
	}
	same(t, "words", p.Summary, "With counsel 15 of 20 retries passed (75 %, 95 % interval 53 to 89 %), $6.00 in all, $0.40 for each that passed; "+
		"without 5 of 20 retries passed (25 %, 95 % interval 11 to 47 %), $4.00 in all, $0.80 for each that passed. "+
		"Panels helped. The difference is +50 points (95 % interval +19 to +70).")
}

func TestEffectSummary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		trials []Trial
		enough bool
		want   string
	}{
		{"none", nil, false, "No task has been retried yet"},
		{"few", append(trials(true, "wrong", 3, 3, 1), trials(false, "wrong", 0, 3, 1)...), false, "too small to say"},
		{"many on one side only", append(trials(true, "wrong", 90, 100, 1), trials(false, "wrong", 0, 19, 1)...), false,
			"too small to say"},
		{"nothing to compare", trials(true, "wrong", 30, 50, 1), false, "nothing to compare with"},
		{"no counsel at all", trials(false, "wrong", 30, 50, 1), false, "nothing to compare with"},
		{"no difference", append(trials(true, "wrong", 10, 20, 1), trials(false, "wrong", 10, 20, 1)...), true,
			"No difference is shown"},
		{"harm", append(trials(true, "wrong", 2, 40, 1), trials(false, "wrong", 35, 40, 1)...), true, "Panels did harm"},
		{"a loss that rounds to nothing", append(trials(true, "x", 500, 1001, 1), trials(false, "x", 500, 1000, 1)...), true,
			"+0 points"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := MeasureEffect(tt.trials)
			same(t, "enough", p.Sufficient, tt.enough)
			if p.With.Trials == 0 || p.Without.Trials == 0 {
				same(t, "gain without a comparison", []float64{p.Gain, p.Low, p.High}, []float64{0, -1, 1})
			}
			if !strings.Contains(p.Summary, tt.want) {
				t.Errorf("%q lacks %q", p.Summary, tt.want)
			}
			if !tt.enough && strings.Contains(p.Summary, "elped") {
				t.Errorf("a conclusion from too little: %q", p.Summary)
			}
		})
	}
}

// The whole text where there are few trials, or none of one kind.
func TestEffectSummaryWords(t *testing.T) {
	t.Parallel()
	one := "With counsel 1 of 1 retries passed (100 %, 95 % interval 21 to 100 %), $0.30 in all, " +
		"$0.30 for each that passed; without "
	same(t, "one kind", MeasureEffect(trials(true, "wrong", 1, 1, 300_000)).Summary, one+"no retry was made. "+
		"There is nothing to compare with; --counsel-holdout leaves a share of retries without a panel.")
	both := append(trials(true, "wrong", 1, 1, 300_000), trials(false, "wrong", 0, 1, 200_000)...)
	same(t, "one each", MeasureEffect(both).Summary, one+
		"0 of 1 retries passed (0 %, 95 % interval 0 to 79 %), $0.20 in all. "+
		"The numbers are too small to say whether panels help (at least 20 retries of each kind are needed). "+
		"The difference is +100 points (95 % interval -12 to +100).")
}

func TestEffectByClass(t *testing.T) {
	t.Parallel()
	p := MeasureEffect(slices.Concat(trials(false, "wrong", 1, 2, 10), trials(true, "stalled", 1, 1, 30),
		trials(true, "wrong", 2, 4, 20)))
	same(t, "classes", []string{p.Classes[0].Class, p.Classes[1].Class}, []string{"stalled", "wrong"})
	same(t, "stalled", []int{p.Classes[0].With.Trials, p.Classes[0].Without.Trials}, []int{1, 0})
	same(t, "wrong", []int{p.Classes[1].With.Passed, p.Classes[1].Without.Passed}, []int{2, 1})
	with := p.Classes[1].With
	same(t, "cost", []budget.USD{with.Cost, with.PerPass}, []budget.USD{80, 40})
	low, high := Wilson(2, 4)
	same(t, "rate", []float64{with.Rate, with.Low, with.High}, []float64{0.5, low, high})
	same(t, "rate without", p.Classes[1].Without.Rate, 0.5)
}

func TestEffectProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Trial {
			return Trial{Counsel: rapid.Bool().Draw(t, "counsel"), Passed: rapid.Bool().Draw(t, "passed"),
				Class: rapid.SampledFrom([]string{"wrong", "stalled"}).Draw(t, "class"),
				Cost:  budget.USD(rapid.IntRange(0, 1e6).Draw(t, "cost"))}
		})).Draw(t, "trials")
		p := MeasureEffect(all)
		arms := []Arm{p.With, p.Without}
		n := 0
		for _, c := range p.Classes {
			arms = append(arms, c.With, c.Without)
			n += c.With.Trials + c.Without.Trials
		}
		if n != len(all) || p.With.Trials+p.Without.Trials != len(all) {
			t.Fatalf("%d trials, %d by class", len(all), n)
		}
		for _, a := range arms {
			if !(0 <= a.Low && a.Low <= a.Rate && a.Rate <= a.High && a.High <= 1) {
				t.Fatalf("%+v", a)
			}
		}
		if !(-1 <= p.Low && p.Low <= p.Gain && p.Gain <= p.High && p.High <= 1) {
			t.Fatalf("gain %v in %v to %v", p.Gain, p.Low, p.High)
		}
		slices.Reverse(all)
		one, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		two, err := json.Marshal(MeasureEffect(all))
		if err != nil {
			t.Fatal(err)
		}
		if string(one) != string(two) {
			t.Fatal("the order of the trials matters")
		}
	})
}
