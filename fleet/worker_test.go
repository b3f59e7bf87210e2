package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"wavex/cmd"
	"wavex/fleet/remote"
	"wavex/fleet/remote/temporal"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
	"wavex/runner/runnertest"
)

// memory is a connection with an engine in memory.
type memory struct {
	*memoryEngine
	who       remote.Worker
	retention time.Duration
}

func (m memory) Check(context.Context) (temporal.Server, error) {
	return temporal.Server{Version: "1.31.0", Standalone: true, Retention: m.retention}, nil
}

func (m memory) Serve(ctx context.Context, queues []string, slots int, work func(worker.Task)) error {
	m.memoryEngine.Serve(ctx, m.who, queues, slots, work)
	return nil
}

func (memory) Close() {}

// onMemory returns the streams of a command whose engine is in memory.
func onMemory(e *memoryEngine) (std cmd.Stdio, out, told *buffer) {
	out, told = &buffer{}, &buffer{}
	return dialled(out, told, func(_ context.Context, o options) (engine, error) {
		who := o.Worker
		who.Seen = time.Now()
		return memory{e, who, 7 * 24 * time.Hour}, nil
	}), out, told
}

// dialled returns the streams of a command with a dialer.
func dialled(out, told *buffer, d dialer) cmd.Stdio {
	return cmd.Stdio{In: strings.NewReader(""), Out: out, Err: told, Terminal: func() bool { return false },
		Fleet: fleet{d}}
}

// buffer is a buffer for several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// keyFile writes a key file of a size and a mode.
func keyFile(t *testing.T, size int, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wavex.key")
	testrepo.Must(t, os.WriteFile(path, make([]byte, size), mode))
	return path
}

// Wrong flags of a worker, and of a run on workers, end the command before anything is asked, and are named.
func TestWrongFlagsOfWorkers(t *testing.T) {
	good := keyFile(t, wire.KeySize, 0o600)
	dir := t.TempDir()
	t.Chdir(dir)
	testrepo.Files{"plan.json": `{"tasks":[{"id":"a","subject":"A","command":"true"}]}`}.Write(t, dir)
	for _, name := range []string{apiKeyVar, "WAVEX_CLAUDE"} {
		t.Setenv(name, "")
	}
	far := []string{"--connect", "engine.example:7233", "--allow-repo", "git@host:team/"}
	near := []string{"--connect", "127.0.0.1:7233", "--allow-repo", "git@host:team/"}
	type row struct {
		args []string
		want string // the flag
	}
	rows := []row{
		{nil, "--connect"},
		{[]string{"--connect", "engine.example"}, "--connect"},
		{[]string{"--connect", "engine.example:0"}, "--connect"},
		{[]string{"--connect", "engine.example:70000"}, "--connect"},
		{[]string{"--connect", ":7233"}, "--connect"},
		{[]string{"--connect", "127.0.0.1:7233"}, "--allow-repo"},
		{[]string{"--connect", "127.0.0.1:7233", "--allow-repo", "team/"}, "--allow-repo"},
		{[]string{"--connect", "127.0.0.1:7233", "--allow-repo", ""}, "--allow-repo"},
		{[]string{"--connect", "127.0.0.1:7233", "--allow-repo", "https://"}, "--allow-repo"},
		{append(near, "--namespace", ""), "--namespace"},
		{append(near, "--slots", "0"), "--slots"},
		{append(near, "--once", "0"), "--once"},
		{append(near, "--drain", "-1s"), "--drain"},
		{append(near, "--name", "a/b"), "--name"},
		{append(near, "--pass", "A=b"), "--pass"},
		{append(near, "--agent", "other"), "--agent"},
		{append(near, "--key-file", filepath.Join(dir, "none")), "--key-file"},
		{append(near, "--key-file", keyFile(t, 31, 0o600)), "--key-file"},
		{append(near, "--key-file", keyFile(t, 64, 0o600)), "--key-file"},
		{append(near, "--tls-cert", good), "--tls-key"},
		{append(near, "--tls-cert", good, "--tls-key", good), "--tls-cert"},
		{append(near, "--tls-ca", good), "--tls-ca"},
		{append(near, "--tls-ca", filepath.Join(dir, "none")), "--tls-ca"},
		{append(far, "--insecure"), "--key-file"},
		{append(far, "--insecure", "--connect", "localhost.example:7233"), "--key-file"},
		{append(far, "--key-file", good), "--insecure"},
		{[]string{"--salvage", "r-1", "--dir", dir}, "--salvage"},
	}
	if runtime.GOOS != "windows" {
		rows = append(rows, row{append(near, "--key-file", keyFile(t, wire.KeySize, 0o640)), "--key-file"})
	}
	for i := range rows {
		rows[i].args = append([]string{"worker"}, rows[i].args...)
	}
	for _, url := range []string{"engine.example:7233", "nats://127.0.0.1:7233/default", "temporal://127.0.0.1/default",
		"temporal://127.0.0.1:7233", "temporal://127.0.0.1:7233/", "temporal://u:p@127.0.0.1:7233/default",
		"temporal://127.0.0.1:0/default", "temporal://127.0.0.1:7233/a/b"} {
		rows = append(rows, row{[]string{"run", "--workers", url}, "--workers"},
			row{[]string{"workers", "--workers", url}, "--workers"})
	}
	rows = append(rows, row{[]string{"workers"}, "--workers"})
	for flags, want := range map[string]string{"--isolation shared": "--workers", "--heartbeat 1s": "--heartbeat",
		"--queue-wait 1s": "--queue-wait", "--tls-cert x": "--tls-key",
		"--key-file none": "--key-file"} {
		args := append([]string{"run", "--workers", "temporal://127.0.0.1:7233/default"}, strings.Fields(flags)...)
		rows = append(rows, row{args, want})
	}
	rows = append(rows, row{[]string{"run", "--workers", "temporal://engine.example:7233/default"}, "--key-file"},
		row{[]string{"run", "--workers", "temporal://engine.example:7233/default", "--key-file", good}, "--insecure"})
	for _, r := range rows {
		told := &buffer{}
		std := dialled(told, told, func(context.Context, options) (engine, error) {
			t.Errorf("%q: the engine is asked", r.args)
			return nil, errors.New("not here")
		})
		if code := cmd.Main(t.Context(), r.args, std); code != 2 || !strings.Contains(told.String(), r.want) {
			t.Errorf("%q: exit %d, without %s: %s", r.args, code, r.want, told)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, loop.Name)); err == nil {
		t.Error("a refused run has written .loop")
	}
}

// An obstacle ends a worker with exit code 5.
func TestBlockedWorker(t *testing.T) {
	dir := t.TempDir()
	args := []string{"worker", "--connect", "127.0.0.1:7233", "--allow-repo", "git@host:team/", "--dir", dir}
	std, _, told := onMemory(newMemoryEngine())
	t.Setenv("WAVEX_CLAUDE", filepath.Join(dir, "no-claude"))
	if code := cmd.Main(t.Context(), args, std); code != 5 || !strings.Contains(told.String(), "no-claude") {
		t.Errorf("without a CLI: exit %d, %s", code, told)
	}
	release, err := worker.Own(t.Context(), dir, "worker@other.1")
	testrepo.Must(t, err)
	defer release()
	std, _, told = onMemory(newMemoryEngine())
	if code := cmd.Main(t.Context(), append(args, "--agent", "rehearse"), std); code != 5 ||
		!strings.Contains(told.String(), "--dir") {
		t.Errorf("a directory in use: exit %d, %s", code, told)
	}
}

// answering is an engine whose state is the answer to Check.
type answering struct {
	engine
	server temporal.Server
	err    error
}

func (a answering) Check(context.Context) (temporal.Server, error) { return a.server, a.err }
func (answering) Close()                                           {}

// A worker waits a minute for an engine that does not answer, but not for one that never will let it in.
func TestWorkerReachesItsEngine(t *testing.T) {
	t.Parallel()
	good := answering{server: temporal.Server{Standalone: true}}
	away := errors.New("away")
	for name, c := range map[string]struct {
		dials  []error // the answers of the first ones
		last   answering
		signal bool
		want   event.ExitCode
		took   time.Duration
	}{
		"there":      {last: good},
		"comes late": {dials: []error{away, away}, last: good, took: 2 * enginePause},
		"away":       {last: answering{err: away}, want: event.ExitBlocked, took: engineTries + enginePause},
		"old":        {last: answering{server: temporal.Server{Version: "1.30.0"}}, want: event.ExitBlocked},
		"refused":    {last: answering{err: fmt.Errorf("asking: %w", temporal.ErrRefused)}, want: event.ExitBlocked},
		"stopped":    {last: answering{err: away}, signal: true, want: 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				told := &buffer{}
				n := 0
				dial := func(context.Context, options) (engine, error) {
					if n++; n <= len(c.dials) {
						return nil, c.dials[n-1]
					}
					return c.last, nil
				}
				signals := make(chan os.Signal, 1)
				if c.signal {
					signals <- syscall.SIGTERM
				}
				began := time.Now()
				h := &workerHost{fleet: fleet{dial}, std: cmd.Stdio{Err: told}, secrets: secret.New(nil)}
				e, err := h.reach(t.Context(), options{}, signals)
				var blocked *usererr.BlockedError
				if took := time.Since(began); errors.As(err, &blocked) != (c.want == event.ExitBlocked) ||
					(err == nil) != (c.want == 0) || took != c.took || (e == nil) != (err != nil) {
					t.Errorf("%v after %s, want exit %d\n%s", err, took, c.want, told)
				}
			})
		})
	}
}

// project makes a repository with a plan, and a bare one as its remote.
func project(t *testing.T, plan string) (dir, bare string) {
	t.Helper()
	dir = testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n", "f": "1\n", "plan.json": plan})
	bare = filepath.Join(t.TempDir(), "bare.git")
	testrepo.Git(t, t.TempDir(), "init", "-q", "--bare", bare)
	testrepo.Git(t, dir, "remote", "add", "origin", bare)
	t.Chdir(dir)
	return dir, bare
}

const onEngine = "temporal://127.0.0.1:7233/default"

// A run on a worker completes, with the log files of its attempts in .loop, and the worker ends after them. Neither
// leaves refs on the remote that wavex clean does not remove.
func TestRunOnWorker(t *testing.T) {
	dir, bare := project(t, `{"tasks":[{"id":"a","subject":"A","command":"pwd | tee a"},`+
		`{"id":"b","subject":"B","blockedBy":["a"],"command":"cat a"}]}`)
	e := newMemoryEngine()
	std, out, told := onMemory(e)
	served := make(chan int, 1)
	cache := t.TempDir()
	go func() {
		served <- cmd.Main(t.Context(), []string{"worker", "--connect", "127.0.0.1:7233", "--allow-repo", bare, "--name",
			"w1", "--dir", cache, "--agent", "rehearse", "--slots", "3", "--once", "2", "--output", "json"}, std)
	}()
	testrepo.Must(t, e.AwaitWorkers(t.Context(), 1))
	mine, _, said := onMemory(e)
	if code := cmd.Main(t.Context(), []string{"run", "plan.json", "--workers", onEngine, "--yes"}, mine); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, said, told)
	}
	if code := <-served; code != 0 {
		t.Errorf("the worker: exit %d\n%s", code, told)
	}
	var types []string
	for line := range strings.Lines(out.String()) {
		var e worker.Event
		testrepo.Must(t, json.Unmarshal([]byte(line), &e))
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "worker serving started ended started ended" {
		t.Errorf("the worker tells %s", got)
	}
	events, err := runlog.Read(loop.In(dir))
	testrepo.Must(t, err)
	last := runlog.Last(events)
	if last.Config.Parallel != 3 || last.Config.Isolation != event.Isolated || last.Config.Workers.Engine != onEngine {
		t.Errorf("%+v", last.Config)
	}
	if text, err := os.ReadFile(last.Config.Loop.Task(last.Config.Run, "b", "attempt-1", loop.OutputFile)); err != nil ||
		!strings.HasPrefix(string(text), cache) {
		t.Errorf("the output of b is %q, %v", text, err)
	}
	if refs := testrepo.Git(t, bare, "for-each-ref", "refs/wavex"); !strings.Contains(refs, ".logs/b/1\n") {
		t.Errorf("the remote has\n%s", refs)
	}
	clean := func(args ...string) (int, string) {
		mine, listed, said := onMemory(e)
		code := cmd.Main(t.Context(), append([]string{"clean", "--yes"}, args...), mine)
		return code, listed.String() + said.String()
	}
	const all = "removed refs 5 below refs/wavex of origin"
	unlock, err := gitwork.Lock(last.Config.Loop, last.Config.Run)
	testrepo.Must(t, err)
	if code, text := clean("--run", last.Config.Run); code != 0 || strings.Contains(text, "refs 5") {
		t.Errorf("clean while the run is under way: exit %d\n%s", code, text)
	}
	testrepo.Must(t, unlock())
	testrepo.Must(t, os.Rename(bare, bare+".away"))
	code, text := clean()
	if code != 5 || !strings.Contains(text, "removed branch wavex/") || !strings.Contains(text, "run "+last.Config.Run) {
		t.Errorf("clean without the remote: exit %d\n%s", code, text)
	}
	testrepo.Must(t, os.Rename(bare+".away", bare))
	if code, text := clean(); code != 0 || !strings.Contains(text, all) {
		t.Errorf("clean: exit %d\n%s", code, text)
	}
	if refs := testrepo.Git(t, bare, "for-each-ref", "refs/wavex"); refs != "" {
		t.Errorf("wavex clean leaves\n%s", refs)
	}
}

// A namespace that keeps results for less than a week is told before a run, and by the commands that look at workers.
func TestShortRetention(t *testing.T) {
	_, bare := project(t, `{"tasks":[{"id":"a","subject":"A","command":"true"}]}`)
	e := newMemoryEngine()
	e.StartWorker(t, "w1", bare, nil, nil)
	for _, command := range []string{"workers", "doctor", "run plan.json --yes"} {
		for days, want := range map[time.Duration]bool{1: true, 7: false} {
			out, told := &buffer{}, &buffer{}
			std := dialled(out, told, func(context.Context, options) (engine, error) {
				return memory{memoryEngine: e, retention: days * 24 * time.Hour}, nil
			})
			cmd.Main(t.Context(), append(strings.Fields(command), "--workers", onEngine), std)
			text := out.String() + told.String()
			if got := strings.Contains(text, "the namespace keeps results for 24h"); got != want {
				t.Errorf("%s, %d days: told %t\n%s", command, days, got, text)
			}
		}
	}
}

// A run whose attempts are made on workers needs a CLI on this machine only if it asks models itself.
func TestCoordinatorWithoutCLI(t *testing.T) {
	_, bare := project(t, `{"tasks":[{"id":"a","subject":"A","files":[{"path":"made.txt","action":"create"}],`+
		`"verify":["test -e made.txt"]}]}`)
	t.Setenv("WAVEX_CLAUDE", filepath.Join(t.TempDir(), "no-claude"))
	e := newMemoryEngine()
	e.StartWorker(t, "w1", bare, nil, runnertest.StandIn(runnertest.Works))
	for _, c := range []struct {
		flags string
		want  int
	}{{"--counsel off", 5}, {"--review off", 5}, {"--counsel off --review off", 0}} {
		std, _, told := onMemory(e)
		args := append([]string{"run", "plan.json", "--workers", onEngine, "--yes"}, strings.Fields(c.flags)...)
		code := cmd.Main(t.Context(), args, std)
		if code != c.want || strings.Contains(told.String(), "no-claude") != (code == 5) {
			t.Errorf("%s: exit %d, want %d\n%s", c.flags, code, c.want, told)
		}
	}
}

// A relative path of a git remote begins at the top of the repository, as git takes it.
func TestGitRemoteInASubfolder(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"sub/f": "1\n"})
	testrepo.Git(t, dir, "remote", "add", "origin", "../bare.git")
	top := strings.TrimSpace(testrepo.Git(t, dir, "rev-parse", "--show-toplevel"))
	for _, name := range []string{"", "../bare.git"} {
		_, address, err := gitRemote(t.Context(), filepath.Join(dir, "sub"), name, "--git")
		if want := filepath.Join(filepath.Dir(filepath.FromSlash(top)), "bare.git"); address != want || err != nil {
			t.Errorf("%q is %s, %v; want %s", name, address, err, want)
		}
	}
}

// coordinate runs a command with an engine in memory, and beside it a worker for the git remote in BARE. If BUSY is
// set, the worker prints that it has taken an attempt, and tells nothing more of it.
func coordinate(args []string) int {
	e := newMemoryEngine()
	std, _, _ := onMemory(e)
	std.In, std.Out, std.Err = os.Stdin, os.Stdout, os.Stderr
	ctx := context.Background()
	w := &workerHost{std: std, mark: "worker@w1.1",
		opts:    workerOptions{name: "w1", allow: []string{os.Getenv("BARE")}, dir: os.Getenv("CACHE")},
		secrets: secret.New(nil), agent: agent.Agent{Name: agent.Rehearsal}}
	host := w.worker(func(err error) { fmt.Fprintln(os.Stderr, "worker:", err) })
	go e.Serve(ctx, remote.Worker{Name: "w1"}, []string{(*wire.Key)(nil).Queue("")}, 1, func(task worker.Task) {
		if os.Getenv("BUSY") != "" {
			fmt.Fprintln(os.Stderr, "taken:", task.ID())
			select {}
		}
		host.Attempt(ctx, task)
	})
	return cmd.Main(ctx, args, std)
}

// A signal interrupts the attempts of a run on workers. If a worker tells no result in time, wavex is over all the
// same, names the attempt, and leaves it open on record. A resume adopts it.
func TestSignalledRunOnWorkers(t *testing.T) {
	dir, bare := project(t, `{"tasks":[{"id":"a","subject":"A","command":"echo 1 > a"}]}`)
	c := exec.CommandContext(t.Context(), os.Args[0], "coordinate", "run", "plan.json", "--workers", onEngine, "--yes")
	c.Env = append(os.Environ(), "BUSY=1", "BARE="+bare, "CACHE="+t.TempDir())
	said, err := c.StderrPipe()
	testrepo.Must(t, err)
	testrepo.Must(t, c.Start())
	var told strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "taken: ") {
			testrepo.Must(t, c.Process.Signal(syscall.SIGTERM))
		}
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != 143 || !strings.Contains(told.String(),
		"/a/1 is cancelled; its worker stops it, and a resume collects its result and its cost") {
		t.Errorf("exit %d\n%s", code, told.String())
	}
	has := func(kind event.Body) bool {
		events, err := runlog.Read(loop.In(dir))
		testrepo.Must(t, err)
		return slices.ContainsFunc(events, func(e event.Event) bool { return reflect.TypeOf(e.Body) == reflect.TypeOf(kind) })
	}
	if has(event.AttemptEnded{}) {
		t.Error("the attempt has ended on record")
	}
	e := newMemoryEngine() // has lost the attempt, so a worker makes it now
	e.StartWorker(t, "w1", bare, nil, nil)
	std, _, resumed := onMemory(e)
	if code := cmd.Main(t.Context(), []string{"resume"}, std); code != 0 || !has(event.AttemptAdopted{}) {
		t.Errorf("exit %d\n%s", code, resumed)
	}
}

// doctor demands a CLI of this machine only if a run on workers needs it there.
func TestDoctorWithoutCLI(t *testing.T) {
	project(t, `{"tasks":[{"id":"a","subject":"A","files":[{"path":"made.txt","action":"create"}],`+
		`"verify":["test -e made.txt"]}]}`)
	testrepo.Must(t, os.WriteFile("judged.json", []byte(`{"criteria":["it is fast"],"tasks":[{"id":"a","subject":"A"}]}`),
		0o600))
	t.Setenv("WAVEX_CLAUDE", filepath.Join(t.TempDir(), "no-claude"))
	e := newMemoryEngine()
	for _, c := range []struct {
		env, args, want string // space-separated variables and arguments; a part of the output
		code            int
	}{
		{"", "plan.json", "fail  cli ", 5},
		{"", "", "panels, reviews and judgements", 5},
		{"COUNSEL=off", "plan.json", "fail  cli ", 5},
		{"COUNSEL=off REVIEW=off", "plan.json", "ok    cli          not needed here", 0},
		{"COUNSEL=off REVIEW=off", "", "but for criteria without a check", 0},
		{"COUNSEL=off REVIEW=off", "judged.json", "fail  cli ", 5},
		{"COUNSEL=off REVIEW=off JUDGE=off", "judged.json", "ok    cli          not needed here", 0},
	} {
		t.Run(c.env+" "+c.args, func(t *testing.T) {
			for _, v := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv("WAVEX_OPT_"+name, value)
			}
			std, out, told := onMemory(e)
			code := cmd.Main(t.Context(), append([]string{"doctor", "--workers", onEngine}, strings.Fields(c.args)...), std)
			if code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit %d, want %d with %q\n%s%s", code, c.code, c.want, out, told)
			}
		})
	}
}

// doctor looks at the engine, the git remote and the workers, and refuses a plan that workers cannot carry out.
func TestDoctorOfWorkers(t *testing.T) {
	_, bare := project(t, `{"share":["node_modules"],"tasks":[{"id":"a","subject":"A","command":"true"}]}`)
	e := newMemoryEngine()
	look := func(args ...string) (int, string) {
		std, out, told := onMemory(e)
		code := cmd.Main(t.Context(), append([]string{"doctor", "--workers", onEngine}, args...), std)
		return code, out.String() + told.String()
	}
	t.Setenv("ANTHROPIC_API_KEY", "none")
	_, text := look()
	for _, want := range []string{"git remote   " + bare + " takes the refs of runs", "engine       " + onEngine,
		"warn  workers      none asks for attempts"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	if code, text := look("plan.json"); code != 2 || !strings.Contains(text, "plan.json:1: share: workers have only") {
		t.Errorf("exit %d\n%s", code, text)
	}
	testrepo.Must(t, os.WriteFile(filepath.Join(bare, "hooks", "update"), []byte("#!/bin/sh\nexit 1\n"), 0o755))
	if _, text := look(); !strings.Contains(text, "fail  git remote   the git remote origin does not take the refs") {
		t.Errorf("a remote that refuses:\n%s", text)
	}
	std, _, told := onMemory(e)
	if code := cmd.Main(t.Context(), []string{"run", "plan.json", "--workers", onEngine}, std); code != 2 ||
		!strings.Contains(told.String(), "plan.json:1: share") {
		t.Errorf("a run: exit %d, %s", code, told)
	}
	testrepo.Must(t, os.WriteFile("plain.json", []byte(`{"tasks":[{"id":"a","subject":"A","command":"true"}]}`), 0o600))
	for want, args := range map[int][]string{5: {"run", "plain.json", "--trust", "--workers", onEngine},
		2: {"workers", "more"}} {
		std, _, told := onMemory(e)
		if code := cmd.Main(t.Context(), args, std); code != want {
			t.Errorf("%q: exit %d, %s", args, code, told)
		}
	}
}
