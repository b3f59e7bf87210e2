package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/ui"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

const (
	pollInterval     = 500 * time.Millisecond // between reads of the journal
	activityInterval = 2 * time.Second        // between reads of the streams of running attempts, for the page
)

type watchOptions struct {
	web   bool
	port  int
	plain bool
	ascii bool
}

func newWatch(std Stdio) *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use:   "watch [PLAN]",
		Short: "Watch a run from another terminal, or in a browser",
		Long: `watch shows the run in .loop/ of the project directory (or of the plan's project
directory) while it goes on, as wavex run does on a terminal: a bar, the running
tasks with their last tool and its age, cost against the budget. It ends when
the run does, or with Ctrl-C, of which the run knows nothing. Without a
terminal, or with --plain, it writes one line for each thing that happens.

With --web it serves the page of wavex report --html, live, on this machine
only, until Ctrl-C. Its address, with a secret in it, is printed on stdout. The
page also answers questions about tool calls, and drains or stops the run.

Exit status: 0 the run has ended, or you have left; 2 there is no run here.`,
		Example: "  wavex watch\n  wavex watch --plain\n  wavex watch --web",
		Args:    optionalArg("a plan file"),
		RunE:    func(c *cobra.Command, args []string) error { return runWatch(c.Context(), args, o, std) },
	}
	f := c.Flags()
	f.BoolVar(&o.web, "web", false, "serve the page to a browser on this machine")
	f.IntVar(&o.port, "port", 0, "port for --web (default: a free one)")
	f.BoolVar(&o.plain, "plain", false, "timestamped lines, also on a terminal")
	f.BoolVar(&o.ascii, "ascii", false, "use only ASCII characters")
	return c
}

func runWatch(ctx context.Context, args []string, o watchOptions, std Stdio) error {
	if o.port != 0 && !o.web {
		return usage("--port is for --web")
	}
	if o.port < 0 || o.port > math.MaxUint16 {
		return usage("--port takes a number from 1 to %d, not %d", math.MaxUint16, o.port)
	}
	o.ascii = asciiOnly(o.ascii, std.Out, os.Getenv)
	f, err := follow(args, std)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.web {
		return f.serve(ctx, o, std)
	}
	if look := (ui.Options{ASCII: o.ascii}); !o.plain && setLive(&look, std.Out) {
		return f.redraw(ctx, std, look)
	}
	return f.printLines(ctx, o, std)
}

// redraw shows the live view of the run until it ends.
func (f follower) redraw(ctx context.Context, std Stdio, o ui.Options) error {
	if f.Done() {
		return f.printTable(std, o.Width()-1, o.ASCII)
	}
	v := ui.Terminal(std.Out, o)
	v.Join(f.State, time.Now())
	return f.showUntilEnd(ctx, std, v, v.Activity)
}

// printTable prints the run as wavex report does, no wider than columns, unless that is 0.
func (f follower) printTable(std Stdio, columns int, ascii bool) error {
	sum := report.Of(f.State, f.Events).At(time.Now(), f.Alive)
	_, err := fmt.Fprint(std.Out, sum.Table(columns, ascii))
	return err
}

// printLines prints the live view once, and the events from now on.
func (f follower) printLines(ctx context.Context, o watchOptions, std Stdio) error {
	if f.Done() {
		return f.printTable(std, 0, o.ascii)
	}
	size := func() int { return 200 }
	lines := ui.Once(f.State, f.Running(), time.Now(), ui.Options{ASCII: o.ascii, Width: size, Height: size})
	if _, err := fmt.Fprintln(std.Out, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return f.showUntilEnd(ctx, std, ui.Plain(std.Out, ui.Options{ASCII: o.ascii}), nil)
}

// The last lines of a view of a run of which no end was seen.
const (
	cutOffLine  = "the run was cut off: nobody works at it; continue with: wavex resume"
	removedLine = "the run's .loop was removed, and with it how the run ended"
)

// showUntilEnd shows the events from now on, and the running work if activity is set, until the run or ctx ends. It
// closes the view.
func (f follower) showUntilEnd(ctx context.Context, std Stdio, v ui.View, activity func(event.Activity)) error {
	for !f.Done() {
		if activity != nil {
			for _, d := range f.Running() {
				activity(d)
			}
		}
		if again, err := f.wait(ctx, v.Event); !again {
			return errors.Join(err, v.Close())
		}
	}
	err := v.Close()
	if err == nil && f.State.Ended == nil {
		last := cutOffLine
		if !hasJournal(filepath.Dir(string(f.Loop))) {
			last = removedLine
		}
		_, err = fmt.Fprintln(std.Out, last)
	}
	return err
}

// serve serves the page until ctx ends.
func (f follower) serve(ctx context.Context, o watchOptions, std Stdio) error {
	srv, l, err := page.Listen(ctx, o.port, secret.New(os.Environ()).Bytes)
	if err != nil {
		return usererr.Blocked(err)
	}
	if !isChild() { // an agent must not answer the questions about its own calls
		f.control = &pageControl{loop: f.Loop}
		srv.Control = f.control
	}
	if err := f.publishSnapshot(srv, time.Now()); err != nil {
		return errors.Join(err, l.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return srv.Serve(ctx, l) })
	fmt.Fprintln(std.Err, "wavex: the page is on this machine only, at the address below, until Ctrl-C; "+
		"whoever has the address can read it, answer and stop the run")
	fmt.Fprintln(std.Out, srv.URL())
	g.Go(func() error { return f.publish(ctx, srv) })
	return g.Wait()
}

// publish keeps the page up to date.
func (f follower) publish(ctx context.Context, srv *page.Server) error {
	last, asked := time.Now(), f.questionIDs()
	for async.Sleep(ctx, pollInterval) == nil {
		changed, err := f.Poll(nil)
		if err != nil {
			return err
		}
		ids := f.questionIDs()
		changed = changed || ids != asked
		asked = ids
		if now := time.Now(); f.State != nil && (changed || f.Alive && now.Sub(last) >= activityInterval) {
			if err := f.publishSnapshot(srv, now); err != nil {
				return err
			}
			last = now
		}
	}
	return nil
}

func (f follower) publishSnapshot(srv *page.Server, now time.Time) error {
	run, details := f.page(now)
	return srv.Publish(page.Snapshot{Run: run, Details: details})
}

// follower follows a run and shows it.
type follower struct {
	*runlog.Follower
	control *pageControl // of the page; nil: it is only read
}

// follow starts to follow the run that a command's arguments name. It returns an error if there is
// no such run.
func follow(args []string, std Stdio) (follower, error) {
	in, path, err := findLoopDirLenient(args)
	if err != nil {
		return follower{}, err
	}
	std.tellPlace(filepath.Dir(string(in)))
	f := follower{Follower: runlog.Follow(in, path)}
	if _, err := f.Poll(nil); err != nil {
		return f, err
	}
	if f.State == nil {
		return f, runlog.NoRunError(in)
	}
	return f, nil
}

// wait waits a moment and reads the journal again. It reports false if there is nothing more to wait for:
// ctx has ended, or .loop was moved aside.
func (f follower) wait(ctx context.Context, show func(event.Event, *scheduler.State)) (again bool, err error) {
	if async.Sleep(ctx, pollInterval) != nil {
		return false, nil
	}
	_, err = f.Poll(show)
	return err == nil && f.State != nil, err
}

// page returns the run for a browser.
func (f follower) page(now time.Time) (*page.Run, *page.Details) {
	r := page.Of(f.State, f.Events, now, f.Alive)
	for _, d := range f.Running() {
		if i, ok := f.State.Index(d.Task); ok && r.Tasks[i].Now != nil && d.Kind == "attempt" {
			r.Tasks[i].Now.Update(d.Last, d.At, d.Worker)
		}
	}
	f.addLive(r)
	return r, page.DetailsOf(f.State, f.Events, f.Files())
}
