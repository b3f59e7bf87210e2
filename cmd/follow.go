package cmd

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/internal/journal"
	"wavex/internal/planfile"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/transcript"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// follower is a run that another wavex works at, read from its journal as that grows.
// It changes nothing. It is used by one goroutine.
type follower struct {
	loop  string // the .loop directory
	given string // the plan, where the user named it
	log   *journal.Follower

	events []scheduler.Event
	state  *scheduler.State // nil: there is no run yet
	digest string           // of the plan that the state was made with
	open   map[string]ui.Doing
	alive  bool // somebody works at it
}

func newFollower(loop, plan string) *follower {
	return &follower{loop: loop, given: plan, log: journal.Follow(filepath.Join(loop, "journal.jsonl"))}
}

// poll reads what is new, brings the state up to it, and tells each event that came
// while the run was already known to show, which may be nil. changed says that there
// was something, or that nobody works at the run any more.
func (f *follower) poll(show func(scheduler.Event, *scheduler.State)) (changed bool, err error) {
	records, fresh, err := f.log.Next()
	if err != nil {
		return false, err
	}
	events, err := record.Decode(records)
	if err != nil {
		return false, err
	}
	if fresh {
		f.events, f.state, f.open = nil, nil, map[string]ui.Doing{}
	}
	known := f.state != nil
	for _, e := range events {
		f.events = append(f.events, e)
		if err := f.apply(e); err != nil {
			return false, err
		}
		if known && show != nil && f.state != nil {
			show(e, f.state)
		}
	}
	was := f.alive
	f.look(len(events) > 0)
	return fresh || len(events) > 0 || was != f.alive, nil
}

// look finds out whether somebody works at the run. Asking takes the lock for an
// instant when nobody does, so it is asked again only after the journal has grown.
func (f *follower) look(news bool) {
	switch {
	case f.state == nil || f.state.Ended != nil:
		f.alive = false
	case f.alive || news:
		var held *journal.LockedError
		f.alive = errors.As(journal.Free(f.loop), &held)
	}
}

func (f *follower) apply(e scheduler.Event) error {
	path, digest, run := "", "", ""
	switch b := e.Body.(type) {
	case scheduler.RunStarted:
		path, digest, run = b.Plan, b.Digest, b.Config.Run
	case scheduler.Resumed:
		path, digest, run = b.Plan, b.Digest, b.Config.Run
	}
	if path != "" {
		clear(f.open)
	}
	if path != "" && (f.state == nil || digest != f.digest) { // another plan, or an edited one
		return f.load(cmp.Or(f.given, path), digest, run)
	}
	if f.state == nil {
		return nil // what stands before the first run
	}
	f.track(e)
	return f.state.Replay([]scheduler.Event{e})
}

// load makes the state anew, with the plan as it is now.
func (f *follower) load(path, digest, run string) error {
	p, diags, err := planfile.Load(path, run)
	if err != nil {
		return err
	}
	if p == nil {
		return refuse.Plan(diags)
	}
	f.digest = digest
	f.state = scheduler.NewState(p)
	return f.state.Replay(f.events)
}

// track keeps what is under way.
func (f *follower) track(e scheduler.Event) {
	begin := func(kind, task string, n int) {
		f.open[kind+"/"+task] = ui.Doing{Task: task, Kind: kind, Attempt: n, Since: e.Time}
	}
	end := func(kind, task string) { delete(f.open, kind+"/"+task) }
	switch b := e.Body.(type) {
	case scheduler.AttemptStarted:
		begin("attempt", b.Task, b.Attempt)
	case scheduler.AttemptEnded:
		end("attempt", b.Task)
	case scheduler.CounselStarted:
		begin("counsel", b.Task, b.Panel)
	case scheduler.CounselEnded:
		end("counsel", b.Task)
	case scheduler.ReviewStarted:
		begin("review", "", b.N)
	case scheduler.ReviewEnded:
		end("review", "")
	case scheduler.CriteriaStarted:
		begin("criteria", "", b.Round)
	case scheduler.CriteriaEnded:
		end("criteria", "")
	case scheduler.IntegrationStarted:
		begin("integration", "", b.Wave)
	case scheduler.IntegrationEnded:
		end("integration", "")
	case scheduler.DeliveryStarted:
		begin("delivery", "", 0)
	case scheduler.DeliveryEnded:
		end("delivery", "")
	case scheduler.RunEnded:
		clear(f.open)
	}
}

// running is what is under way, in order of its start, with its last sign of life.
func (f *follower) running() []ui.Doing {
	if !f.alive {
		return nil
	}
	out := make([]ui.Doing, 0, len(f.open))
	for _, d := range f.open {
		if i, ok := f.state.Index(d.Task); ok && d.Task != "" {
			d.Subject = f.state.Plan.Tasks[i].Subject
		}
		if d.Kind == "attempt" {
			d.Last, d.At = lastSign(filepath.Join(f.tasks(), d.Task, "attempt-"+strconv.Itoa(d.Attempt), "stream.jsonl"))
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b ui.Doing) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Task, b.Task))
	})
	return out
}

func (f *follower) tasks() string {
	return filepath.Join(f.loop, "runs", f.state.Config.Run, "tasks")
}

// lastSign is the last thing an agent did, by the end of its stream, and when that
// last grew.
func lastSign(stream string) (string, time.Time) {
	in, err := os.Open(stream)
	if err != nil {
		return "", time.Time{} // it has not begun, or is a command
	}
	defer func() { _ = in.Close() }() // read only
	info, err := in.Stat()
	if err != nil {
		return "", time.Time{}
	}
	e, ok := transcript.Tail(in, info.Size())
	if !ok {
		return "", time.Time{}
	}
	words := strings.TrimSpace(e.Tool + " " + e.Target)
	if e.Kind != transcript.Tool {
		words, _, _ = strings.Cut(strings.TrimSpace(e.Text), "\n")
	}
	if e.Kind == transcript.End {
		words = "checking"
	}
	return words, info.ModTime()
}

// board is the run for a terminal.
func (f *follower) board() *ui.Board {
	b := ui.BoardOf(f.state, f.alive)
	b.Running = f.running()
	if n := len(f.events); n > 0 && (f.state.Ended != nil || !f.alive) {
		b.Ended = f.events[n-1].Time
	}
	return b
}

// page is the run for a browser.
func (f *follower) page(now time.Time) (*page.Run, *page.Details) {
	r := page.Of(f.state, f.events, now, f.alive)
	for _, d := range f.running() {
		if i, ok := f.state.Index(d.Task); ok && r.Tasks[i].Now != nil && d.Kind == "attempt" {
			r.Tasks[i].Now.See(d.Last, d.At)
		}
	}
	return r, page.DetailsOf(f.state, f.events, os.DirFS(f.tasks()))
}

// summary is the run as its report has it.
func (f *follower) summary() report.Summary { return report.Of(f.state, f.events) }

// nothingHere says that there is no run to follow.
func (f *follower) nothingHere() error {
	return usage("there is no run in %s; start one with: wavex run PLAN", f.loop)
}
