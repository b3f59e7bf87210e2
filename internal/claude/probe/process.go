package probe

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"wavex/budget"
	"wavex/internal/claude/statement"
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

// line holds the fields of an output line that the probes use.
type line struct {
	Type    string               `json:"type"`
	Subtype string               `json:"subtype"`
	Total   *float64             `json:"total_cost_usd"`
	Turn    map[string]modelCost `json:"model_usage_since_last_result"`
	Denials []denial             `json:"permission_denials"`
	Event   streamEvent          `json:"event"`
}

type (
	modelCost struct {
		USD float64 `json:"costUSD"`
	}
	denial struct {
		Tool string `json:"tool_use_id"`
	}
	streamEvent struct {
		Type  string `json:"type"`
		Usage struct {
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
)

// total returns the total cost in micro-dollars, or -1 if the line has none.
func (l line) total() budget.USD {
	if l.Total == nil {
		return -1
	}
	return budget.FromFloat(*l.Total)
}

// turn returns the cost of the turn in micro-dollars, or -1 if the line has none.
func (l line) turn() budget.USD {
	if l.Turn == nil {
		return -1
	}
	sum := 0.0
	for _, m := range l.Turn {
		sum += m.USD
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
	data, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
	if err != nil {
		return line{}, err
	}
	_, _ = t.p.Stdin.Write(append(data, '\n')) // a process that does not read has usually ended, and its output says why
	for t.scan.Scan() {
		if t.lines++; t.lines > linesMax {
			return line{}, errNoisy
		}
		var l line
		switch err := json.Unmarshal(t.scan.Bytes(), &l); {
		case err != nil:
			t.strayLine = cmp.Or(t.strayLine, firstLine(t.scan.Text()))
		case l.Type == "result":
			return l, nil
		case l.Subtype == "init":
			t.bare = statement.IsBare(jsonobject.Value(t.scan.Bytes()))
		case l.Type == "stream_event" && l.Event.Type == "message_delta":
			t.finals = append(t.finals, l.Event.Usage.Output)
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
