//go:build unix

package cmd_test

// Script commands beyond those of testscript. They know files, processes and JSON, and nothing of
// wavex except the form of its journal.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"wavex/internal/jsonobject"
	"wavex/internal/jsonschema"
	"wavex/internal/report/reporttest"
)

// exits CODE[,CODE] PROGRAM ARGS... runs a program and requires one of these exit codes.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE[,CODE] PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	wantCode(ts, args[0], code)
}

func wantCode(ts *testscript.TestScript, want string, code int) {
	if !slices.Contains(strings.Split(want, ","), strconv.Itoa(code)) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// process is a program that runs in the background of a script.
type process struct {
	cmd      *exec.Cmd
	stdout   bytes.Buffer
	terminal *os.File      // the end that shows its output; nil: no terminal
	ended    chan struct{} // closed when stderr ends

	mu    sync.Mutex
	said  strings.Builder // stderr so far
	spoke chan struct{}   // closed, and replaced, on new output
}

// start NAME PROGRAM ARGS... starts a program in a process group of its own.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARGS...")
	}
	p := program(ts, args[1:])
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C at the terminal must stop the tests alone
	p.cmd.Stdout = &p.stdout
	out, err := p.cmd.StderrPipe()
	ts.Check(err)
	begin(ts, args[0], p, out)
}

// program prepares a program without starting it.
func program(ts *testscript.TestScript, args []string) *process {
	path := args[0]
	if path == "wavex" {
		path = filepath.Join(ts.Getenv("BIN"), "wavex")
	}
	p := &process{ended: make(chan struct{}), spoke: make(chan struct{})}
	p.cmd = exec.Command(path, args[1:]...)
	p.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "WAVEX_CLAUDE", "WAVEX_OPT_ON_SIGNAL"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
	}
	return p
}

// begin starts the program and collects its output.
func begin(ts *testscript.TestScript, name string, p *process, out io.Reader) {
	ts.Check(p.cmd.Start())
	go p.listen(out)
	ts.Defer(func() {
		if p.terminal != nil {
			_ = p.terminal.Close()
		}
		if p.cmd.ProcessState == nil { // the script failed before the program ended
			_ = p.cmd.Process.Kill()
			<-p.ended
			_ = p.cmd.Wait()
		}
	})
	ts.Value(processes{}).(map[string]*process)[name] = p
}

// processes is the key of a script's processes.
type processes struct{}

func (p *process) listen(r io.Reader) {
	defer close(p.ended)
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadString('\n')
		p.mu.Lock()
		p.said.WriteString(line)
		close(p.spoke)
		p.spoke = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *process) words() (string, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String(), p.spoke
}

func named(ts *testscript.TestScript, name string) *process {
	p := ts.Value(processes{}).(map[string]*process)[name]
	if p == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

// patience is how long a script waits for a program's output or end.
const patience = 15 * time.Minute

// shows NAME REGEXP waits until the program's stderr matches.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shows NAME REGEXP")
	}
	p, re := named(ts, args[0]), regexp.MustCompile("(?m)"+args[1])
	late := time.NewTimer(patience)
	defer late.Stop()
	for over := false; ; {
		said, more := p.words()
		if re.MatchString(said) {
			return
		}
		if over {
			ts.Fatalf("%s ended and never said %q, but:\n%s", args[0], args[1], said)
		}
		select {
		case <-more:
		case <-p.ended:
			over = true
		case <-late.C:
			ts.Fatalf("%s did not say %q within %s, but:\n%s", args[0], args[1], patience, said)
		}
	}
}

// signal NAME INT|TERM|HUP|KILL sends a signal.
func signal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME INT|TERM|HUP|KILL")
	}
	s, ok := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
		"KILL": syscall.SIGKILL}[args[1]]
	if !ok {
		ts.Fatalf("unknown signal %s", args[1])
	}
	ts.Check(named(ts, args[0]).cmd.Process.Signal(s))
}

// ends NAME CODE waits for the end, requires the exit code (-1: a signal), and writes the output to
// NAME.out and NAME.err. A program that does not end in time prints its goroutines, and the script
// fails.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ends NAME CODE")
	}
	p := named(ts, args[0])
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Signal(syscall.SIGQUIT) })
	<-p.ended
	err := p.cmd.Wait()
	late.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	said, _ := p.words()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), p.stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(said), 0o600))
	ts.Logf("[%s: stderr]\n%s", args[0], said)
	wantCode(ts, args[1], p.cmd.ProcessState.ExitCode())
}

// json FILE PATH VALUE requires a value (as JSON, or a bare string) at a path. A ! before it requires another value.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	got := at(jsonobject.Value(ts.ReadFile(args[0])), args[1])
	same := got != nil && (string(got) == args[2] || got.String() == args[2])
	if same == neg {
		ts.Fatalf("%s: %s is %q, want %q (negated: %t)", args[0], args[1], got, args[2], neg)
	}
}

// at returns the value at a path as in Value.Get. In an array, # is its length, #.PATH the values at PATH, and
// #(NAME=="TEXT") the first element with this member. @keys are the names of an object.
func at(v jsonobject.Value, path string) jsonobject.Value {
	before, rest, many := strings.Cut(path, "#")
	if name, ok := strings.CutSuffix(path, "@keys"); ok {
		var names []string
		for name := range at(v, strings.TrimSuffix(name, ".")).Members() {
			names = append(names, name)
		}
		list, _ := json.Marshal(names)
		return list
	}
	if before = strings.TrimSuffix(before, "."); before != "" {
		v = v.Get(before)
	}
	switch condition, after, one := strings.Cut(rest, ")"); {
	case !many || v == nil:
		return v
	case rest == "":
		return jsonobject.Value(strconv.Itoa(v.Len()))
	case !one:
		var list [][]byte
		for _, e := range v.Members() {
			if found := at(e, rest[1:]); found != nil {
				list = append(list, found)
			}
		}
		return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
	default:
		name, text, _ := strings.Cut(condition[1:], "==")
		for _, e := range v.Members() {
			if string(e.Get(name)) == text {
				return at(e, strings.TrimPrefix(after, "."))
			}
		}
		return nil
	}
}

// lacks FILE TEXT requires that a file does not contain a text, which is not a pattern.
func lacks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lacks FILE TEXT")
	}
	if strings.Contains(ts.ReadFile(args[0]), args[1]) {
		ts.Fatalf("%s has %q", args[0], args[1])
	}
}

// outcomes TASK OUTCOME... requires these outcomes of a task's attempts, in order, in the journal
// of .loop in the current folder.
func outcomes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: outcomes TASK OUTCOME...")
	}
	var got []string
	for line := range strings.Lines(ts.ReadFile(".loop/journal.jsonl")) {
		e := jsonobject.Value(line)
		if e.Get("type").String() == "attempt_ended" && e.Get("data.task").String() == args[0] {
			got = append(got, e.Get("data.result.outcome").String())
		}
	}
	if !slices.Equal(got, args[1:]) {
		ts.Fatalf("attempts of %s ended %q, want %q", args[0], got, args[1:])
	}
}

// events FILE checks NDJSON: each line has v, seq, time and type and fits the published schema, seq
// counts up, and the last line is run_ended with its verdict.
func events(ts *testscript.TestScript, neg bool, args []string, schema *jsonschema.Schema) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: events FILE")
	}
	var last jsonobject.Value
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if err := schema.Validate([]byte(line)); err != nil {
			ts.Fatalf("%v: %s", err, line)
		}
		e := jsonobject.Value(line)
		_, err := time.Parse(time.RFC3339Nano, e.Get("time").String())
		if e.Get("v").Int() != 1 || e.Get("type").String() == "" || err != nil {
			ts.Fatalf("without v, time or type: %s", line)
		}
		if last != nil && e.Get("seq").Int() != last.Get("seq").Int()+1 {
			ts.Fatalf("seq does not follow %d: %s", last.Get("seq").Int(), line)
		}
		last = e
	}
	if last.Get("type").String() != "run_ended" {
		ts.Fatalf("the last event is %s", last)
	}
	for _, path := range []string{"status", "exit_code", "tasks.completed", "tasks.failed", "tasks.blocked",
		"tasks.pending", "cost_usd", "iterations"} {
		if last.Get(path) == nil {
			ts.Fatalf("the last event lacks %s: %s", path, last)
		}
	}
}

// unpack FILE writes the compressed parts of a page as the JSON that they are.
func unpack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unpack FILE")
	}
	text, err := reporttest.Unpack(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
