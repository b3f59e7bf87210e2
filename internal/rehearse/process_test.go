//go:build unix

package rehearse

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// process is the agent as a real process, which is the test binary again.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func spawn(t *testing.T, block string, env ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], streaming...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), asAgent + "=1", FileVar + "=" + assign(t, "T-001", 1, block)},
		env...)
	in, err := cmd.StdinPipe()
	testrepo.Must(t, err)
	out, err := cmd.StdoutPipe()
	testrepo.Must(t, err)
	testrepo.Must(t, cmd.Start())
	p := &process{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	if _, err := io.WriteString(in, prompt); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) until(word string) string {
	p.t.Helper()
	for {
		l, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("no line with %q: %v", word, err)
		}
		if strings.Contains(l, word) {
			return l
		}
	}
}

// finish reads the remaining output, waits, and returns the exit code (-1: a signal) and that
// output.
func (p *process) finish() (int, agentEnd) {
	p.t.Helper()
	rest, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), agentEnd{out: string(rest)}
}

func TestProcessSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, block, until string
		sig                os.Signal
		code               int
		result             string // subtype; "": no result
	}{
		{"SIGTERM while it waits for the API", `{"outcome":"stall","duration":"0s"}`, "tool_result", term, 143, ""},
		{"SIGINT while it waits for the API", `{"outcome":"stall","duration":"0s"}`, "tool_result", sigint, 0, ""},
		{"SIGTERM in a tool", `{"runs":["sleep 60"],"duration":"0s"}`, "sleep 60", term, 143, ""},
		{"SIGINT in a tool", `{"runs":["sleep 60"],"duration":"0s"}`, "sleep 60", sigint, 0, "error_during_execution"},
		{"SIGTERM after the result", `{"duration":"0s"}`, `"result"`, term, 143, ""},
		{"SIGTERM that looks good", `{"outcome":"interrupted-looks-good","duration":"0s"}`, "make test", term, 0, "success"},
		{"SIGTERM ignored", `{"outcome":"ignore-sigterm","duration":"0s","linger":"300ms"}`, "tool_result", term, 1, ""},
		{"SIGINT ignored", `{"outcome":"ignore-sigterm","duration":"0s","linger":"300ms"}`, "tool_result", sigint, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := spawn(t, c.block)
			p.until(c.until)
			testrepo.Must(t, p.cmd.Process.Signal(c.sig))
			code, e := p.finish()
			want(t, "exit", code, c.code)
			subtype := ""
			for _, r := range e.of("result") {
				subtype += r.Subtype
			}
			want(t, "result", subtype, c.result)
		})
	}
}

// An interrupt kills the running command.
func TestProcessInterrupt(t *testing.T) {
	t.Parallel()
	p := spawn(t, `{"duration":"0s","runs":["sleep 60"]}`)
	p.until("sleep 60")
	if _, err := io.WriteString(p.in, interrupt); err != nil {
		t.Fatal(err)
	}
	p.until("control_response")
	res := agentEnd{out: p.until(`"type":"result"`)}.result(t)
	want(t, "subtype", res.Subtype, "error_during_execution")
	want(t, "terminal", res.Terminal, "aborted_tools")
	_ = p.in.Close()
	code, _ := p.finish()
	want(t, "exit", code, 1)
}

func TestProcessKillsItself(t *testing.T) {
	t.Parallel()
	p := spawn(t, `{"outcome":"exit-137","duration":"0s"}`)
	code, e := p.finish()
	want(t, "results", len(e.of("result")), 0)
	want(t, "exit", code, -1)
	want(t, "state", p.cmd.ProcessState.String(), "signal: killed")
}

// An agent that never reads must not accept a prompt of 2 MB.
func TestProcessDiesBeforePrompt(t *testing.T) {
	t.Parallel()
	p := spawn(t, `{"outcome":"dies-before-prompt"}`)
	if _, err := io.WriteString(p.in, strings.Repeat("x", 2<<20)); err == nil {
		t.Error("somebody read 2 MB")
	}
	code, e := p.finish()
	want(t, "exit", code, 1)
	want(t, "stdout", e.out, "")
}
