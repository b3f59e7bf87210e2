package scheduler

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A repair of a file makes the checks of the tasks that write it there, at most five.
func TestChecksOfARepair(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(
		`{"id":"a","subject":"x","files":["x.go"],"verify":["1","2"]}`,
		`{"id":"b","subject":"x","files":["x.go"],"verify":["2",{"run":"once","once":true}]}`,
		`{"id":"c","subject":"x","files":[{"path":"x.go","action":"read"}],"verify":["reads"]}`,
		`{"id":"d","subject":"x","files":["y.go"],"verify":["other"]}`,
		`{"id":"e","subject":"x","files":["x.go"],"dir":"sub","verify":["elsewhere"]}`,
		`{"id":"f","subject":"x","files":["x.go"],"verify":["3","4","5","6"]}`)))
	var got []string
	for _, c := range checksOfFile(s, "x.go") {
		got = append(got, c.Run)
	}
	if want := []string{"1", "2", "3", "4", "5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A repair whose file no plan can have is added without it, and one that no plan can have at all is not added.
func TestInvalidRepairs(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	ev, err := OnFindings(s, 1, []Remediation{{For: "F-1", Subject: "x", Files: []string{"../out"}},
		{For: "F-2", Subject: "y", Dir: "../out"}})
	if err != nil || len(ev.Tasks) != 1 || ev.Tasks[0].For != "F-1" || strings.Contains(string(ev.Tasks[0].Task), "out") {
		t.Errorf("%+v, %v", ev, err)
	}
	if ev, err := OnFindings(s, 1, []Remediation{{Subject: "y", Dir: "../out"}}); !errors.Is(err, ErrNoRemediation) {
		t.Errorf("%+v, %v", ev, err)
	}
	if body := decideCriteriaRemediation(s, nil); body != nil {
		t.Errorf("without criteria: %+v", body)
	}
}
