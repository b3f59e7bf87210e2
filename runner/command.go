package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"wavex/internal/check"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// This file runs the command of a command task.

// errTimeout ends a command.
var errTimeout = errors.New("the attempt's time is up")

// runCommand runs the command; the shell's exit code decides.
func (t *attempt) runCommand(ctx context.Context) classification {
	wall := t.turn.Settings.Timeout
	out := &lazyFile{Host: &t.Host, dir: t.req.LogDir, name: loop.OutputFile}
	defer out.close()
	ctx, cancel := context.WithTimeoutCause(ctx, wall, errTimeout)
	defer cancel()
	whole := &textfmt.Excerpt{Max: check.MaxOutput}
	var stdout *proc.HeadBuffer // nil: the task has no output
	if t.req.Output != nil {
		stdout = &proc.HeadBuffer{Max: MaxOutput + 1}
	}
	exit, said, err := t.place().Command(ctx, t.req.Command, io.MultiWriter(out, whole), stdout)
	t.res.ExitCode, t.res.Contained = exit.Code, exit.Contained
	t.exhausted = exit.Exhausted
	t.res.Report = said.String()
	t.noOutput = out.log == nil
	v := classifyCommand(exit, err, wall)
	if v.outcome == Done && stdout != nil {
		v = t.takeOutput([]byte(stdout.String()), nil,
			"the command printed nothing on standard output, where its JSON belongs")
	}
	if v.outcome != Done {
		v.detail = t.res.Report
		t.failed = []check.Evidence{{Check: t.redact(t.req.Command), Reason: v.reason, Whole: t.redact(whole.String())}}
	}
	return v
}

// classifyCommand returns the outcome for a command; err tells why it could not start or was
// stopped.
func classifyCommand(exit proc.Exit, err error, wall time.Duration) classification {
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		return classification{outcome: Broken, reason: err.Error()}
	case errors.Is(err, errTimeout):
		return classification{outcome: TimedOut, reason: fmt.Sprintf("not finished after %s", wall)}
	case err != nil:
		return classification{outcome: Interrupted, reason: "stopped: " + err.Error()}
	case exit.Signal != "":
		return classification{outcome: Wrong, reason: "the command was ended by " + exit.Signal}
	case exit.Code != 0:
		return classification{outcome: Wrong, reason: fmt.Sprintf("the command's exit code is %d", exit.Code)}
	}
	return classification{outcome: Done}
}

// lazyFile is a log file that is created on the first write: most commands of a large plan print
// nothing.
type lazyFile struct {
	*Host
	dir, name string
	log       *LogFile
	err       error // of creating the file; all later writes are dropped
}

func (l *lazyFile) Write(b []byte) (int, error) {
	if l.log == nil && l.err == nil {
		l.log, l.err = l.CreateLog(l.dir, l.name)
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.log.Write(b)
}

func (l *lazyFile) close() {
	if l.log != nil {
		l.log.Close()
	}
}
