package cmd

import (
	"time"

	"wavex/internal/record"
	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/ui"
)

// follower is a run that is watched, and how it is shown.
type follower struct{ *record.Follower }

// follow begins to follow the run that a command means; it is an error where there is none.
func follow(args []string) (follower, error) {
	loop, path, err := shownLoop(args)
	if err != nil {
		return follower{}, err
	}
	f := follower{record.Follow(loop, path)}
	if _, err := f.Poll(nil); err != nil {
		return f, err
	}
	if f.State == nil {
		return f, record.NoRun(loop)
	}
	return f, nil
}

// board is the run for a terminal.
func (f follower) board() *ui.Board {
	b := ui.BoardOf(f.State, f.Alive)
	b.Running = f.Running()
	if n := len(f.Events); n > 0 && (f.State.Ended != nil || !f.Alive) {
		b.Ended = f.Events[n-1].Time
	}
	return b
}

// page is the run for a browser.
func (f follower) page(now time.Time) (*page.Run, *page.Details) {
	r := page.Of(f.State, f.Events, now, f.Alive)
	for _, d := range f.Running() {
		if i, ok := f.State.Index(d.Task); ok && r.Tasks[i].Now != nil && d.Kind == "attempt" {
			r.Tasks[i].Now.See(d.Last, d.At)
		}
	}
	return r, page.DetailsOf(f.State, f.Events, f.Files())
}

// summary is the run as its report has it.
func (f follower) summary() report.Summary { return report.Of(f.State, f.Events).Seen(f.Alive) }
