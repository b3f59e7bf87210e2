// This file computes whether panels pay: pass rates and dollars of retries with and without
// counsel, with intervals, and in words. It reads no journal and uses no randomness; the caller
// supplies the records.

package counsel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"wavex/budget"
)

// Trial is one retry after a failure.
type Trial struct {
	Counsel bool       `json:"counsel"` // a panel's advice was in its prompt
	Class   string     `json:"class"`   // of the failure before it: the outcome, or a finer class
	Passed  bool       `json:"passed"`
	Cost    budget.USD `json:"cost"` // micro-dollars of the retry, and of its panel if there was one
}

// Arm sums up the trials of one kind.
type Arm struct {
	Trials  int        `json:"trials"`
	Passed  int        `json:"passed"`
	Rate    float64    `json:"rate"`     // passed of trials; 0 without trials
	Low     float64    `json:"low"`      // 95 % Wilson interval of the rate
	High    float64    `json:"high"`     // the interval is 0 to 1 without trials
	Cost    budget.USD `json:"cost"`     // micro-dollars in total
	PerPass budget.USD `json:"per_pass"` // micro-dollars for each retry that passed; 0 if none did
}

// Class compares the arms for one class of failure.
type Class struct {
	Class   string `json:"class"`
	With    Arm    `json:"with"`
	Without Arm    `json:"without"`
}

// Effect compares retries with counsel to those without.
type Effect struct {
	With       Arm     `json:"with"`
	Without    Arm     `json:"without"`
	Classes    []Class `json:"classes"` // by name
	Gain       float64 `json:"gain"`    // With.Rate minus Without.Rate; 0 if an arm is empty
	Low        float64 `json:"low"`     // 95 % interval of the gain (Newcombe's, from the Wilson intervals)
	High       float64 `json:"high"`    // the interval is -1 to 1 if an arm has no trials
	Sufficient bool    `json:"enough"`  // both arms have at least minTrials
	Summary    string  `json:"words"`   // the finding in plain sentences
}

// minTrials is the number of trials that an arm needs for a conclusion. With 20 the interval of a
// rate is still about 40 points wide.
const minTrials = 20

// MeasureEffect compares the trials with counsel to those without. It is a pure function, and the order of
// the trials does not matter.
func MeasureEffect(trials []Trial) Effect {
	var p Effect
	byClass := map[string]*Class{}
	for _, t := range trials {
		c := byClass[t.Class]
		if c == nil {
			c = &Class{Class: t.Class}
			byClass[t.Class] = c
		}
		if t.Counsel {
			p.With.add(t)
			c.With.add(t)
		} else {
			p.Without.add(t)
			c.Without.add(t)
		}
	}
	p.With.finish()
	p.Without.finish()
	for _, c := range byClass {
		c.With.finish()
		c.Without.finish()
		p.Classes = append(p.Classes, *c)
	}
	slices.SortFunc(p.Classes, func(a, b Class) int { return cmp.Compare(a.Class, b.Class) })
	p.Gain, p.Low, p.High = rateGain(p.With, p.Without)
	p.Sufficient = p.With.Trials >= minTrials && p.Without.Trials >= minTrials
	p.Summary = p.summary()
	return p
}

func (a *Arm) add(t Trial) {
	a.Trials++
	a.Cost += t.Cost
	if t.Passed {
		a.Passed++
	}
}

func (a *Arm) finish() {
	a.Low, a.High = Wilson(a.Passed, a.Trials)
	if a.Trials > 0 {
		a.Rate = float64(a.Passed) / float64(a.Trials)
	}
	if a.Passed > 0 {
		a.PerPass = a.Cost / budget.USD(a.Passed)
	}
}

// Wilson returns the 95 % score interval of a rate of passed among n, and 0 to 1 if n is 0. It
// clamps counts that are out of range.
func Wilson(passed, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	f := float64(n)
	p := float64(min(n, max(0, passed))) / f
	mid := p + z*z/(2*f)
	half := z * math.Sqrt(p*(1-p)/f+z*z/(4*f*f))
	scale := 1 + z*z/f
	low, high = clamp((mid-half)/scale), clamp((mid+half)/scale)
	// Rounding must not exclude the rate itself.
	return min(low, p), max(high, p)
}

// rateGain returns the difference of two rates with its interval. Newcombe's method is valid for
// small numbers, unlike the usual one.
func rateGain(a, b Arm) (gain, low, high float64) {
	if a.Trials == 0 || b.Trials == 0 {
		return 0, -1, 1
	}
	gain = a.Rate - b.Rate
	low = gain - math.Hypot(a.Rate-a.Low, b.High-b.Rate)
	high = gain + math.Hypot(a.High-a.Rate, b.Rate-b.Low)
	return gain, max(-1, low), min(1, high)
}

func (p Effect) summary() string {
	if p.With.Trials+p.Without.Trials == 0 {
		return "No task has been retried yet, so there is nothing to compare."
	}
	said := []string{"With counsel " + p.With.summary() + "; without " + p.Without.summary() + "."}
	switch {
	case p.With.Trials == 0 || p.Without.Trials == 0:
		said = append(said, "There is nothing to compare with; --counsel-holdout leaves a share of retries without a panel.")
		return strings.Join(said, " ")
	case !p.Sufficient:
		said = append(said, fmt.Sprintf(
			"The numbers are too small to say whether panels help (at least %d retries of each kind are needed).", minTrials))
	case p.Low > 0:
		said = append(said, "Panels helped.")
	case p.High < 0:
		said = append(said, "Panels did harm.")
	default:
		said = append(said, "No difference is shown: the interval includes none.")
	}
	said = append(said, fmt.Sprintf("The difference is %+.0f points (95 %% interval %+.0f to %+.0f).",
		percentPoints(p.Gain),
		percentPoints(p.Low), percentPoints(p.High)))
	return strings.Join(said, " ")
}

func (a Arm) summary() string {
	if a.Trials == 0 {
		return "no retry was made"
	}
	s := fmt.Sprintf("%d of %d retries passed (%.0f %%, 95 %% interval %.0f to %.0f %%), %s in all",
		a.Passed, a.Trials, 100*a.Rate, 100*a.Low, 100*a.High, a.Cost.Spent())
	if a.Passed > 0 {
		s += ", " + a.PerPass.Spent() + " for each that passed"
	}
	return s
}

// percentPoints returns a difference of rates in percentage points, never minus zero.
func percentPoints(f float64) float64 { return math.Round(100*f) + 0 }
