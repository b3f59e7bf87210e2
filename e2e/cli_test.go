//go:build unix

package e2e

// This file starts the real CLI, directly, in a scratch home with a chosen environment, and reads
// its output. It knows the frame of that output, one JSON object per line, and not how wavex
// interprets it.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// prices holds the prices of the tests' model and of the CLI's default models, with which the CLI
// computes; TestLedgerMatchesCharges compares them.
var prices = fakeapi.Prices{
	"claude-sonnet-4-5": {Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000},
	"claude-opus-5":     {Input: 5_000_000, Output: 25_000_000, CacheRead: 500_000, CacheWrite: 6_250_000}, // of 2.1.258
	"claude-opus-5-5":   {Input: 4_000_000, Output: 20_000_000, CacheRead: 200_000, CacheWrite: 5_000_000}, // of 2.1.330
	"claude-fable-5-1":  {Input: 10_000_000, Output: 50_000_000, CacheRead: 250_000, CacheWrite: 12_500_000},
	"claude-fable-5-2":  {Input: 8_000_000, Output: 40_000_000, CacheRead: 200_000, CacheWrite: 10_000_000},
	"claude-mythos-5-2": {Input: 8_000_000, Output: 40_000_000, CacheRead: 200_000, CacheWrite: 10_000_000},
	"claude-tomorrow":   {Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000}, // in no table
	"claude-fable-5-9":  {Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000}, // in no table
}

// model is the model of the tests' requests; it has a price above.
const model = "claude-sonnet-4-5"

// testLimit bounds any one process of a test, on the slowest machine.
const testLimit = 15 * time.Minute

// goneTime bounds the wait for processes that must end by themselves, which takes milliseconds. A
// process left alive by mistake lives for five minutes.
const goneTime = time.Minute

// session is the id of a session that a test opens.
const session = "11111111-2222-4333-8444-555555555555"

// toolTime bounds the wait for the end of a tool on a busy machine. It is less than the five minutes of a tool's life.
const toolTime = 4 * time.Minute

// Env returns the whole environment of a CLI under test: a scratch home, the scripted API, and of
// the inherited variables only PATH and Go's build cache.
func Env(t *testing.T, srv *fakeapi.Server, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	keepFolders(t, home)
	env := []string{
		"HOME=" + home,
		"CLAUDE_CONFIG_DIR=" + home + "/.claude",
		"TMPDIR=" + t.TempDir(),
		"PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL=" + srv.URL(),
		"ANTHROPIC_API_KEY=anything",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		"GOCACHE=" + goCache(),
		goFlags,
		"GOPROXY=off",
		"GOTELEMETRY=off",
		"LC_ALL=C.UTF-8",
	}
	return append(env, more...)
}

// keepFolders puts a file into the folders of home that the CLI removes once they are empty: a CLI
// that cleans up would otherwise remove a folder in which another one is about to write, whose tool
// call then fails (observed on claude 2.1.330). A home in use is never so empty.
func keepFolders(t *testing.T, home string) {
	t.Helper()
	for _, name := range []string{"session-env", "file-history"} {
		dir := filepath.Join(home, ".claude", name)
		testrepo.Must(t, os.MkdirAll(dir, 0o700))
		testrepo.Must(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600))
	}
}

// goFlags lets projects with equal packages share compiled packages in any folder.
const goFlags = "GOFLAGS=-trimpath -vet=off -buildvcs=false"

var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return os.TempDir()
	}
	return strings.TrimSpace(string(out))
})

// setup describes the start of one CLI process.
type setup struct {
	cli   cli      // zero means the one for all tests
	args  []string // after: -p --verbose --output-format stream-json --model MODEL
	stdin string   // the prompt; ignored when talk is set
	talk  bool     // stream-json input: stdin stays open for say
	dir   string   // "" means a fresh folder
	env   []string // "" means Env
	room  bool     // the test holds the room for it already
}

// cliProcess is a running CLI.
type cliProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	in     io.WriteCloser
	stderr bytes.Buffer

	release func() // releases the room; called by end

	mu    sync.Mutex
	lines []line
	news  chan struct{} // closed and replaced at each line, closed for good at the end
	ended bool
	plain strings.Builder
}

// line is one JSON line of the CLI.
type line struct {
	Type, Subtype string
	raw           json.RawMessage
}

// result is the last line of a run that has one.
type result struct {
	Subtype          string          `json:"subtype"`
	IsError          bool            `json:"is_error"`
	APIErrorStatus   *int            `json:"api_error_status"`
	Result           string          `json:"result"`
	Errors           []string        `json:"errors"`
	NumTurns         int             `json:"num_turns"`
	SessionID        string          `json:"session_id"`
	TotalCostUSD     float64         `json:"total_cost_usd"`
	Denials          []denial        `json:"permission_denials"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	TerminalReason   string          `json:"terminal_reason"`
}

type denial struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
}

// cliEnd is a CLI process that has ended.
type cliEnd struct {
	exit   int // 128+n for signal n
	lines  []line
	plain  string // stdout that is not JSON
	stderr string
	dir    string
}

// startCLI starts a CLI. It is killed, with its process group, when the test ends.
func startCLI(t *testing.T, srv *fakeapi.Server, s setup) *cliProcess {
	t.Helper()
	release := func() {}
	if !s.room {
		release = reserveProcesses(t, 1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	p := &cliProcess{t: t, dir: s.dir, news: make(chan struct{}), release: release}
	if p.dir == "" {
		p.dir = t.TempDir()
	}
	args := []string{"-p", "--verbose", "--output-format", "stream-json", "--model", model}
	if s.talk {
		args = append(args, "--input-format", "stream-json")
	}
	if s.cli == (cli{}) {
		s.cli = shared.cli
	}
	p.cmd = exec.CommandContext(ctx, s.cli.path, append(args, s.args...)...)
	p.cmd.Dir = p.dir
	if p.cmd.Env = s.env; s.env == nil {
		p.cmd.Env = Env(t, srv)
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.cmd.WaitDelay = goneTime
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	testrepo.Must(t, err)
	if s.talk {
		p.in, err = p.cmd.StdinPipe()
		testrepo.Must(t, err)
	} else {
		p.cmd.Stdin = strings.NewReader(s.stdin)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting the CLI: %v", err)
	}
	read := make(chan struct{})
	go func() { defer close(read); p.read(out) }()
	t.Cleanup(func() {
		cancel()
		<-read
		_ = p.cmd.Wait() // a second Wait only returns an error
		release()
	})
	return p
}

func (p *cliProcess) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		data, err := r.ReadBytes('\n')
		p.mu.Lock()
		var l line
		if json.Unmarshal(data, &l) == nil && l.Type != "" {
			l.raw = data
			p.lines = append(p.lines, l)
		} else {
			p.plain.Write(data)
		}
		close(p.news)
		p.news = make(chan struct{})
		p.ended = err != nil
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send sends one user turn, or any other object, to a process started with talk.
func (p *cliProcess) send(v any) {
	p.t.Helper()
	if s, ok := v.(string); ok {
		v = map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": s}}
	}
	data, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(data, '\n')); err != nil {
		p.t.Fatalf("talking to the CLI: %v", err)
	}
}

// await returns the first line from number from on that matches, and its number.
func (p *cliProcess) await(from int, match func(line) bool) (line, int) {
	p.t.Helper()
	deadline := time.After(testLimit)
	for {
		p.mu.Lock()
		lines, news, over := p.lines, p.news, p.ended
		p.mu.Unlock()
		for ; from < len(lines); from++ {
			if match(lines[from]) {
				return lines[from], from
			}
		}
		if over {
			p.t.Fatalf("the CLI ended before the line that was waited for\n%s", p.transcript())
		}
		select {
		case <-news:
		case <-deadline:
			p.t.Fatalf("no such line within %v\n%s", testLimit, p.transcript())
		}
	}
}

// end waits for the process and returns its output.
func (p *cliProcess) end() cliEnd {
	p.t.Helper()
	if p.in != nil {
		_ = p.in.Close()
	}
	p.drain()
	err := p.cmd.Wait()
	p.release()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("waiting for the CLI: %v\n%s", err, p.transcript())
	}
	e := cliEnd{exit: p.cmd.ProcessState.ExitCode(), stderr: p.stderr.String(), dir: p.dir}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.exit = 128 + int(ws.Signal())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.lines, e.plain = p.lines, p.plain.String()
	return e
}

// drain waits until stdout is closed, as exec wants before Wait.
func (p *cliProcess) drain() {
	for {
		p.mu.Lock()
		news, over := p.news, p.ended
		p.mu.Unlock()
		if over {
			return
		}
		<-news
	}
}

func (p *cliProcess) transcript() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, l := range p.lines {
		fmt.Fprintf(&b, "  %.300s\n", bytes.TrimSpace(l.raw))
	}
	fmt.Fprintf(&b, "plain stdout: %q", p.plain.String())
	return b.String()
}

// call runs a CLI to its end.
func call(t *testing.T, srv *fakeapi.Server, s setup) cliEnd {
	t.Helper()
	return startCLI(t, srv, s).end()
}

// result returns the run's result line; without one the test fails.
func (e cliEnd) result(t *testing.T) result {
	t.Helper()
	rs := e.results(t)
	if len(rs) == 0 {
		t.Fatalf("no result line; exit %d, stdout %q, stderr %q", e.exit, e.plain, e.stderr)
	}
	return rs[len(rs)-1]
}

func (e cliEnd) results(t *testing.T) []result {
	t.Helper()
	var rs []result
	for _, l := range e.lines {
		if l.Type == "result" {
			var r result
			if err := json.Unmarshal(l.raw, &r); err != nil {
				t.Fatalf("result line: %v", err)
			}
			rs = append(rs, r)
		}
	}
	return rs
}

// of returns the lines of a type and subtype ("" matches any).
func (e cliEnd) of(kind, subtype string) []line {
	var out []line
	for _, l := range e.lines {
		if l.Type == kind && (subtype == "" || l.Subtype == subtype) {
			out = append(out, l)
		}
	}
	return out
}
