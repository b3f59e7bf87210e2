package ui

import "wavex/scheduler"

// Announcer writes the announcement of a run that is there already (LEDGER S0-67), for
// those who show it elsewhere. It belongs to one goroutine and one state.
type Announcer struct {
	next cursor
	run  string
}

// Lines is the announcement for the state as it is now.
func (a *Announcer) Lines(s *scheduler.State) []string {
	if a.run != s.Config.Run {
		a.run = s.Config.Run
		a.next.reset(s)
	}
	return resumed(s, &a.next)
}
