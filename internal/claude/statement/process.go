package statement

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/jsonobject"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// stopWait bounds the time from SIGTERM to the end of a process. SIGKILL would leave its socket.
const stopWait = 250 * time.Millisecond

// lineMax bounds a line of output, in bytes, so that output without line ends does not fill the
// memory.
const lineMax = 1 << 20

// linesMax bounds the lines that are read of a process. A probe of the real CLI prints fewer than a thousand.
const linesMax = 10_000

// errNoisy ends the probe of such a program. Its statements stay unknown.
var errNoisy = fmt.Errorf("it printed more than %d lines", linesMax)

// line is a line of output.
type line struct{ jsonobject.Value }

// total returns the total cost in micro-dollars, or -1 if the line has none.
func (l line) total() budget.USD {
	if l.Get("total_cost_usd").Kind() != '0' {
		return -1
	}
	return budget.FromFloat(l.Get("total_cost_usd").Float())
}

// turn returns the cost of the turn in micro-dollars, or -1 if the line has none.
func (l line) turn() budget.USD {
	models := l.Get("model_usage_since_last_result")
	if models.Kind() != '{' {
		return -1
	}
	sum := 0.0
	for _, m := range models.Members() {
		sum += m.Get("costUSD").Float()
	}
	return budget.FromFloat(sum)
}

// cliProcess is a running CLI. It belongs to one goroutine.
type cliProcess struct {
	p         *proc.Process
	unwatch   func() bool // the end of the context ends the process no more
	scan      *bufio.Scanner
	stderr    proc.HeadBuffer
	lines     int     // received so far
	finals    []int64 // the final output tokens of responses
	bare      bool    // its init line is that of bare mode
	strayLine string  // the first line that is not JSON
}

// ErrEnded means that the CLI ended before the expected line.
var ErrEnded = errors.New("it ended")

var protocolFlags = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}

// startProcess starts the CLI with the common flags of all probes and more. It ends with ctx.
func startProcess(ctx context.Context, argv, env []string, dir string, more ...string) (*cliProcess, error) {
	t := &cliProcess{stderr: proc.HeadBuffer{Max: 16 << 10}}
	args := slices.Concat(argv, protocolFlags, more)
	p, err := proc.Start(proc.Spec{Argv: args, Dir: dir, Env: env, Stdin: true, Stderr: &t.stderr})
	if err != nil {
		return nil, err
	}
	t.p, t.scan = p, bufio.NewScanner(p.Stdout)
	t.scan.Buffer(nil, lineMax)
	t.unwatch = context.AfterFunc(ctx, func() { p.Stop(stopWait) })
	return t, nil
}

// turn runs one turn and returns its result line.
func (t *cliProcess) turn(ctx context.Context, prompt string) (line, error) {
	_, _ = t.p.Stdin.Write(claude.UserMessage(prompt)) // if it does not read, its output says why
	for t.scan.Scan() {
		if t.lines++; t.lines > linesMax {
			return line{}, errNoisy
		}
		switch l := jsonobject.Value(bytes.Clone(t.scan.Bytes())); {
		case !l.IsValid():
			t.strayLine = cmp.Or(t.strayLine, firstLine(t.scan.Text()))
		case l.Get("type").Text() == "result":
			return line{l}, nil
		case l.Get("subtype").Text() == "init":
			t.bare = claude.IsBare(l)
		case l.Get("type").Text() == "stream_event" && l.Get("event.type").Text() == "message_delta":
			t.finals = append(t.finals, l.Get("event.usage.output_tokens").Int())
		}
	}
	exit := t.p.Wait()
	if err := context.Cause(ctx); err != nil {
		return line{}, err
	}
	said := cmp.Or(firstLine(t.stderr.String()), t.strayLine)
	if exit.Signal != "" {
		return line{}, fmt.Errorf("%w by %s: %s", ErrEnded, exit.Signal, said)
	}
	return line{}, fmt.Errorf("%w with exit status %d: %s", ErrEnded, exit.Code, said)
}

// stop ends the process and its descendants, and removes its socket.
func (t *cliProcess) stop() {
	t.unwatch()
	t.p.Stop(stopWait)
	t.p.Wait()
	_ = t.p.Stdin.Close()
	// Observed on claude 2.1.330: each process has a socket there, and SIGKILL leaves it.
	_ = os.Remove(filepath.Join("/tmp/cc-socks", strconv.Itoa(t.p.Pid())+".sock"))
}

// firstLine returns the first line of a text, bounded.
func firstLine(text string) string { return textfmt.Shorten(textfmt.FirstLine(text), 200) }
