package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/hook"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/tasklist"
	"wavex/internal/textfmt"
)

// newHook returns the command that Claude Code calls. It never fails: an exit code of 2 would hold
// a session because of a wrong flag (observed on claude 2.1.330).
func newHook(std Stdio) *cobra.Command {
	c := &cobra.Command{
		Use:     "hook",
		Aliases: []string{"hooks"},
		Short:   "Hold a Claude Code session until its run has ended",
		Long: `hook answers the hooks of an interactive Claude Code session, so that the
session stays with a run that it started until the run has ended. wavex hook
install puts the hooks into Claude Code's settings, which then calls the other
two. They read the hook's JSON from stdin, else from ARGUMENTS in the
environment, and look for .loop upwards of the session's directory. After any
error they let the session go.

Exit status: always 0; of install 0 or 2.`,
		Example: "  wavex hook install\n  wavex hook stop < input.json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && c.CalledAs() == "hooks" { // by a person, as Claude Code does not use this name
				return unknownCommand(c, args[0])
			}
			if len(args) > 0 {
				fmt.Fprintf(std.Err, "wavex: there is no hook %q\n", args[0])
				return nil
			}
			return c.Help()
		},
	}
	c.AddCommand(newHookStop(std), newHookSessionStart(std))
	for _, sub := range append(c.Commands(), c) {
		sub.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
			fmt.Fprintln(std.Err, "wavex:", err)
			return nil
		})
	}
	install := newHookInstall(std)
	install.SetFlagErrorFunc(func(i *cobra.Command, err error) error { return c.Root().FlagErrorFunc()(i, err) })
	c.AddCommand(install)
	return c
}

func newHookStop(std Stdio) *cobra.Command {
	var format string
	var limit int
	c := &cobra.Command{
		Use:   "stop",
		Short: "Hold a session until its run has ended",
		Long: `stop answers the Stop hook. A session is held when wavex was started from it and
the run is neither over nor paused: wavex was killed or interrupted, or is still
at work outside of the session's background commands. It is let go when it was
held --stop-active-limit times in a row without a further task completed.

A session without a run of its own, but with CLAUDE_CODE_TASK_LIST_ID in its
environment, is held while tasks of that list are open.

Exit status: always 0.`,
		Example: "  wavex hook stop < input.json\n  wavex hook stop --format ok < input.json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			recoverPanic(std, func() { hookStop(c.Context(), std, strings.Join(args, " "), format, limit) })
			return nil
		},
	}
	choiceFlag(c, &format, "format", "claude", hook.Formats(), "form of the answer")
	c.Flags().IntVar(&limit, "stop-active-limit", 3, "how often in a row to hold a session, 1 to 8")
	return c
}

func newHookSessionStart(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:     "session-start",
		Short:   "Tell a new session of the run in its folder",
		Long:    "session-start answers the SessionStart hook: it tells the session of a run that\nis under way or can go on.\n\nExit status: always 0.",
		Example: "  wavex hook session-start < input.json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			recoverPanic(std, func() { hookSessionStart(std, strings.Join(args, " ")) })
			return nil
		},
	}
}

// recoverPanic runs f and recovers from panics, so that a bug in wavex cannot hold a session.
func recoverPanic(std Stdio, f func()) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintln(std.Err, "wavex: a bug in wavex:", p)
		}
	}()
	f()
}

func hookStop(ctx context.Context, std Stdio, args, format string, limit int) {
	in, run, err := hookInput(std, args)
	v := hook.StopDecision{}
	switch {
	case err == nil:
		v = stopVerdict(in, run, limit)
	case in.Session == "" || errors.Is(err, errChildSession):
		v.LogReason = err.Error()
	default:
		v.LogReason, v.Unrelated = err.Error(), true
	}
	if name := os.Getenv(tasklist.EnvVar); v.Unrelated && name != "" {
		list, err := hook.ReadList(ctx, in, name, os.Getenv)
		switch {
		case err != nil:
			v.LogReason += "; " + err.Error()
		case run.Snapshot.Plan == list.Snapshot.Plan && !run.Over():
			v.LogReason += "; a run has taken task list " + list.List
		default:
			v = stopVerdict(in, list, limit)
		}
	}
	if !v.Block {
		fmt.Fprintln(std.Err, "wavex: let go:", v.LogReason)
	}
	_, _ = std.Out.Write(hook.Render(v, format)) // a CLI that does not read the output continues without it
}

func stopVerdict(in hook.Input, run hook.Run, limit int) hook.StopDecision {
	v := hook.DecideStop(in, run, limit, func() (int, bool) { return hook.CountStreak(in, run) })
	if !v.Block {
		hook.ResetStreak(in, run)
	}
	return v
}

func hookSessionStart(std Stdio, args string) {
	_, run, err := hookInput(std, args)
	text := ""
	switch {
	case err == nil:
		text = hook.Announcement(run)
	case run.Loop == "" || errors.Is(err, errChildSession):
		fmt.Fprintln(std.Err, "wavex: nothing to tell:", err)
		return
	}
	if text == "" && run.Loop != "" {
		text = requestAnnouncement(run.Loop)
	}
	_, _ = std.Out.Write(hook.RenderContext(text))
}

// maxRequestJournal bounds, in bytes, a journal that is read whole for a hook. The journal of a request
// without a run is short.
const maxRequestJournal = 512 << 10

// requestAnnouncement returns the announcement of a request that has no plan yet, or "" if there is none.
func requestAnnouncement(dir loop.Dir) string {
	if st, err := os.Stat(dir.Path(loop.Journal)); err != nil || st.Size() > maxRequestJournal {
		return ""
	}
	s, err := pendingRequest(dir)
	if err != nil || s == nil {
		return ""
	}
	spec, fit := "-", "-"
	if o := s.Origin; o != nil {
		spec, fit = fmt.Sprint(o.SpecScore), fmt.Sprint(o.FitScore)
	}
	next := "wavex start"
	if s.NotReady {
		next = "the request is too vague: wavex plan, with what it lacks"
	}
	return fmt.Sprintf(
		"[LOOP RESUME] Active loop detected\nStage: %s | Spec: %s/10 | Fit: %s\nProgress: 0/0 tasks | Wave: 1\nReviews: none\nNext: %s\nRequest: %s | In: %s\n",
		s.Stage, spec, fit, next, textfmt.Fit(s.Opened.Request, 300, false), textfmt.Line(filepath.Dir(string(dir))))
}

// hookInput reads the input of a hook and finds the run that it is about. A process that wavex
// started has no run, whatever its folder holds.
func hookInput(std Stdio, args string) (in hook.Input, run hook.Run, err error) {
	if isTerminal(std.In) {
		std.In = strings.NewReader("")
	}
	if in, err = hook.ReadInput(std.In, cmp.Or(args, os.Getenv("ARGUMENTS"))); err != nil {
		return in, run, err
	}
	if isChild() {
		return in, run, errChildSession
	}
	here, _ := os.Getwd()
	dir := cmp.Or(hook.Find(in.Dir), hook.Find(os.Getenv("CLAUDE_PROJECT_DIR")))
	if dir == "" && in.Dir == "" {
		dir = hook.Find(here)
	}
	if dir == "" {
		return in, run, hook.ErrNoRun
	}
	run, err = hook.Read(dir)
	return in, run, err
}

var errChildSession = errors.New("this session is a child of wavex")

// isChild reports whether this process belongs to a run.
func isChild() bool { return os.Getenv(proc.RunVar) != "" || os.Getenv(proc.AttemptVar) != "" }
