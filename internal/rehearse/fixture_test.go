package rehearse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wavex/internal/testrepo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// asAgent in the environment makes the test binary the agent itself.
const asAgent = "REHEARSE_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		os.Exit(Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// streaming lists the flags of every stream-json run.
var streaming = []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}

const prompt = `{"type":"user","message":{"role":"user","content":"do it"}}` + "\n"

const interrupt = `{"type":"control_request","request_id":"r1","request":{"subtype":"interrupt"}}` + "\n"

// fixture is an agent inside the test, with a fixed clock and numbered ids.
type fixture struct {
	t       *testing.T
	host    host
	signals chan os.Signal
	env     []string
	died    bool
	orphans []string
}

func newFixture(t *testing.T, block string) *fixture {
	t.Helper()
	r := &fixture{t: t, signals: make(chan os.Signal, 4)}
	n := 0
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r.host = host{
		dir: t.TempDir(), signals: r.signals,
		now:      func() time.Time { return start },
		newID:    func() string { n++; return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) },
		killSelf: func() { r.died = true },
		startOrphan: func(_ []string, life time.Duration, out bool) error {
			r.orphans = append(r.orphans, fmt.Sprint(life, out))
			return nil
		},
	}
	r.env = []string{"PATH=" + os.Getenv("PATH"), FileVar + "=" + assign(t, "T-001", 1, block)}
	return r
}

// assign writes an assignment and returns its path.
func assign(t *testing.T, task string, attempt int, block string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "assignment.json")
	text := fmt.Sprintf(`{"task":%q,"attempt":%d,"block":%s}`, task, attempt, block)
	testrepo.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// agentEnd holds the output and the exit code of an agent.
type agentEnd struct {
	code        int
	out, stderr string
}

// batch runs the agent on the whole input.
func (r *fixture) batch(input string, args ...string) agentEnd {
	r.t.Helper()
	var out, errs bytes.Buffer
	code := run(r.t.Context(), r.host, args, r.env, strings.NewReader(input), &out, &errs)
	return agentEnd{code, out.String(), errs.String()}
}

// conversation is an interactive agent.
type conversation struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	end chan agentEnd
}

func (r *fixture) converse(args ...string) *conversation {
	r.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k := &conversation{t: r.t, in: inW, out: bufio.NewReader(outR), end: make(chan agentEnd, 1)}
	ctx := r.t.Context()
	go func() {
		var errs bytes.Buffer
		code := run(ctx, r.host, args, r.env, inR, outW, &errs)
		_ = outW.Close()
		k.end <- agentEnd{code: code, stderr: errs.String()}
	}()
	return k
}

func (k *conversation) send(text string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, text); err != nil {
		k.t.Fatal(err)
	}
}

// until reads lines up to one that contains word, and returns it.
func (k *conversation) until(word string) string {
	k.t.Helper()
	for {
		l, err := k.out.ReadString('\n')
		if err != nil {
			k.t.Fatalf("no line with %q: %v", word, err)
		}
		if strings.Contains(l, word) {
			return l
		}
	}
}

// finish reads the remaining output and waits for the end.
func (k *conversation) finish() agentEnd {
	k.t.Helper()
	rest, err := io.ReadAll(k.out)
	if err != nil {
		k.t.Fatal(err)
	}
	e := <-k.end
	e.out = string(rest)
	return e
}

// seenLine holds the checked fields of a line of the stream.
type seenLine struct {
	Type     string
	Subtype  string
	IsError  bool            `json:"is_error"`
	Status   json.RawMessage `json:"api_error_status"`
	Terminal string          `json:"terminal_reason"`
	Turns    int             `json:"num_turns"`
	Cost     float64         `json:"total_cost_usd"`
	Result   string
	Errors   []string
	Error    string
	Usage    struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	}
	Models     map[string]modelLine `json:"modelUsage"`
	Denials    []denialLine         `json:"permission_denials"`
	Structured json.RawMessage      `json:"structured_output"`
	Session    string               `json:"session_id"`
	Model      string
	Message    struct {
		ID      string
		Content []struct {
			Type, Text, Name, Content string
			IsError                   bool `json:"is_error"`
		}
	}
	ErrorStatus int `json:"error_status"`
	Info        struct {
		Status   string
		ResetsAt int64
	} `json:"rate_limit_info"`
}

// lines parses the lines; bad counts those that cannot be parsed.
func (e agentEnd) lines() (out []seenLine, bad int) {
	for l := range strings.Lines(e.out) {
		var s seenLine
		if json.Unmarshal([]byte(l), &s) != nil || s.Type == "" || !strings.HasSuffix(l, "\n") {
			bad++
			continue
		}
		out = append(out, s)
	}
	return out, bad
}

func (e agentEnd) of(kind string) (out []seenLine) {
	all, _ := e.lines()
	for _, s := range all {
		if s.Type == kind || s.Subtype == kind {
			out = append(out, s)
		}
	}
	return out
}

// result returns the only result line.
func (e agentEnd) result(t *testing.T) seenLine {
	t.Helper()
	rs := e.of("result")
	if len(rs) != 1 {
		t.Fatalf("%d result lines, exit %d, stderr %q in\n%s", len(rs), e.code, e.stderr, e.out)
	}
	return rs[0]
}

func want[T comparable](t *testing.T, what string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Errorf("%s: got %v, want %v", what, got, expected)
	}
}

var term, sigint os.Signal = syscall.SIGTERM, os.Interrupt
