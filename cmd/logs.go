package cmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"wavex/internal/loop"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/transcript"
	"wavex/internal/ui"
)

type logsOptions struct {
	attempt int
	follow  bool
	raw     bool
	ascii   bool
}

func newLogs(std Stdio) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:   "logs TASK",
		Short: "Show what an agent said and did",
		Long: `logs shows an attempt at a task as its agent told it: words, tool calls with the
beginning of their answers, edits as a diff, and how it ended. It reads the last
run in .loop/ of the project directory, and changes nothing. Without --attempt
it is the last attempt. With -f it goes on while the attempt runs, and with the
task's next ones.

Exit status: 0 shown, 2 there is no such task or attempt.`,
		Example: "  wavex logs T-004\n  wavex logs T-004 --attempt 1\n  wavex logs T-004 -f\n  wavex logs T-004 --raw | jq .type",
		Args:    oneArg("a task's id"),
		RunE:    func(c *cobra.Command, args []string) error { return runLogs(c.Context(), args[0], o, std) },
	}
	f := c.Flags()
	f.IntVar(&o.attempt, "attempt", 0, "number of the attempt (default: the last)")
	f.BoolVarP(&o.follow, "follow", "f", false, "follow the task until it ends")
	f.BoolVar(&o.raw, "raw", false, "print the agent's stream unchanged, one JSON object per line")
	f.BoolVar(&o.ascii, "ascii", false, "use only ASCII characters, except in the agent's text")
	return c
}

func runLogs(ctx context.Context, id string, o logsOptions, std Stdio) error {
	l := &attemptLog{raw: o.raw, tty: isTerminal(std.Out), out: bufio.NewWriter(std.Out),
		view: ui.Options{ASCII: asciiOnly(o.ascii, std.Out, os.Getenv)}}
	l.view.Color = ui.Color(l.tty, os.Getenv)
	var err error
	if l.f, err = follow(nil, std); err != nil {
		return err
	}
	p := l.f.State.Plan
	if l.task, err = findTask(p, id); err != nil {
		return err
	}
	if i, ok := p.Lookup(l.task); ok {
		l.title = p.Tasks[i].Title()
	}
	n := o.attempt
	last := l.lastAttempt()
	switch {
	case n == 0:
		n = last
	case n < 0 || n > last:
		return usage("task %s has %s, no attempt %d", l.task, report.Plural(last, "attempt", "attempts"), n)
	}
	if n == 0 && !o.follow {
		return usage("task %s has had no attempt yet", l.task)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return errors.Join(l.showAttempts(ctx, n, o), l.out.Flush())
}

// attemptLog shows the attempts of one task.
type attemptLog struct {
	f     follower
	task  string
	title string
	raw   bool
	tty   bool
	cwd   string // working directory of the agent, with a slash; cut from paths
	out   *bufio.Writer
	view  ui.Options
}

// lastAttempt returns the number of the last attempt that was started, or 0 if there is none.
func (l *attemptLog) lastAttempt() int {
	i, ok := l.f.State.Index(l.task)
	if !ok {
		return 0
	}
	return l.f.State.Tasks[i].Attempts
}

// showAttempts shows attempt n and, with --follow, the later ones; with n 0 the first one, for which it waits.
func (l *attemptLog) showAttempts(ctx context.Context, n int, o logsOptions) error {
	for n = max(n, 1); ; n++ {
		for n > l.lastAttempt() {
			if l.noMoreAttempts() {
				return usageIf(n == 1, "task %s has had no attempt yet", l.task)
			}
			if again, err := l.waitForChange(ctx); !again {
				return err
			}
		}
		if again, err := l.showAttempt(ctx, n, o.follow); !again {
			return err
		}
		if o.attempt != 0 || !o.follow {
			return nil
		}
	}
}

// noMoreAttempts reports whether no further attempt will come without a resume.
func (l *attemptLog) noMoreAttempts() bool {
	i, ok := l.f.State.Index(l.task)
	return !ok || l.f.Done() || l.f.State.Tasks[i].Status.Finished()
}

// waitForChange prints all output, and waits like follower.wait.
func (l *attemptLog) waitForChange(ctx context.Context) (again bool, err error) {
	if err := l.out.Flush(); err != nil {
		return false, err
	}
	return l.f.wait(ctx, nil)
}

// onRecord returns attempt n as the journal has it.
func (l *attemptLog) onRecord(n int) (found report.Attempt) {
	for _, a := range report.LastRun(l.f.Events).Attempts[l.task] {
		if a.Attempt == n {
			found = a
		}
	}
	return found
}

// showAttempt shows one attempt. If follow is true, it returns when the attempt has ended.
func (l *attemptLog) showAttempt(ctx context.Context, n int, follow bool) (again bool, err error) {
	dir := path.Join(l.task, loop.Attempt(n))
	if !l.raw {
		if a := l.onRecord(n); !a.StartedAt.IsZero() {
			fmt.Fprintln(l.out, ui.LogStart(a.AttemptStarted, l.title, a.StartedAt))
		}
	}
	g := &tailReader{files: l.f.Files(), names: []string{path.Join(dir, loop.StreamFile), path.Join(dir, loop.OutputFile)}}
	for {
		end := l.onRecord(n).End // looked up before reading the stream, so that the stream is whole if end is set
		if err := g.readNew(l.showLine); err != nil {
			return false, err
		}
		if end != nil || !follow || l.f.Done() {
			if err := g.readRest(l.showLine); err != nil {
				return false, err
			}
			if end != nil && !l.raw {
				fmt.Fprintln(l.out, strings.Join(ui.LogEnd(*end), "\n"))
			}
			return true, l.out.Flush()
		}
		if again, err := l.waitForChange(ctx); !again {
			return false, err
		}
	}
}

// showLine shows one line of a stream. It prints a line of a command's output, which is not a stream,
// unchanged.
func (l *attemptLog) showLine(r *transcript.Reader, line []byte, stream bool) {
	switch {
	case l.raw && l.tty:
		line = textfmt.JSON(line)
		fallthrough
	case l.raw:
		_, _ = l.out.Write(append(line, '\n')) // Flush reports the error
	case !stream:
		fmt.Fprintln(l.out, textfmt.Multiline(string(line), 0))
	default:
		for _, e := range r.Line(line) {
			if e.Kind == transcript.Init && e.Target != "" {
				l.cwd = e.Target + "/"
			}
			e.Target = strings.TrimPrefix(e.Target, l.cwd)
			for _, text := range ui.LogEntry(e, l.view) {
				fmt.Fprintln(l.out, text)
			}
		}
	}
}

// tailReader reads a file line by line while the file grows. It takes the first of its names that
// exists.
type tailReader struct {
	files   fs.FS
	names   []string
	offset  int64
	partial []byte // an incomplete line
	reader  transcript.Reader
}

// cutRoom is the distance from the end, in bytes, at which reading goes on after a file was cut.
const cutRoom = 64 << 10

func (g *tailReader) readNew(each func(*transcript.Reader, []byte, bool)) error {
	for i, name := range g.names {
		file, err := g.files.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // opened only for reading
		in, ok := file.(io.ReadSeeker)
		if !ok {
			return fmt.Errorf("%s is no file", name)
		}
		g.names = g.names[i : i+1]
		if info, err := file.Stat(); err == nil && info.Size() < g.offset { // the middle of a long output was left out
			g.offset, g.partial = max(0, info.Size()-cutRoom), nil
		}
		if _, err := in.Seek(g.offset, io.SeekStart); err != nil {
			return err
		}
		text, err := io.ReadAll(in) // files of attempts are bounded
		g.offset += int64(len(text))
		lines := bytes.Split(append(g.partial, text...), []byte("\n"))
		for _, line := range lines[:len(lines)-1] {
			each(&g.reader, line, strings.HasSuffix(name, ".jsonl"))
		}
		g.partial = lines[len(lines)-1]
		return err
	}
	return nil
}

// readRest reads the rest of the file, including a last line without a newline.
func (g *tailReader) readRest(each func(*transcript.Reader, []byte, bool)) error {
	if err := g.readNew(each); err != nil {
		return err
	}
	if len(g.partial) > 0 {
		each(&g.reader, g.partial, strings.HasSuffix(g.names[0], ".jsonl"))
		g.partial = nil
	}
	return nil
}

// logTail returns the last n lines of an attempt's log, clean, for the page. There may be none yet.
func logTail(files fs.FS, task string, attempt, n int) (lines []string) {
	dir := path.Join(task, loop.Attempt(attempt))
	if tail, _, err := transcript.ReadTail(files, path.Join(dir, loop.StreamFile)); err == nil {
		for e := range transcript.Entries(tail) {
			lines = append(lines, ui.LogEntry(e, ui.Options{})...)
		}
	} else if tail, _, err := transcript.ReadTail(files, path.Join(dir, loop.OutputFile)); err == nil {
		lines = strings.Split(textfmt.Multiline(string(tail), 0), "\n")
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	for k, l := range lines { // the width of a tab depends on its column
		lines[k] = strings.ReplaceAll(l, "\t", "    ")
	}
	return lines[max(0, len(lines)-n):]
}
