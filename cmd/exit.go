package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/usererr"
)

// The exit codes beside those of a run. docs/exit-codes.md explains each.
const (
	exitUsage   event.ExitCode = 2   // usage, or an invalid plan
	exitBug     event.ExitCode = 70  // a bug in wavex
	exitSIGHUP  event.ExitCode = 129 // interrupted, like the next one
	exitSIGTERM event.ExitCode = 143
)

// codesHelp is the last part of the help of commands that run a plan.
const codesHelp = `
Exit status:
  0    complete
  1    finished, but some task failed
  2    usage, or an invalid plan
  3    paused at a limit (money, iterations, time)
  4    paused by a breaker
  5    blocked: a person must act (login, permission, missing CLI)
  6    paused until a usage limit resets
  70   a bug in wavex
  130  interrupted (143 by SIGTERM, 129 by the end of the terminal)`

func usage(format string, args ...any) error { return usererr.Usage(format, args...) }

// exitCode is an error that the user has already been told, with its exit code.
type exitCode event.ExitCode

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

func exitStatus(code event.ExitCode) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}

// exitCodeOf returns the exit code of an error and prints nothing.
func exitCodeOf(err error) event.ExitCode { return reportError(Stdio{Err: io.Discard}, err) }

// reportError prints an error for the user and returns its exit code. It is the only place that maps
// errors to exit codes.
func reportError(std Stdio, err error) event.ExitCode {
	if err == nil {
		return event.ExitComplete
	}
	var (
		code    exitCode
		use     *usererr.UsageError
		bad     *planfile.PlanError
		blocked *usererr.BlockedError
		locked  *journal.LockedError
		version *journal.VersionError
		corrupt *journal.CorruptError
		write   *journal.WriteError
		path    *fs.PathError
		link    *os.LinkError
		call    *os.SyscallError
	)
	switch {
	case errors.As(err, &code):
		return event.ExitCode(code)
	case errors.As(err, &bad):
		fmt.Fprintln(std.Err, bad.Error())
		return exitUsage
	case errors.As(err, &use):
		fmt.Fprintln(std.Err, "wavex: "+use.Error())
		return exitUsage
	case errors.As(err, &blocked), errors.As(err, &locked), errors.As(err, &version), errors.As(err, &corrupt),
		errors.As(err, &write), errors.As(err, &path), errors.As(err, &link), errors.As(err, &call):
		fmt.Fprintln(std.Err, "wavex: "+err.Error()+writeErrorAdvice(err))
		return event.ExitBlocked
	}
	fmt.Fprintf(std.Err, "wavex: internal error: %v\nthis is a bug in wavex; the run's journal is kept\n", err)
	return exitBug
}

// advisedError is an error with advice for the user.
type advisedError struct {
	err    error
	advice string
}

func (a *advisedError) Error() string { return a.err.Error() + "\n" + a.advice }
func (a *advisedError) Unwrap() error { return a.err }

// writeErrorAdvice returns advice for a file that could not be written. It returns "" if err contains the
// advice already, or if there is none.
func writeErrorAdvice(err error) string {
	var told *advisedError
	var path *fs.PathError
	l, limited := proc.LimitOf(err)
	switch {
	case errors.As(err, &told):
	case limited:
		return "\n" + l.String() + ", then give the command again"
	case !errors.As(err, &path) || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS):
	default:
		// The error is about a file in the folder, or about the folder itself.
		if dir, _, in := strings.Cut(path.Path+string(filepath.Separator), string(filepath.Separator)+loop.Name+
			string(filepath.Separator)); in {
			return fmt.Sprintf(
				"\nwavex keeps what it knows of a run in %s, and tasks work beside it: let whoever runs wavex write in %s,"+
					" or run the plan in a copy of that folder (defaults.dir of the plan can name it)",
				loop.In(dir), dir)
		}
	}
	return ""
}

// continueAdvice returns the advice to print before a command that continues the run.
func continueAdvice(err error) string {
	if l, limited := proc.LimitOf(err); limited {
		return l.String()
	}
	return "put that right"
}
