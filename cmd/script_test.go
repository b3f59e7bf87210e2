//go:build unix

// The black-box tests. Each script in testdata/script runs the real command line in a folder of its
// own, with real processes. wavex is this test binary under another name, which is also how it
// starts itself as `wavex agent` and `wavex guard`. scriptcmd_test.go adds commands to those of
// testscript. Scripts need sh, so they run on Unix only; they do not look inside a package.
package cmd_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"wavex/cmd"
	"wavex/e2e/rig"
	"wavex/internal/event"
	"wavex/internal/jsonschema"
	"wavex/internal/testrepo"
)

// The main goroutine keeps the first thread to itself, so that no test starts a program on it:
// commands called within this process (proc.Subreaper) take a dead child of that thread that has a
// group of its own for an orphan, and reap it before the test can.
func init() {
	if isTests() {
		runtime.LockOSThread()
	}
}

// isTests reports whether this is the process of the tests, and not wavex or another program that a script runs.
func isTests() bool { return len(os.Args) > 0 && filepath.Base(os.Args[0]) != "wavex" }

func TestMain(m *testing.M) {
	// Scripts mostly wait for processes, so more of them run in parallel than there are processors.
	if isTests() {
		flag.Parse()
		if err := flag.Set("test.parallel", "12"); err != nil {
			panic(err)
		}
		defer testrepo.LockHome()()
		// The programs that scripts start would inherit an ignored signal, as under nohup.
		signals.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(leakChecked{m}, map[string]func(){"dial": dial, "wavex": func() {
		if d, err := time.ParseDuration(os.Getenv("WAVEX_TEST_ANSWER_WAIT")); err == nil {
			cmd.SetAnswerTimeout(d)
		}
		os.Exit(cmd.Main(context.Background(), os.Args[1:], cmd.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}})
}

// dial prints what answers at unix sockets.
func dial() {
	for _, path := range os.Args[1:] {
		c, err := net.Dial("unix", strings.TrimPrefix(path, "unix://"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, err = io.Copy(os.Stdout, c)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

func TestScripts(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../examples")
	testrepo.Must(t, err)
	self, err := exec.LookPath("wavex")
	testrepo.Must(t, err)
	old, err := filepath.Abs("testdata/old")
	testrepo.Must(t, err)
	schema, err := jsonschema.Parse(event.Schema())
	testrepo.Must(t, err)
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	params := testscript.Params{
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("OLD", old)
			e.Setenv("SCENARIOS", filepath.Join(examples, "scenarios"))
			e.Setenv("BIN", filepath.Dir(self)) // wavex and nothing else
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Values[processes{}] = map[string]*process{}
			// Use no CLI, login or colours of the machine.
			e.Setenv("WAVEX_CLAUDE", filepath.Join(e.WorkDir, "no-claude"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"terminal":  terminal,
			"seated":    seated,
			"hangup":    hangup,
			"exits":     exits,
			"start":     start,
			"shows":     shows,
			"signal":    signal,
			"ends":      ends,
			"json":      jsonValue,
			"lacks":     lacks,
			"clean":     clean,
			"private":   private,
			"catch":     catch,
			"alive":     alive,
			"unguarded": unguarded,
			"outcomes":  outcomes,
			"figures":   figures,
			"mcptool":   mcpTool,
			"unpack":    unpack,
			"events":    func(ts *testscript.TestScript, neg bool, args []string) { events(ts, neg, args, schema) },
		},
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".txtar")
		if rig.Whole() && !slices.Contains(concurrent, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := params
			p.Files = []string{script}
			// A run that hangs is killed shortly before the test binary's deadline, so that its
			// script is shown.
			p.Deadline, _ = t.Deadline()
			testscript.RunT(alone{t}, p)
		})
	}
}

// concurrent lists the scripts for rig.Whole, which is with the race detector: those in which much goes on at once, and
// one that does more then. The others are many short programs, one after the other, and take longer than all other
// tests of wavex together; they run without.
var concurrent = []string{"counsel", "figures", "foreach", "killed", "listgrows", "mcpanswer", "mix", "policyask",
	"review", "shared", "signals", "together", "watch", "webhook", "worktree"}

// alone runs the one script of a RunT as the calling test.
type alone struct{ *testing.T }

func (a alone) Run(_ string, script func(testscript.T)) { script(a) }
func (alone) Parallel()                                 {} // the calling test is parallel already
func (alone) Verbose() bool                             { return testing.Verbose() }
