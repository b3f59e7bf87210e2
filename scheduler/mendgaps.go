package scheduler

import (
	"errors"

	"wavex/internal/plan"
)

// This file makes the tasks that close what a verification outside of a session found.

// Mending is a task that is to put something right, before it has an id.
type Mending struct {
	For         string // what it mends, for the record
	Subject     string
	Description string
	Dir         string // relative to the project; "": the project's own
	Files       []string
	Checks      []plan.Check
}

// ErrNoMending says that none of the tasks is one.
var ErrNoMending = errors.New("there is nothing to mend")

// Mend lets a run grow by tasks that put right what was found. It is for between
// sessions; the next one does them.
func Mend(s *State, round int, list []Mending) (TasksAdded, error) {
	ev := TasksAdded{Wave: s.Waves + 1, Origin: "verify", Round: round}
	free := freeIDs(s)
	for _, one := range list {
		m := mending{ID: free(), Subject: clip(one.Subject, 150), Description: one.Description, Dir: one.Dir}
		for _, f := range one.Files {
			m.Files = append(m.Files, plan.File{Path: f, Action: "create or modify"})
		}
		for _, c := range one.Checks {
			m.Verify = append(m.Verify, checkOf(c))
		}
		ev.add(s, m, one.For)
	}
	if len(ev.Tasks) == 0 {
		return ev, ErrNoMending
	}
	return ev, nil
}
