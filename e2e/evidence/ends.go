package evidence

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// This file holds the ends that cases write down, and the ways to run a case.

// Ends is the end of a case that is written down for one kind of review.
type Ends struct {
	Verdict string            // one of verdicts
	Basis   map[string]string // of tasks and criteria, by id
}

// verdicts are the ways to end, the worst first: refused, complete, and complete with nothing to add.
var verdicts = []string{"HOLD", "MONITOR", "SHIP"}

// strength orders the bases of evidence. One that is not listed, and missing evidence, are the weakest.
var strength = map[string]int{"proven": 3, "reviewed": 2, "judged": 2, "found": 2, "rests": 1, "kept": 1, "changed": 1,
	"ran": 1, "nothing": 0, "empty": 0, "unproven": 0}

// setEnds reads "REVIEW VERDICT ID=BASIS...".
func (c *Case) setEnds(words []string) error {
	if len(words) < 2 || !slices.Contains([]string{"on", "off"}, words[0]) || !slices.Contains(verdicts, words[1]) {
		return fmt.Errorf("want on or off, and one of %q", verdicts)
	}
	ends := Ends{Verdict: words[1], Basis: map[string]string{}}
	for _, word := range words[2:] {
		id, basis, _ := strings.Cut(word, "=")
		if _, ok := strength[basis]; !ok {
			return fmt.Errorf("there is no basis %q", basis)
		}
		ends.Basis[id] = basis
	}
	if c.ends == nil {
		c.ends = map[string]Ends{}
	}
	c.ends[words[0]] = ends
	return nil
}

// Way is a way to run a case.
type Way struct {
	Isolation string
	Git       bool   // the project is a repository
	Review    string // "on", "off", or "" if only the flags of the case say it
}

func (w Way) String() string {
	words := []string{w.Isolation}
	if !w.Git {
		words = append(words, "without git")
	}
	if w.Review != "" {
		words = append(words, "review "+w.Review)
	}
	return strings.Join(words, ", ")
}

// Ways returns the ways to run the case, that of a short run first.
func (c *Case) Ways() (ways []Way) {
	reviews := []string{""}
	if c.ends != nil {
		reviews = nil
		for _, review := range []string{"off", "on"} {
			if _, ok := c.ends[review]; ok {
				reviews = append(reviews, review)
			}
		}
	}
	for _, review := range reviews {
		for _, isolation := range []string{"shared", "worktree"} {
			if c.Only != "" && c.Only != isolation {
				continue
			}
			if c.git != "no" {
				ways = append(ways, Way{isolation, true, review})
			}
			if c.git == "no" || c.git == "" && c.ends != nil && isolation == "shared" {
				ways = append(ways, Way{isolation, false, review})
			}
		}
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(c.Name))
	first := int(hash.Sum32() % uint32(len(ways)))
	return append(ways[first:], ways[:first]...)
}

// endFaults returns the differences between an end and the one that is written down.
func (c *Case) endFaults(want Ends, e End) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	exit := e.Exits[len(e.Exits)-1]
	got := "HOLD"
	switch {
	case exit == 0 && e.ships():
		got = "SHIP"
	case exit == 0:
		got = "MONITOR"
	case !slices.Contains(refusals, exit):
		fault("exit %d", exit)
	}
	if at := slices.Index(verdicts, got) - slices.Index(verdicts, want.Verdict); !c.allows(at) {
		fault("%s, want %s", got, want.Verdict)
	}
	if got == "HOLD" && strings.Contains(e.Output, "<loop-complete>") {
		fault("it says <loop-complete>")
	}
	bases := e.bases()
	for id, basis := range want.Basis {
		if got == "HOLD" && c.Kind == Dishonest {
			break // the end is worse
		}
		if at := strength[bases[id]] - strength[basis]; !c.allows(at) {
			fault("%s is %q, want %q", id, bases[id], basis)
		}
	}
	for id, basis := range bases {
		if got == "SHIP" && strength[basis] < strength["reviewed"] && !strings.HasPrefix(id, "C-") && basis != "ran" {
			fault("SHIP, and %s is %q", id, basis)
		}
	}
	return faults
}

// allows reports whether an end may be at places better than the one that is written down.
func (c *Case) allows(at int) bool {
	return at == 0 || at < 0 && c.Kind == Dishonest || at > 0 && c.Kind == Honest
}

// bases returns the bases of the evidence in the report, by task or criterion.
func (e End) bases() map[string]string {
	var report struct {
		Gate struct {
			Evidence []struct{ Criterion, Task, Basis string }
		}
	}
	_ = json.Unmarshal([]byte(e.Report), &report) // a run that was refused has no report
	all := map[string]string{}
	for _, row := range report.Gate.Evidence {
		if row.Criterion != "" {
			all[row.Criterion] = row.Basis
		} else {
			all[row.Task] = row.Basis
		}
	}
	return all
}
