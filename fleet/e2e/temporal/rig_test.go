package temporal_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"wavex/fleet/ferry"
	"wavex/fleet/remote"
	"wavex/fleet/remote/temporal"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// This file starts the programs of the tests, and connects them.

// heartbeat is short, so that tests that wait for the loss of a worker are short. A busy server must answer a beat
// within a quarter of it.
const heartbeat = 6 * time.Second

// process is a program of a test.
type process struct {
	*exec.Cmd
	in   io.WriteCloser // its end ends a server
	out  *bufio.Reader
	log  string // the file of its stderr; "": none
	dir  string // of a worker
	wait func() error
}

// launch starts a program. log is the file for its stderr; "": none.
func launch(log, program string, args ...string) (p *process, err error) {
	p = &process{Cmd: exec.Command(program, args...), log: log}
	if log != "" {
		f, err := os.Create(log)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		p.Stderr = f
	}
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	p.wait = sync.OnceValue(p.Wait)
	return p, p.Start()
}

// start starts this program in a role. The end of the test kills it.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	return startProgram(t, os.Args[0], args...)
}

// startProgram starts a program. The end of the test kills it.
func startProgram(t testing.TB, program string, args ...string) *process {
	t.Helper()
	p, err := launch(filepath.Join(t.TempDir(), "stderr"), program, args...)
	testrepo.Must(t, err)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %.4s:\n%s", filepath.Base(program), strings.Join(args, " "), p.said())
		}
	})
	return p
}

// said returns the stderr of the program.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// kill kills the program without a warning.
func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.wait()
}

// signal sends a signal.
func (p *process) signal(t testing.TB, s unix.Signal) {
	t.Helper()
	testrepo.Must(t, unix.Kill(p.Process.Pid, s))
}

// server is a Temporal server.
type server struct {
	*process
	address, namespace string
}

// listen waits until the server serves.
func (p *process) listen() (*server, error) {
	s := &server{process: p}
	line, err := p.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &s.address, &s.namespace)
	}
	return s, err
}

// serverProgram returns the path of the server. run builds it.
func serverProgram() (string, error) {
	path := os.Getenv("WAVEX_E2E_TEMPORAL")
	if path == "" {
		return "", errors.New("WAVEX_E2E_TEMPORAL names no server: use fleet/e2e/temporal/run")
	}
	return path, nil
}

// startServer starts a server for one test.
func startServer(t testing.TB) *server {
	t.Helper()
	program, err := serverProgram()
	testrepo.Must(t, err)
	s, err := startProgram(t, program).listen()
	testrepo.Must(t, err)
	return s
}

// launchShared starts the server of tests that leave it alone. It ends with this process.
var launchShared = sync.OnceValues(func() (*server, error) {
	program, err := serverProgram()
	if err != nil {
		return nil, err
	}
	p, err := launch("", program)
	if err != nil {
		return nil, err
	}
	return p.listen()
})

func sharedServer(t testing.TB) *server {
	t.Helper()
	s, err := launchShared()
	testrepo.Must(t, err)
	return s
}

// rig is an engine and a git remote with a key of their own, so that tests can share a server.
type rig struct {
	t      testing.TB
	place  place
	client *temporal.Client
}

// newRig connects with a server at an address, which may be that of a proxy.
func newRig(t testing.TB, s *server) *rig {
	t.Helper()
	r := &rig{t: t, place: place{Address: s.address, Namespace: s.namespace, Key: make([]byte, wire.KeySize),
		Bare: filepath.Join(t.TempDir(), "bare.git"), Heartbeat: heartbeat}}
	_, err := rand.Read(r.place.Key)
	testrepo.Must(t, err)
	testrepo.Git(t, t.TempDir(), "init", "-q", "--bare", r.place.Bare)
	r.client = r.dial()
	return r
}

// dial connects another client.
func (r *rig) dial() *temporal.Client {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	c, err := r.place.dial(ctx)
	testrepo.Must(r.t, err)
	r.t.Cleanup(c.Close)
	return c
}

// run returns the run of the rig. Rigs share a server, so each needs ids of its own.
func (r *rig) run() string { return fmt.Sprintf("r-%x", r.place.Key[:8]) }

func (r *rig) queue() string { return r.place.key().Queue("") }

// runner returns the Runner of a run whose repository is dir.
func (r *rig) runner(dir string) *remote.Runner {
	return &remote.Runner{Engine: r.client, Ferry: ferry.New(r.t.Context(), dir, r.place.Bare, os.Environ()),
		Key: r.place.key(), Repo: r.place.Bare, Release: "test", Rehearsal: true,
		NewSession: uuid.NewString, QueueWait: 2 * time.Minute, Heartbeat: r.place.Heartbeat,
		Poll: 200 * time.Millisecond, StopWait: time.Minute,
		Warn: func(err error) { r.t.Log(err) }}
}

// request returns a request for a shell command in a fresh repository. "": an agent's work.
func (r *rig) request(task, command string) (dir string, req runner.Request) {
	r.t.Helper()
	dir = testrepo.Repo(r.t, testrepo.Files{"f": "1\n"})
	return dir, runner.Request{Run: r.run(), Task: task, Attempt: 1, Command: command, Dir: ".", Prompt: "do it",
		Commit:  strings.TrimSpace(testrepo.Git(r.t, dir, "rev-parse", "HEAD")),
		LogDir:  filepath.Join(r.t.TempDir(), task, "attempt-1"),
		Session: "22222222-2222-4222-8222-222222222222", Baseline: filepath.Join(r.t.TempDir(), task, "base.json")}
}

// attempt makes an attempt, and sends its result.
func (r *rig) attempt(ctx context.Context, dir string, req runner.Request) <-chan runner.Result {
	result := make(chan runner.Result, 1)
	go func() { result <- r.runner(dir).Attempt(ctx, req, runner.Hooks{}) }()
	return result
}

// startWorker starts a worker in this process, and returns the function that stops it. The end of the test calls it
// too.
func (r *rig) startWorker(name string, agent runner.Agent) (stop func()) {
	r.t.Helper()
	p := r.place
	p.Name, p.Dir = name, r.t.TempDir()
	w := newWorker(&p, worker.Mark(name, os.Getpid()), agent)
	client := r.dial()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := client.Serve(ctx, []string{r.queue()}, slots, func(task worker.Task) { w.Attempt(ctx, task) }); err != nil {
			r.t.Error(err)
		}
		if err := w.Close(context.WithoutCancel(ctx)); err != nil {
			r.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
	})
	r.t.Cleanup(stop)
	return stop
}

// startProcess starts a worker as a process of its own.
func (r *rig) startProcess(name string) *process {
	r.t.Helper()
	p := r.place
	p.Name, p.Dir = name, filepath.Join(r.t.TempDir(), name)
	testrepo.Must(r.t, os.MkdirAll(p.Dir, 0o700))
	w := start(r.t, "work", encode(r.t, p))
	w.dir = p.Dir
	return w
}

func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	testrepo.Must(t, err)
	return string(text)
}

// gate is a pair of named pipes between a test and the command of an attempt.
type gate struct {
	t          testing.TB
	begun, end string
}

func newGate(t testing.TB) *gate {
	t.Helper()
	dir := t.TempDir()
	g := &gate{t, filepath.Join(dir, "begun"), filepath.Join(dir, "end")}
	testrepo.NamedPipe(t, g.begun)
	testrepo.NamedPipe(t, g.end)
	return g
}

// command returns a shell command that writes made.txt, opens the gate from its side, and waits for the test.
func (g *gate) command() string {
	return fmt.Sprintf("echo made > made.txt; echo $$ > '%s'; cat '%s'", g.begun, g.end)
}

// await returns the process id of the command when it has begun.
func (g *gate) await() (pid int) {
	g.t.Helper()
	text, err := os.ReadFile(g.begun)
	testrepo.Must(g.t, err)
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		g.t.Fatal(err)
	}
	return pid
}

// open lets the command end.
func (g *gate) open() {
	g.t.Helper()
	testrepo.Must(g.t, os.WriteFile(g.end, nil, 0o600))
}

// proxy is a TCP proxy in front of a server.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	away  bool
	conns []net.Conn
	serve sync.WaitGroup
}

// newProxy returns a proxy, and the server as clients see it behind the proxy.
func newProxy(t testing.TB, s *server) (*proxy, *server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testrepo.Must(t, err)
	p := &proxy{listener: listener, server: s.address}
	p.serve.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.setAway(true)
		p.serve.Wait()
	})
	return p, &server{process: s.process, address: listener.Addr().String(), namespace: s.namespace}
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		away := p.away
		p.mu.Unlock()
		if away {
			_, _ = in.Close(), out.Close()
			continue
		}
		for _, c := range [][2]net.Conn{{in, out}, {out, in}} {
			p.serve.Go(func() {
				_, _ = io.Copy(c[0], c[1])
				_, _ = c[0].Close(), c[1].Close()
			})
		}
	}
}

// setAway cuts all connections and refuses new ones, or lets them through again.
func (p *proxy) setAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
	if away {
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.conns = nil
	}
}
