package proc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limited is a small wavex with memory limits of megabytes for an attempt and for the run. It starts
// an attempt whose child takes 400 MB, beside one that takes little and stays, and prints what each
// reached.
func limited(attempt, run string) int {
	var l MemoryLimits
	l.Attempt, _ = strconv.ParseInt(attempt, 10, 64)
	l.Run, _ = strconv.ParseInt(run, 10, 64)
	l.Attempt, l.Run = l.Attempt<<20, l.Run<<20
	exe, _ := os.Executable()
	id := fmt.Sprintf("limited-%d", os.Getpid())
	defer Contain(context.Background(), nil, id, filepath.Join(os.TempDir(), id+".lock"), l,
		func(err error) { fmt.Println(err) })()
	defer os.Remove(filepath.Join(os.TempDir(), id+".lock"))
	begin := func(task string, argv ...string) *Process {
		p, err := Start(Spec{Argv: argv, Dir: "/", Env: testEnv, Mark: id + "/" + task + "/1", Stdin: true})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return p
	}
	small := begin("small", exe, "helper", "hold")
	_, _ = fmt.Fscanln(small.Stdout, new(string))
	other := begin("other", "/bin/sh", "-c", "read line; exit 137")
	big := begin("big", "/bin/sh", "-c", exe+" helper eat 400; exit 3")
	e := big.Wait()
	fmt.Printf("big %d %t %s\n", e.Code, e.Contained, e.Exhausted)
	select {
	case <-small.Done():
		fmt.Println("small has ended")
	default:
	}
	_ = other.Stdin.Close()
	fmt.Printf("other %d%s\n", other.Wait().Code, other.exit.Exhausted)
	_ = small.Kill()
	fmt.Printf("small %s%s\n", small.Wait().Signal, small.exit.Exhausted)
	return 0
}

// unprivileged prints why an ordinary user cannot limit memory: for doctor, and in a run.
func unprivileged() int {
	lock := filepath.Join(os.TempDir(), fmt.Sprintf("unprivileged-%d.lock", os.Getpid()))
	if os.Getuid() == 0 {
		if err := syscall.Setuid(64123); err != nil {
			fmt.Println(err)
		}
	}
	defer os.Remove(lock)
	ctx := context.Background()
	fmt.Println(TryMemoryLimits(ctx))
	Contain(ctx, nil, "unprivileged", lock, MemoryLimits{Run: 1 << 40}, func(err error) { fmt.Println(err) })()
	return 0
}

// TestMemoryUnprivileged shows that every reason against a limit names the page about it.
func TestMemoryUnprivileged(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{Argv: self(t, "unprivileged"), Dir: "/"})
	in := bufio.NewReader(p.Stdout)
	tried := line(t, in)
	if tried == "<nil>" {
		t.Skip("this user may limit memory")
	}
	const want = "no control group with a memory limit can be made (docs/containment.md): " +
		"not supported on this platform"
	if !strings.HasPrefix(tried, want) {
		t.Error(tried)
	}
	if got := line(t, in); !strings.HasPrefix(got, "memory is not limited: "+want) {
		t.Error(got)
	}
}

// TestMemoryLimits shows that an attempt that takes too much memory is stopped and named, that another
// one goes on, and that no group is left.
func TestMemoryLimits(t *testing.T) {
	t.Parallel()
	try := exec.CommandContext(t.Context(), self(t, "limited", "0", "1000000")[0], "helper", "limited", "0", "1000000")
	try.Env = testEnv
	out, err := try.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if text, is := strings.CutPrefix(string(out), "memory is not limited: "); is {
		if !strings.Contains(text, "no control group with a memory limit can be made (docs/containment.md): ") {
			t.Error(text)
		}
		t.Skip("this machine lets this user make no control group that limits memory")
	}
	if want := "big 3 true \nother 137\nsmall SIGKILL\n"; string(out) != want {
		t.Errorf("a limit that is not reached: %s, want %s", out, want)
	}
	for _, c := range []struct{ attempt, run, reached string }{
		{"150", "0", "memory limit 150 MB reached; raise attempt-memory"},
		{"0", "200", "memory limit 200 MB reached; raise run-memory"},
		{"150", "300", "memory limit 150 MB reached; raise attempt-memory"},
	} {
		args := self(t, "limited", c.attempt, c.run)
		p := start(t, Spec{Argv: args, Stdin: true})
		in := bufio.NewReader(p.Stdout)
		if got := line(t, in); got != "big 3 true "+c.reached {
			t.Errorf("%v: %s", c, got)
		}
		if got := line(t, in); got != "other 137" {
			t.Errorf("%v: one that only looks killed: %s", c, got)
		}
		if got := line(t, in); got != "small SIGKILL" {
			t.Errorf("%v: the other one: %s", c, got)
		}
		p.Wait()
		for _, dir := range cgroupDirs(fmt.Sprintf("limited-%d", p.Pid()), p.Pid()) {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%v: %s is left", c, dir)
			}
		}
	}
}

// TestMemoryKills shows that kills from before the start of a process are not taken for its end.
func TestMemoryKills(t *testing.T) {
	t.Parallel()
	before := machineKills()
	for at, want := range map[time.Time]int64{
		{}: before, time.Now().Add(-time.Minute): before, time.Now().Add(time.Hour): -1,
	} {
		if k := (killSample{at: at, seen: -1}); k.recent() != want && machineKills() == before {
			t.Errorf("sampled at %s: %d kills instead of %d", at, k.seen, want)
		}
	}
	p := start(t, Spec{Argv: []string{"/bin/sh", "-c", "exit 137"}})
	if after := machineKills(); p.kills > after || p.kills < before && after == before {
		t.Errorf("%d kills at the launch, between %d and %d", p.kills, before, after)
	}
	if e := p.Wait(); machineKills() == before && e.Exhausted != "" {
		t.Error(e.Exhausted)
	}
	const want = "the kernel may have killed it for lack of memory; run fewer attempts at once (-j)"
	if got := (&platform{kills: before - 1}).killedForMemory(); got != want {
		t.Error(got)
	}
	if got := (&platform{kills: before - 1, leaf: &leaf{}}).killedForMemory(); got != "" {
		t.Error(got)
	}
}

// TestMemoryFiles reads and writes the files of version 2, as its documentation names them.
func TestMemoryFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &memoryGroup{}
	write("memory.events", "low 0\nhigh 0\nmax 12\noom 2\noom_kill 3\noom_group_kill 0\n")
	if m.kills(dir) != 3 || !m.full(dir) {
		t.Errorf("%d killed, full %v", m.kills(dir), m.full(dir))
	}
	write("memory.events", "max 12\noom 0\noom_kill 0\n")
	if m.kills(dir) != 0 || m.full(dir) {
		t.Errorf("%d killed, full %v", m.kills(dir), m.full(dir))
	}
	if err := m.setLimit(dir, 1<<30); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0"} {
		if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != want {
			t.Errorf("%s: %s, %v", file, b, err)
		}
	}
}

// TestMemoryReached names the limit behind a kill, by the files of version 2: those of the run's group count
// what its attempts reached, too.
func TestMemoryReached(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ attempt, run, want string }{
		"its own":        {"oom 1\noom_kill 1\n", "oom 0\n", "memory limit 1 MB reached; raise attempt-memory"},
		"the run's":      {"oom 0\noom_kill 1\n", "oom 1\n", "memory limit 2 MB reached; raise run-memory"},
		"the machine's":  {"oom 0\noom_kill 1\n", "oom 0\n", "the kernel killed a process for lack of memory; run fewer"},
		"another's, old": {"oom 0\noom_kill 0\n", "oom 0\n", ""},
	} {
		dir := t.TempDir()
		l := &leaf{memoryGroup: &memoryGroup{dir: dir, limits: MemoryLimits{Attempt: 1 << 20, Run: 2 << 20}},
			dir: filepath.Join(dir, "1"), limit: 1 << 20}
		if err := os.Mkdir(l.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"memory.events": "oom 7\noom_kill 7\n", "memory.events.local": c.run,
			"1/memory.events": c.attempt, "1/memory.events.local": "oom 0\noom_kill 0\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.remove(); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
