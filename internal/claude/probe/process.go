package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"wavex/budget"
	"wavex/internal/proc"
)

// stopWait bounds how long a process may take to end after SIGTERM. After SIGKILL its socket
// would be left.
const stopWait = 250 * time.Millisecond

// lineMax bounds a line of output, in bytes: garbage without a line's end must not fill the memory.
const lineMax = 1 << 20

// linesMax bounds the lines that are kept of a process. A probe of the real CLI has fewer than a
// thousand; a program that prints without end must not fill the memory.
const linesMax = 10_000

// errNoisy ends the probe of such a program: its statements stay unknown.
var errNoisy = fmt.Errorf("it printed more than %d lines", linesMax)

// line is one line of the CLI's output, as far as the probes look.
type line struct {
	Type      string             `json:"type"`
	Subtype   string             `json:"subtype"`
	Session   string             `json:"session_id"`
	Total     *float64           `json:"total_cost_usd"`
	Turn      map[string]costing `json:"model_usage_since_last_result"`
	Denials   []denial           `json:"permission_denials"`
	Answer    json.RawMessage    `json:"structured_output"`
	Servers   []named            `json:"mcp_servers"`
	Event     streamEvent        `json:"event"`
	Responded response           `json:"response"`
}

type (
	costing struct {
		USD float64 `json:"costUSD"`
	}
	denial struct {
		Tool string `json:"tool_use_id"`
	}
	named struct {
		Name string `json:"name"`
	}
	streamEvent struct {
		Type  string `json:"type"`
		Usage struct {
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	response struct {
		ID string `json:"request_id"`
	}
)

// total returns the total cost in micro-dollars; -1 where the line has none.
func (l line) total() budget.USD {
	if l.Total == nil {
		return -1
	}
	return micro(*l.Total)
}

// turn returns the cost of the turn in micro-dollars; -1 where the line does not tell it.
func (l line) turn() budget.USD {
	if l.Turn == nil {
		return -1
	}
	sum := 0.0
	for _, m := range l.Turn {
		sum += m.USD
	}
	return micro(sum)
}

func micro(usd float64) budget.USD { return budget.USD(math.Round(usd * 1e6)) }

func isResult(l line) bool { return l.Type == "result" }

// talk is a running CLI. It is for one goroutine.
type talk struct {
	p      *proc.Process
	lines  chan line     // closed at the end of the output
	left   chan struct{} // closed by stop: nobody reads lines any more
	stderr head
	seen   []line // all that await and end have taken
	odd    string // the first line that is no JSON
}

// ErrEnded says that the CLI ended before what was waited for.
var ErrEnded = errors.New("it ended")

var speaking = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}

// begin starts the CLI with the flags that every probe has and more.
func begin(argv, env []string, dir string, more ...string) (*talk, error) {
	t := &talk{lines: make(chan line), left: make(chan struct{})}
	args := slices.Concat(argv, speaking, more)
	p, err := proc.Start(proc.Spec{Argv: args, Dir: dir, Env: env, Stdin: true, Stderr: &t.stderr})
	if err != nil {
		return nil, err
	}
	t.p = p
	go t.read()
	return t, nil
}

// read passes the lines on until the output ends.
func (t *talk) read() {
	defer close(t.lines)
	scan := bufio.NewScanner(t.p.Stdout)
	scan.Buffer(nil, lineMax)
	for scan.Scan() {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			l = line{Type: "odd", Subtype: firstLine(scan.Bytes())}
		}
		select {
		case t.lines <- l:
		case <-t.left:
			_, _ = io.Copy(io.Discard, t.p.Stdout) // the process is being ended
			return
		}
	}
	_, _ = io.Copy(io.Discard, t.p.Stdout) // a line too long: the rest is not read
}

// await returns the next line that is wanted.
func (t *talk) await(ctx context.Context, want func(line) bool) (line, error) {
	for {
		select {
		case l, more := <-t.lines:
			if !more {
				return line{}, t.ended()
			}
			if len(t.seen) == linesMax {
				return line{}, errNoisy
			}
			t.seen = append(t.seen, l)
			if l.Type == "odd" && t.odd == "" {
				t.odd = l.Subtype
			}
			if want(l) {
				return l, nil
			}
		case <-ctx.Done():
			return line{}, context.Cause(ctx)
		}
	}
}

// ended says how the process ended.
func (t *talk) ended() error {
	exit := t.p.Wait()
	said := firstLine(t.stderr.bytes())
	if said == "" {
		said = t.odd
	}
	if exit.Signal != "" {
		return fmt.Errorf("%w by %s: %s", ErrEnded, exit.Signal, said)
	}
	return fmt.Errorf("%w with exit status %d: %s", ErrEnded, exit.Code, said)
}

// say sends a prompt.
func (t *talk) say(prompt string) error {
	return t.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
}

// control sends a control request; its answer has the id.
func (t *talk) control(id, subtype string) error {
	return t.send(map[string]any{"type": "control_request", "request_id": id,
		"request": map[string]any{"subtype": subtype}})
}

func (t *talk) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := t.p.Stdin.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing to the CLI: %w", err)
	}
	return nil
}

// silent says why the process does not read: as a rule it has ended, and its output tells why.
func (t *talk) silent(ctx context.Context, err error) error {
	_, why := t.await(ctx, func(line) bool { return false })
	return errors.Join(why, err)
}

// turn has one turn and returns its result.
func (t *talk) turn(ctx context.Context, prompt string) (line, error) {
	if err := t.say(prompt); err != nil {
		return line{}, t.silent(ctx, err)
	}
	return t.await(ctx, isResult)
}

// end closes stdin and waits for the end.
func (t *talk) end(ctx context.Context) (proc.Exit, error) {
	_ = t.p.Stdin.Close() // it may have ended by itself
	return t.over(ctx)
}

// over waits for the end.
func (t *talk) over(ctx context.Context) (proc.Exit, error) {
	if _, err := t.await(ctx, func(line) bool { return false }); !errors.Is(err, ErrEnded) {
		return proc.Exit{}, err
	}
	return t.p.Wait(), nil
}

// stop ends the process and all that it started, and removes its socket. It may be called again.
func (t *talk) stop() {
	select {
	case <-t.left:
		return
	default:
		close(t.left)
	}
	_ = t.p.Terminate() // it may be gone
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-t.p.Done():
	case <-timer.C:
		_ = t.p.Kill()
	}
	t.p.Wait()
	for range t.lines { // until the reader has ended
	}
	_ = t.p.Stdin.Close()
	// Observed on claude 2.1.330: each process has a socket there, and SIGKILL leaves it.
	_ = os.Remove(filepath.Join("/tmp/cc-socks", strconv.Itoa(t.p.Pid())+".sock"))
}

// head keeps the beginning of what is written to it. It is safe for concurrent use.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const headMax = 16 << 10

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(p[:min(len(p), headMax-h.buf.Len())])
	return len(p), nil
}

func (h *head) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.buf.Bytes())
}

// firstLine returns the first line of a text, at most 200 bytes of it.
func firstLine(text []byte) string {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.ToValidUTF8(first[:min(len(first), 200)], nil))
}
