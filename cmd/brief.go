package cmd

import (
	"path/filepath"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/snapshot"
	"wavex/internal/ui"
)

// brief is a run as status, and report as a table, show it.
type brief struct {
	loop    loop.Dir
	run     string
	status  ui.Status
	board   *ui.Board // of a run that has ended, if it is by a snapshot; else nil
	summary report.Summary
	behind  time.Duration // age of a snapshot to which the journal has more records; 0: all are shown
}

// briefOf returns a run that was read from the journal. A long journal gets a snapshot.
func briefOf(p *runlog.History, now time.Time) (*brief, error) {
	storeSnapshot(p, now)
	if err := p.Settle(); err != nil {
		return nil, err
	}
	return &brief{loop: p.Loop, run: p.State.Config.Run, status: ui.StatusOf(p.State, p.Alive),
		summary: report.Of(p.State, p.Events).At(now, p.Alive)}, nil
}

// loadSnapshot returns the run by its snapshot, or nil if there is none that fits. The plan of a run that a resume
// would continue must be unchanged, so that no edit is to be shown.
func loadSnapshot(args []string, now time.Time, std Stdio) *brief {
	id, rest := splitRunID(args)
	if len(rest) > 0 {
		return nil // the plan must be read to find its project
	}
	in, _, err := findLoopDir(nil)
	if err != nil {
		return nil
	}
	s, behind := snapshot.Current(in, id, now)
	if s == nil {
		return nil
	}
	final := s.Summary.Status == event.RunComplete || s.Summary.Status == event.RunCancelled
	if !final && !planfile.IsList(s.Plan.Path) && !s.Plan.PlanUnchanged() {
		return nil
	}
	b := &brief{loop: in, run: s.Run, status: s.Status, board: s.Board, summary: s.Summary.At(now, true)}
	std.tellPlace(filepath.Dir(string(in)))
	if behind {
		b.behind = max(now.Sub(s.Taken), time.Millisecond)
	}
	return b
}

// storeSnapshot stores the snapshot of a run whose journal is long. A failure, as in a folder that is only read,
// changes nothing. Of a run that was cut off there is none, since its cost is not on record.
func storeSnapshot(p *runlog.History, now time.Time) {
	if !snapshot.Wanted(p.Mark) || p.State.Ended == nil && !p.Alive {
		return
	}
	file := snapshot.FileOf(p.State, runlog.Last(p.Events).In(p.Loop).Plan)
	if s, err := snapshot.Of(p.Loop, p.State, file, p.Mark, now); err == nil {
		_ = snapshot.Write(p.Loop, s) // see above
	}
}

// waitsForQuiet reports whether the checks of a task's running attempt wait for a quiet directory.
func (b *brief) waitsForQuiet(t *report.Task) bool {
	return b.status.Going && t.Status == event.InProgress &&
		runlog.WaitsForQuiet(runlog.Files(b.loop, b.run), t.ID, t.Attempts)
}

// age says how old the shown figures of a run that goes on are.
func (b *brief) age() string {
	return "As of " + report.FormatDuration(max(b.behind, time.Second)) + " ago; the run goes on."
}
