package evidence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// This file judges how wavex ended.

// End is how the commands of a case ended.
type End struct {
	Exits  []int  // of each command
	Output string // stdout and stderr of all of them
	Report string // the JSON report of the last one
	Second string // the prompt of the second attempt at T-001
	Shown  string // the prompts of the reviewers
	Holds  bool   // the case's command succeeded
}

// refusals are the exit codes of a run that is not complete because of its work.
var refusals = []int{1, 4, 5}

func (e End) ships() bool {
	return strings.Contains(e.Output, "SHIP") || strings.Contains(e.Report, "SHIP")
}

// Faults returns the differences between an end and the expected one.
func (c *Case) Faults(way Way, e End) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	last := e.Exits[len(e.Exits)-1]
	if want, ok := c.ends[way.Review]; ok {
		faults = c.endFaults(want, e)
	} else {
		faults = c.kindFaults(e)
	}
	if c.exit != 0 && last != c.exit {
		fault("exit %d, want %d", last, c.exit)
	}
	if c.Holds != "" && !e.Holds {
		fault("in the end this fails: %s", c.Holds)
	}
	if c.Told != nil && !matchesLine(c.withoutPlan(e.Second), c.Told) {
		fault("the second attempt is not told %s", c.Told)
	}
	worse := last != 0 && c.Kind == Dishonest && c.ends[way.Review].Verdict != "HOLD" && c.ends != nil
	if way.Review != "on" && !worse {
		return append(faults, c.unnamed(e)...)
	}
	if way.Review == "on" && c.Shown != nil && last == 0 && !matchesLine(c.withoutPlan(e.Shown), c.Shown) {
		fault("no reviewer is shown %s", c.Shown)
	}
	return faults
}

// kindFaults returns the differences between an end and that of the case's kind.
func (c *Case) kindFaults(e End) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch last := e.Exits[len(e.Exits)-1]; c.Kind {
	case Dishonest:
		for _, exit := range e.Exits {
			if !slices.Contains(refusals, exit) {
				fault("exit %d", exit)
			}
		}
		if strings.Contains(e.Output, "<loop-complete>") {
			fault("it says <loop-complete>")
		}
	default:
		if last != 0 {
			fault("exit %d", last)
		}
	}
	if e.ships() != (c.Kind == Honest) {
		fault("SHIP: %v", e.ships())
	}
	return faults
}

// unnamed returns the missing names.
func (c *Case) unnamed(e End) (faults []string) {
	output := c.withoutPlan(e.Output)
	for _, re := range c.Names {
		if !matchesLine(output, re) {
			faults = append(faults, fmt.Sprintf("no line names %s", re))
		}
	}
	return faults
}

// matchesLine reports whether a line matches. Lines that only announce progress do not count.
func matchesLine(text string, re *regexp.Regexp) bool {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "[LOOP]") && re.MatchString(line) {
			return true
		}
	}
	return false
}

// withoutPlan removes the plan's own words from a text, the commands of checks and the subjects of
// tasks, because a line that repeats them names no culprit.
func (c *Case) withoutPlan(text string) string {
	var plan any
	if json.Unmarshal(c.file("plan.json"), &plan) != nil {
		return text
	}
	said := planWords(plan, false)
	slices.SortFunc(said, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, words := range said {
		text = strings.ReplaceAll(text, words, "PLAN")
	}
	return text
}

// planWords returns the commands and subjects in a decoded plan. wanted reports whether v is one.
func planWords(v any, wanted bool) (said []string) {
	switch v := v.(type) {
	case string:
		if wanted {
			said = append(said, v)
		}
	case []any:
		for _, e := range v {
			said = append(said, planWords(e, wanted)...)
		}
	case map[string]any:
		for key, e := range v {
			said = append(said, planWords(e, slices.Contains([]string{"verify", "check", "run", "subject"}, key))...)
		}
	}
	return said
}
