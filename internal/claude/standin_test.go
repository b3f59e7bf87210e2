package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wavex/budget"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// TestMain turns the test binary into the stand-in for the CLI, or into a reader of
// streams whose memory can be measured.
func TestMain(m *testing.M) {
	if path := os.Getenv("STANDIN_SCRIPT"); path != "" {
		os.Exit(standIn(path))
	}
	if os.Getenv("STANDIN_READER") != "" {
		s, err := recoverCost(os.Stdin, flatPrices{}, 0)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%d %s, peak %d\n", s.Cost, s.Priced, peakMemory())
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// step is one action of the stand-in. Exactly one field is set.
type step struct {
	Read   bool              `json:",omitempty"` // one line of stdin
	EOF    bool              `json:",omitempty"` // stdin to its end
	Await  string            `json:",omitempty"` // stdin until a line that contains this
	Print  string            `json:",omitempty"` // a line on stdout
	Raw    []byte            `json:",omitempty"` // bytes on stdout
	Big    string            `json:",omitempty"` // a line of this type with a text of 50 MB
	Stderr string            `json:",omitempty"`
	Write  map[string]string `json:",omitempty"` // files, relative to the working directory
	Dump   string            `json:",omitempty"` // writes its arguments, environment and input to this file
	Orphan string            `json:",omitempty"` // starts a process in its own session and writes its pid to this file
	Term   *int              `json:",omitempty"` // on SIGTERM: exit with this; -1: ignore it
	Touch  string            `json:",omitempty"` // a file that tells the test about the progress
	Hang   bool              `json:",omitempty"`
	Noise  bool              `json:",omitempty"` // lines that are not JSON, until stdout is closed
	Die    bool              `json:",omitempty"` // SIGKILL to itself
	Exit   *int              `json:",omitempty"`
}

// script holds the actions of the stand-in: Steps by default, another list if it is started with a
// certain argument.
type script struct {
	Steps []step
	With  map[string][]step
}

func standIn(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	var s script
	if err := json.Unmarshal(data, &s); err != nil {
		panic(err)
	}
	steps := s.Steps
	for _, arg := range os.Args[1:] {
		if with, ok := s.With[arg]; ok {
			steps = with
		}
	}
	in := bufio.NewReader(os.Stdin)
	var heard strings.Builder
	for _, st := range steps {
		switch {
		case st.Read:
			line, _ := in.ReadString('\n')
			heard.WriteString(line)
		case st.EOF:
			rest, _ := io.ReadAll(in)
			heard.Write(rest)
		case st.Await != "":
			for {
				line, err := in.ReadString('\n')
				heard.WriteString(line)
				if err != nil || strings.Contains(line, st.Await) {
					break
				}
			}
		case st.Print != "":
			fmt.Println(st.Print)
		case st.Raw != nil:
			_, _ = os.Stdout.Write(st.Raw)
		case st.Big != "":
			big(os.Stdout, st.Big, 50<<20)
		case st.Stderr != "":
			fmt.Fprintln(os.Stderr, st.Stderr)
		case st.Write != nil:
			for name, text := range st.Write {
				must(os.WriteFile(name, []byte(text), 0o644))
			}
		case st.Dump != "":
			out, _ := json.Marshal(dump{Args: os.Args[1:], Env: os.Environ(), Heard: heard.String()})
			must(os.WriteFile(st.Dump, out, 0o600))
		case st.Orphan != "":
			c := exec.Command("/bin/sh", "-c", "sleep 600")
			c.SysProcAttr = newSession()
			must(c.Start())
			must(os.WriteFile(st.Orphan, fmt.Append(nil, c.Process.Pid), 0o600))
		case st.Term != nil:
			onTerm(*st.Term)
		case st.Touch != "":
			must(os.WriteFile(st.Touch, nil, 0o600))
		case st.Noise:
			for _, err := os.Stdout.WriteString("garbage\n"); err == nil; time.Sleep(10 * time.Millisecond) {
				_, err = os.Stdout.WriteString(strings.Repeat("garbage\n", 1000))
			}
		case st.Hang:
			time.Sleep(time.Hour)
		case st.Die:
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			time.Sleep(time.Hour)
		case st.Exit != nil:
			return *st.Exit
		}
	}
	return 0
}

// dump holds the arguments, environment and input of the stand-in.
type dump struct {
	Args  []string
	Env   []string
	Heard string
}

func onTerm(code int) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	go func() {
		for range c {
			if code >= 0 {
				os.Exit(code)
			}
		}
	}()
}

// big prints one line with a text of n bytes, without holding it in memory.
func big(w io.Writer, kind string, n int) {
	out := bufio.NewWriterSize(w, 64<<10)
	switch kind {
	case "assistant":
		fmt.Fprint(out, `{"type":"assistant","message":{"id":"big","model":"m","content":[{"type":"tool_use","id":"tb","name":"Write","input":{"file_path":"/x/big.txt","content":"`)
	default:
		fmt.Fprintf(out, `{"type":%q,"text":"`, kind)
	}
	piece := strings.Repeat(`0123456789 caf\u00e9 \"quoted\" `, 32)
	for left := n; left > 0; left -= len(piece) {
		_, _ = out.WriteString(piece)
	}
	switch kind {
	case "assistant":
		fmt.Fprint(out, `"}}],"usage":{"input_tokens":7,"output_tokens":5}}}`+"\n")
	default:
		fmt.Fprint(out, `"}`+"\n")
	}
	_ = out.Flush()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// flatPrices prices every token of every model at one micro-dollar, and tokens that are cached for an
// hour at two.
type flatPrices struct{}

func (flatPrices) Price(_ string, t budget.Tokens) (budget.Pico, bool) {
	return budget.Pico(t.Input+t.Output+t.CacheRead+t.CacheWrite+t.CacheHour) * 1_000_000, true
}

func readDump(t *testing.T, path string) dump {
	t.Helper()
	data, err := os.ReadFile(path)
	testrepo.Must(t, err)
	var d dump
	testrepo.Must(t, json.Unmarshal(data, &d))
	return d
}

func code(n int) *int { return &n }

// fixture holds the directories of one attempt: project, logs, stand-in.
type fixture struct {
	dir, logs, script string
	agent             *Agent
	cancel            context.CancelCauseFunc // ends the attempt
	req               runner.Request
	hooks             runner.Hooks
}

func setup(t *testing.T, s script) *fixture {
	t.Helper()
	root := t.TempDir()
	b := &fixture{dir: filepath.Join(root, "project"), logs: filepath.Join(root, "logs"),
		script: filepath.Join(root, "script.json")}
	for _, d := range []string{b.dir, b.logs} {
		must(os.Mkdir(d, 0o755))
	}
	b.rewrite(s)
	exe, err := os.Executable()
	must(err)
	// Marks are unique, as in production: the sweep spares processes with the mark of a live
	// process.
	run := "run-" + filepath.Base(filepath.Dir(root)) + filepath.Base(root)
	b.agent = &Agent{
		Host: runner.Host{Env: proc.Inherit(os.Environ(), nil), ExtraEnv: map[string]string{"STANDIN_SCRIPT": b.script,
			"GORACE": "atexit_sleep_ms=0"}},
		Argv: []string{exe}, Prices: flatPrices{}, Grace: 10 * time.Second, Run: run,
		StopWait: StopWait{Interrupt: 10 * time.Second, Close: 10 * time.Second, Terminate: 10 * time.Second},
	}
	b.req = runner.Request{
		Run: run, Task: "T-001", Attempt: 1, Slot: 2, Dir: b.dir, LogDir: b.logs,
		Baseline: filepath.Join(root, "base.json"), Prompt: "do it", Session: "11111111-1111-4111-8111-111111111111",
	}
	return b
}

// local makes attempts with the agent.
func (b *fixture) local() *runner.Local { return &runner.Local{Host: b.agent.Host, Agent: b.agent} }

func (b *fixture) attempt(ctx context.Context) runner.Result {
	return b.local().Attempt(ctx, b.req, b.hooks)
}

// rewrite replaces the script of the stand-in.
func (b *fixture) rewrite(s script) {
	data, err := json.Marshal(s)
	must(err)
	must(os.WriteFile(b.script, data, 0o600))
}
