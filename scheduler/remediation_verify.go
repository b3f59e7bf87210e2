package scheduler

import (
	"errors"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file makes the tasks that repair the findings of a verification outside of a session.

// Remediation is a repair task without an id.
type Remediation struct {
	For         string // the finding that it repairs, for the record
	Subject     string
	Description string
	Dir         string // relative to the project; "": the project's own
	Files       []string
	Checks      []plan.Check
}

// ErrNoRemediation means that none of the tasks is valid.
var ErrNoRemediation = errors.New("there is nothing to mend")

// Remediate adds repair tasks to a run between sessions. The next session runs them.
func Remediate(s *State, round int, list []Remediation) (event.TasksAdded, error) {
	ev := event.TasksAdded{Wave: s.Waves + 1, Origin: "verify", Round: round}
	free := freeIDs(s)
	for _, one := range list {
		m := remediationTask{ID: free(), Subject: textfmt.Clip(one.Subject, 150), Description: one.Description, Dir: one.Dir}
		for _, f := range one.Files {
			m.Files = append(m.Files, plan.File{Path: f, Action: "create or modify"})
		}
		for _, c := range one.Checks {
			m.Verify = append(m.Verify, checkJSONOf(c))
		}
		addRemediation(s, &ev, m, one.For)
	}
	if len(ev.Tasks) == 0 {
		return ev, ErrNoRemediation
	}
	return ev, nil
}
