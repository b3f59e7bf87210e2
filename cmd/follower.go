package cmd

import (
	"time"

	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/runlog"
	"wavex/internal/ui"
)

// follower follows a run and shows it.
type follower struct{ *runlog.Follower }

// follow starts to follow the run that a command's arguments name. It returns an error if there is
// no such run.
func follow(args []string) (follower, error) {
	in, path, err := findLoopDirLenient(args)
	if err != nil {
		return follower{}, err
	}
	f := follower{runlog.Follow(in, path)}
	if _, err := f.Poll(nil); err != nil {
		return f, err
	}
	if f.State == nil {
		return f, runlog.NoRunError(in)
	}
	return f, nil
}

// board returns the run for a terminal.
func (f follower) board() *ui.Board {
	b := ui.BoardOf(f.State, f.Alive)
	b.Running = f.Running()
	return b
}

// page returns the run for a browser.
func (f follower) page(now time.Time) (*page.Run, *page.Details) {
	r := page.Of(f.State, f.Events, now, f.Alive)
	for _, d := range f.Running() {
		if i, ok := f.State.Index(d.Task); ok && r.Tasks[i].Now != nil && d.Kind == "attempt" {
			r.Tasks[i].Now.Update(d.Last, d.At)
		}
	}
	return r, page.DetailsOf(f.State, f.Events, f.Files())
}

// summary returns the run's summary, as in its report.
func (f follower) summary() report.Summary {
	return report.Of(f.State, f.Events).At(time.Now(), f.Alive)
}
