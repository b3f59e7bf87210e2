package probe

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"wavex/budget"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// stopWait bounds the time from SIGTERM to the end of a process. SIGKILL would leave its socket.
const stopWait = 250 * time.Millisecond

// lineMax bounds a line of output, in bytes, so that output without line ends does not fill the
// memory.
const lineMax = 1 << 20

// linesMax bounds the lines that are kept of a process, so that endless output does not fill the
// memory. A probe of the real CLI prints fewer than a thousand.
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

func isResult(l line) bool { return l.Type == "result" }

// cliProcess is a running CLI. It belongs to one goroutine.
type cliProcess struct {
	p         *proc.Process
	lines     chan line     // closed at the end of the output
	closed    chan struct{} // closed by stop: lines has no receiver any more
	stderr    proc.HeadBuffer
	received  []line // all lines that await and end have received
	strayLine string // the first line that is not JSON
}

// ErrEnded means that the CLI ended before the expected line.
var ErrEnded = errors.New("it ended")

var protocolFlags = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}

// startProcess starts the CLI with the common flags of all probes and more.
func startProcess(argv, env []string, dir string, more ...string) (*cliProcess, error) {
	t := &cliProcess{lines: make(chan line), closed: make(chan struct{}), stderr: proc.HeadBuffer{Max: 16 << 10}}
	args := slices.Concat(argv, protocolFlags, more)
	p, err := proc.Start(proc.Spec{Argv: args, Dir: dir, Env: env, Stdin: true, Stderr: &t.stderr})
	if err != nil {
		return nil, err
	}
	t.p = p
	go t.read()
	return t, nil
}

// read sends the lines to t.lines until the output ends.
func (t *cliProcess) read() {
	defer close(t.lines)
	scan := bufio.NewScanner(t.p.Stdout)
	scan.Buffer(nil, lineMax)
	for scan.Scan() {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			l = line{Type: "odd", Subtype: firstLine(scan.Text())}
		}
		select {
		case t.lines <- l:
		case <-t.closed:
			_, _ = io.Copy(io.Discard, t.p.Stdout) // the process is being stopped
			return
		}
	}
	_, _ = io.Copy(io.Discard, t.p.Stdout) // a line is too long: discard the rest
}

// await returns the next line that want accepts.
func (t *cliProcess) await(ctx context.Context, want func(line) bool) (line, error) {
	for {
		select {
		case l, more := <-t.lines:
			if !more {
				return line{}, t.endError()
			}
			if len(t.received) == linesMax {
				return line{}, errNoisy
			}
			t.received = append(t.received, l)
			if l.Type == "odd" && t.strayLine == "" {
				t.strayLine = l.Subtype
			}
			if want(l) {
				return l, nil
			}
		case <-ctx.Done():
			return line{}, context.Cause(ctx)
		}
	}
}

// endError returns an error that says how the process ended.
func (t *cliProcess) endError() error {
	exit := t.p.Wait()
	said := cmp.Or(firstLine(t.stderr.String()), t.strayLine)
	if exit.Signal != "" {
		return fmt.Errorf("%w by %s: %s", ErrEnded, exit.Signal, said)
	}
	return fmt.Errorf("%w with exit status %d: %s", ErrEnded, exit.Code, said)
}

// turn runs one turn and returns its result line. A process that does not read has usually ended, and its output says
// why.
func (t *cliProcess) turn(ctx context.Context, prompt string) (line, error) {
	data, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
	if err != nil {
		return line{}, err
	}
	if _, err := t.p.Stdin.Write(append(data, '\n')); err != nil {
		_, why := t.await(ctx, func(line) bool { return false })
		return line{}, errors.Join(why, fmt.Errorf("writing to the CLI: %w", err))
	}
	return t.await(ctx, isResult)
}

// stop ends the process and its descendants, and removes its socket. It may be called again.
func (t *cliProcess) stop() {
	select {
	case <-t.closed:
		return
	default:
		close(t.closed)
	}
	t.p.Stop(stopWait)
	t.p.Wait()
	for range t.lines { // until the reader has ended
	}
	_ = t.p.Stdin.Close()
	// Observed on claude 2.1.330: each process has a socket there, and SIGKILL leaves it.
	_ = os.Remove(filepath.Join("/tmp/cc-socks", strconv.Itoa(t.p.Pid())+".sock"))
}

// firstLine returns the first line of a text, bounded.
func firstLine(text string) string { return textfmt.Shorten(textfmt.FirstLine(text), 200) }
