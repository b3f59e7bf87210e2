package cmd

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"wavex/internal/event"
	"wavex/internal/forecast"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
	"wavex/runner"
)

// halfway returns the launch of a run with one of two tasks completed, and the run's past events.
func halfway(t *testing.T, in io.Reader, out io.Writer) (*invocation, []event.Event) {
	t.Helper()
	p, diags := plan.Parse(
		"plan.json", []byte(`{"version":1,"tasks":[{"id":"a","subject":"Do a","verify":["true"]},{"id":"b","subject":"Do b","verify":["true"]}]}`), plan.Options{})
	if p == nil {
		t.Fatal(diags)
	}
	c := event.DefaultConfig()
	c.Run, c.Limits = "r-1", forecast.Limits(p)
	var past []event.Event
	for i, b := range []event.Body{
		event.RunStarted{Config: c, Plan: "plan.json", Digest: p.Digest},
		event.WaveStarted{Wave: 1, Of: 1},
		event.AttemptStarted{Task: "a", Key: p.Key(0), Wave: 1, Attempt: 1, Try: 1, Why: "first", Cap: 1000},
		event.AttemptEnded{Task: "a", Key: p.Key(0), Attempt: 1, Charged: true, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done, Cost: 1_250_000}},
		event.RunEnded{Status: "interrupted", ExitCode: 130, Reason: "stopped by SIGINT",
			Tasks: event.Counts{Completed: 1, Pending: 1}},
	} {
		past = append(past, event.Event{Seq: int64(i + 1), Time: time.Unix(int64(i), 0).UTC(), Body: b})
	}
	r := &invocation{plan: p, std: Stdio{In: in, Out: io.Discard, Err: out, Terminal: func() bool { return true }}}
	r.opts = &runOptions{outputOptions: outputOptions{output: "text"},
		settings: &settings{flags: &pflag.FlagSet{}, origins: map[string]origin{}}}
	return r, past
}

// untouched is a reader that fails the test on any read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("stdin was read")
	return 0, io.EOF
}

func TestAskAboutAnUnfinishedRun(t *testing.T) {
	t.Parallel()
	const resume, fresh, nothing = "resume", "fresh", "nothing"
	for _, tt := range []struct {
		name, answer, want string
		questions, tables  int
	}{
		{"just Enter", "\n", resume, 1, 0},
		{"yes", "y\n", resume, 1, 0},
		{"in words", "  Yes \n", resume, 1, 0},
		{"no", "n\n", nothing, 1, 0},
		{"fresh", "FRESH\r\n", fresh, 1, 0},
		{"without a newline", "no", nothing, 1, 0},
		{"f without a newline", "f", fresh, 1, 0},
		{"status asks again", "status\nstatus\nfresh\n", fresh, 3, 2},
		{"what was that", "maybe\ny\n", resume, 2, 0},
		{"end of input", "", nothing, 1, 0},
		{"end of input after the status", "s\n", nothing, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			r, past := halfway(t, strings.NewReader(tt.answer), &said)
			c, err := r.chooseRun(past, t.TempDir())
			got := nothing
			var use *usererr.UsageError
			switch {
			case err == nil && c != nil && c.Run == "r-1" && !r.opts.fresh:
				got = resume
			case err == nil && c == nil && r.opts.fresh:
				got = fresh
			case !errors.As(err, &use):
				t.Errorf("error %v", err)
			}
			if got != tt.want {
				t.Errorf("it came to %s, want %s", got, tt.want)
			}
			if !strings.HasPrefix(said.String(), "An unfinished run of plan.json is here: 1 of 2 tasks completed, $1.25 spent (stopped by SIGINT).\n") {
				t.Error(said.String())
			}
			if n := strings.Count(said.String(), "[Y/n/fresh/status] "); n != tt.questions {
				t.Errorf("asked %d times, want %d", n, tt.questions)
			}
			if n := strings.Count(said.String(), "interrupted: 1 of 2 tasks completed"); n != tt.tables {
				t.Errorf("showed the status %d times, want %d", n, tt.tables)
			}
		})
	}
}

// A run that was cut off is shown with the cost of its unfinished work, as wavex status shows it.
func TestAskAboutARunThatWasCutOff(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	r, past := halfway(t, strings.NewReader("status\nno\n"), &said)
	var use *usererr.UsageError
	if _, err := r.chooseRun(past[:3], t.TempDir()); !errors.As(err, &use) {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "\ncut off: 0 of 2 tasks completed") ||
		!strings.Contains(said.String(), "Continue with: wavex resume\n") {
		t.Error(said.String())
	}
}

// No question is asked if the command line answers it, if the output is for programs, or without a
// terminal.
func TestDoNotAsk(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*invocation){
		"no terminal":   func(r *invocation) { r.std.Terminal = func() bool { return false } },
		"no file":       func(r *invocation) { r.std.Terminal = nil },
		"the command":   func(r *invocation) { r.opts.resuming = true },
		"--output json": func(r *invocation) { r.opts.output = "json" },
	} {
		var said strings.Builder
		r, past := halfway(t, untouched{t}, &said)
		change(r)
		if c, err := r.chooseRun(past, t.TempDir()); err != nil || c == nil || said.Len() > 0 {
			t.Errorf("%s: %v, %v, %q", name, c, err, said.String())
		}
	}
	r, past := halfway(t, untouched{t}, io.Discard)
	r.opts.fresh = true
	if c, err := r.chooseRun(past, t.TempDir()); err != nil || c != nil {
		t.Errorf("--fresh: %v, %v", c, err)
	}
	r, past = halfway(t, untouched{t}, io.Discard)
	past[len(past)-1].Body = event.RunEnded{Status: "complete"}
	if c, err := r.chooseRun(past, t.TempDir()); err != nil || c != nil || r.opts.fresh {
		t.Errorf("complete: %v, %v", c, err)
	}
}

// A run that is under way elsewhere is refused without a question.
func TestDoNotAskAboutALiveRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loop := loop.In(dir)
	testrepo.Must(t, os.Mkdir(string(loop), 0o700))
	l, err := journal.TryLock(loop, journal.Holder{PID: 4711, Host: "here"})
	testrepo.Must(t, err)
	defer func() { _ = l.Unlock() }()
	r, past := halfway(t, untouched{t}, io.Discard)
	_, err = r.chooseRun(past, dir)
	var locked *journal.LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != 4711 {
		t.Errorf("%v", err)
	}
}
