package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestContained tests the containment without Subreaper: groups, sessions and marks.
func TestContained(t *testing.T) {
	t.Parallel()
	containment(t)
}

// TestReaper tests the containment with Subreaper. Subreaper is set for a whole process, so the
// test starts one of its own. Its tests are not parallel, because the owner of an orphan without
// a mark depends on the other live processes.
func TestReaper(t *testing.T) {
	if !*reaper {
		t.Parallel()
		exe, err := os.Executable()
		must(t, err)
		args := []string{"-test.run=^TestReaper$", "-reaper", "-test.timeout=5m"}
		if testing.Verbose() {
			args = append(args, "-test.v")
		}
		out, err := exec.CommandContext(t.Context(), exe, args...).CombinedOutput()
		t.Logf("%s", out)
		must(t, err)
		return
	}
	unlimit() // forked beside another test, it may have a limit
	containment(t)
	t.Run("a detached process, which may contain a run itself", func(t *testing.T) {
		p := start(t, Spec{Argv: []string{"/bin/sleep", "60"}, Detached: true})
		if limit := locksLimit(p.pid); limit != 0 {
			t.Errorf("it has the limit %d", limit)
		}
		p.Kill()
		p.Wait()
	})
	t.Run("a daemon without a mark", func(t *testing.T) {
		p := start(t, Spec{Argv: self(t, "leave", "hidden"), Mark: mark("a")})
		pid := line(t, bufio.NewReader(p.Stdout))
		wantSwept(t, p.Wait(), 1)
		wantGone(t, pid)
	})
	t.Run("a daemon without a mark of one of two", func(t *testing.T) {
		b := start(t, Spec{Argv: self(t, "hold"), Mark: mark("b"), Stdin: true})
		line(t, bufio.NewReader(b.Stdout))
		a := start(t, Spec{Argv: self(t, "leave", "hidden"), Mark: mark("a")})
		pid := line(t, bufio.NewReader(a.Stdout))
		wantSwept(t, a.Wait(), 1)
		wantGone(t, pid)
		_ = b.Kill()
		wantSwept(t, b.Wait(), 0)
	})
	t.Run("a daemon without a mark and a limit of one of two", testUnsure)
	t.Run("a process whose starter's thread ends", func(t *testing.T) {
		var p *Process
		starts, thread := make(chan func(), 1), make(chan string)
		starts <- func() {
			runtime.LockOSThread() // it ends with this goroutine
			p = start(t, Spec{Argv: []string{"cat"}, Stdin: true})
			thread <- procPath(os.Getpid(), "task/"+strconv.Itoa(unix.Gettid()))
		}
		close(starts)
		go onOtherThread(starts)
		path := <-thread
		await(t, "the end of the thread", func() bool { _, err := os.Stat(path); return err != nil })
		_, _ = io.WriteString(p.Stdin, "alive\n")
		_ = p.Stdin.Close()
		if out, _ := io.ReadAll(p.Stdout); string(out) != "alive\n" {
			t.Errorf("it printed %q", out)
		}
		if e := p.Wait(); e.Code != 0 || e.Signal != "" {
			t.Errorf("ended with %d %q, want 0", e.Code, e.Signal)
		}
	})
	t.Run("a child that is not ours", func(t *testing.T) {
		// Other code in this process may run commands; they are not orphans.
		c := exec.CommandContext(t.Context(), "cat")
		in, err := c.StdinPipe()
		must(t, err)
		onFirstThread(t, func() { err = c.Start() })
		must(t, err)
		if !slices.Contains(allChildren.orphanPIDs(), c.Process.Pid) {
			t.Fatal("it is not among the strays: the test shows nothing")
		}
		p := start(t, Spec{Argv: self(t, "leave", "setsid"), Mark: mark("a")})
		wantSwept(t, p.Wait(), 1)
		_ = in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("a command of others was disturbed: %v", err)
		}
	})
	t.Run("nothing is left", func(t *testing.T) {
		// On a busy machine a killed orphan may die after the sweep that killed it. The next sweep reaps it.
		for _, pid := range allChildren.orphanPIDs() {
			await(t, "the end of orphan "+strconv.Itoa(pid), func() bool { return !alive(t, strconv.Itoa(pid)) })
		}
		start(t, Spec{Argv: []string{"true"}, Mark: mark("last")}).Wait()
		if left := allChildren.orphanPIDs(); len(left) > 0 {
			t.Errorf("unreaped orphans: %v", left)
		}
		if len(allChildren.live) > 0 {
			t.Errorf("unreaped processes: %v", allChildren.live)
		}
	})
}

// A process whose status other code has taken did not succeed.
func TestLostStatus(t *testing.T) {
	t.Parallel()
	if e := reap(os.Getpid()); e.Code != -1 { // which is no child
		t.Errorf("ended with %d, want -1", e.Code)
	}
}

func containment(t *testing.T) {
	for _, how := range []string{"setsid", "group"} {
		t.Run("leaves one by "+how, func(t *testing.T) {
			p := start(t, Spec{Argv: self(t, "leave", how), Mark: mark(how)})
			pid := line(t, bufio.NewReader(p.Stdout))
			e := p.Wait()
			wantSwept(t, e, 1)
			if e.Code != 0 || e.Signal != "" {
				t.Errorf("ended with %d %q, want 0", e.Code, e.Signal)
			}
			wantGone(t, pid)
		})
	}
	t.Run("is killed over one by setsid", func(t *testing.T) {
		p := start(t, Spec{Argv: self(t, "stay"), Mark: mark("stay")})
		pid := line(t, bufio.NewReader(p.Stdout))
		must(t, p.Kill())
		e := p.Wait()
		wantSwept(t, e, 1)
		if e.Code != -1 || e.Signal != "SIGKILL" {
			t.Errorf("ended with %d %q, want -1 SIGKILL", e.Code, e.Signal)
		}
		wantGone(t, pid)
		if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("a second kill: %v, want os.ErrProcessDone", err)
		}
	})
	t.Run("a daemon that ends is gone", func(t *testing.T) {
		// Like pg_ctl stop, which waits for its server: a zombie would keep it waiting.
		p := start(t, Spec{Argv: Shell(
			"pid=$(sh -c 'true >/dev/null & echo $!'); while kill -0 $pid 2>/dev/null; do :; done; echo gone")})
		if got := line(t, bufio.NewReader(p.Stdout)); got != "gone" {
			t.Error(got)
		}
		wantSwept(t, p.Wait(), 0)
	})
	t.Run("one of two", func(t *testing.T) {
		a := start(t, Spec{Argv: self(t, "stay"), Mark: mark("a")})
		b := start(t, Spec{Argv: self(t, "stay"), Mark: mark("b")})
		ofA, ofB := line(t, bufio.NewReader(a.Stdout)), line(t, bufio.NewReader(b.Stdout))
		_ = a.Kill()
		wantSwept(t, a.Wait(), 1)
		wantGone(t, ofA)
		if !alive(t, ofB) {
			t.Error("the sweep of one attempt killed another's process")
		}
		_ = b.Kill()
		wantSwept(t, b.Wait(), 1)
		wantGone(t, ofB)
	})
	t.Run("two processes of one attempt", func(t *testing.T) {
		a := start(t, Spec{Argv: self(t, "stay"), Mark: mark("c")})
		b := start(t, Spec{Argv: self(t, "stay"), Mark: mark("c")})
		ofA, ofB := line(t, bufio.NewReader(a.Stdout)), line(t, bufio.NewReader(b.Stdout))
		_ = a.Kill()
		if e := a.Wait(); e.Swept != 0 {
			t.Errorf("swept %d under a mark that is still in use", e.Swept)
		}
		_ = b.Kill()
		wantSwept(t, b.Wait(), 2)
		wantGone(t, ofA)
		wantGone(t, ofB)
	})
	for name, script := range map[string]string{
		// Every process starts many that outlive it, each in its own session.
		"a tree that keeps forking": `echo ready; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); setsid sleep 300 & done`,
		// Every process starts its successor in a new session and ends.
		"a chain that keeps forking": `cat > chain <<'X'
[ $1 -gt 3000 ] && exit
[ $1 -eq 20 ] && echo ready
setsid sh chain $(($1+1)) &
X
sh chain 1; sleep 300`,
	} {
		t.Run(name, func(t *testing.T) {
			mark := mark(name)
			p := start(t, Spec{Argv: Shell(script), Mark: mark})
			line(t, bufio.NewReader(p.Stdout))
			must(t, p.Kill())
			e := p.Wait()
			if !e.Contained {
				t.Errorf("not contained: %+v", e)
			}
			left, err := findMarked(mark)
			if err != nil || len(left) > 0 {
				t.Errorf("left alive: %v, %v", left, err)
			}
		})
	}
}

// onFirstThread runs f on the first thread of the process: it locks the threads on which its
// goroutines land until one is the first. If the first thread is busy meanwhile, it unlocks all
// and tries again.
func onFirstThread(t *testing.T, f func()) {
	t.Helper()
	for late := time.Now().Add(testTimeout); time.Now().Before(late); {
		if keepThreads(100, f) {
			return
		}
	}
	t.Fatal("no goroutine came to the first thread")
}

// keepThreads makes one try of onFirstThread with at most n threads.
func keepThreads(n int, f func()) bool {
	var wg sync.WaitGroup
	found := make(chan struct{})
	defer wg.Wait()
	defer close(found)
	for range n {
		landed := make(chan bool)
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			first := unix.Gettid() == os.Getpid()
			if first {
				f()
			}
			landed <- first
			<-found
		})
		if <-landed {
			return true
		}
	}
	return false
}

// unlimit takes the limit away by which a process is known, as a program may.
func unlimit() {
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	_ = unix.Setrlimit(unix.RLIMIT_LOCKS, &limit)
}

// testUnsure has two live attempts when one of them leaves a process that hides its mark and its limit.
func testUnsure(t *testing.T) {
	b := start(t, Spec{Argv: self(t, "hold"), Mark: mark("b"), Stdin: true})
	line(t, bufio.NewReader(b.Stdout))
	a := start(t, Spec{Argv: self(t, "leave", "blank"), Mark: mark("a")})
	pid := line(t, bufio.NewReader(a.Stdout))
	if e := a.Wait(); e.Contained || e.Swept != 0 {
		t.Errorf("%+v, want neither contained nor swept: it may be the other's", e)
	}
	if !alive(t, pid) {
		t.Error("a process that may be another attempt's was killed")
	}
	n, _ := strconv.Atoi(pid)
	for st, _ := readStat(n); bootTicks() <= st.start; { // a process that starts in the same tick is a suspect too
		runtime.Gosched()
	}
	c := start(t, Spec{Argv: []string{"true"}, Mark: mark("c")})
	if e := c.Wait(); !e.Contained || e.Swept != 0 {
		t.Errorf("%+v: what was there before an attempt is not the attempt's", e)
	}
	_ = b.Kill()
	wantSwept(t, b.Wait(), 1)
	wantGone(t, pid)
}

func TestWatchdog(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) {
			t.Parallel()
			run := fmt.Sprintf("guarded-%v-%d", kill, os.Getpid())
			r, w, err := os.Pipe()
			must(t, err)
			defer r.Close()
			args := self(t, "wavex", run)
			c := exec.CommandContext(t.Context(), args[0], args[1:]...)
			c.Env, c.Stderr = testEnv, w
			in, _ := c.StdinPipe()
			out, _ := c.StdoutPipe()
			must(t, c.Start())
			_ = w.Close()
			if got := line(t, bufio.NewReader(out)); got != "ready" {
				t.Fatal(got)
			}
			found, err := findMarked(run)
			if err != nil || len(found) != 6 {
				t.Errorf("%d marked processes, %v; want 6: %v", len(found), err, found)
			}
			if !kill {
				// When wavex ends in order, the guard ends and leaves the sweep to wavex (here:
				// to the test).
				_ = in.Close()
				must(t, c.Wait())
				if n := sessions(t, run); n != 3 {
					t.Errorf("%d tools alive after a goodbye, want 3", n)
				}
				if _, err := Sweep(t.Context(), run); err != nil {
					t.Error(err)
				}
			} else {
				_ = c.Process.Kill()
			}
			// Every marked process holds the other end, so the read ends when all are dead.
			_ = r.SetReadDeadline(time.Now().Add(testTimeout))
			if _, err := io.Copy(io.Discard, r); err != nil {
				t.Errorf("after %s: %v", testTimeout, err)
			}
			if left, err := findMarked(run); err != nil || len(left) > 0 {
				t.Errorf("left alive: %v %v", left, err)
			}
			_ = c.Wait()
		})
	}
}

// TestWatchdogIsReplaced shows that a killed guard has a successor, which sweeps as the first one would,
// that this is told once, and that a wavex that ends in order leaves no guard.
func TestWatchdogIsReplaced(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) {
			t.Parallel()
			run := fmt.Sprintf("replaced-%v-%d", kill, os.Getpid())
			args := self(t, "guarded", run, filepath.Join(t.TempDir(), "guard.lock"))
			c := exec.CommandContext(t.Context(), args[0], args[1:]...)
			c.Env, c.Stderr = testEnv, os.Stderr
			in, _ := c.StdinPipe()
			pipe, _ := c.StdoutPipe()
			must(t, c.Start())
			out := bufio.NewReader(pipe)
			pid := line(t, out)
			watchdog := 0
			for n := range 3 {
				before := watchdog
				await(t, "the start of a guard", func() bool {
					for _, child := range childrenOf(c.Process.Pid) {
						if child != before && strings.HasSuffix(commandOf(child), "helper guard "+run) {
							watchdog = child
						}
					}
					return watchdog != before
				})
				if n == 2 {
					break
				}
				if n == 1 { // it lives long enough not to count as one that ends at once
					await(t, "a second", func() bool {
						st, ok := readStat(watchdog)
						return !ok || bootTicks() > st.start+105
					})
				}
				_ = unix.Kill(watchdog, unix.SIGKILL)
				if n == 0 {
					if got := line(t, out); got != errWatchdogReplaced.Error() {
						t.Error(got)
					}
				}
			}
			if kill {
				_ = c.Process.Kill()
			} else {
				_ = in.Close()
			}
			rest, _ := io.ReadAll(out)
			if err := c.Wait(); !kill && err != nil || len(rest) > 0 {
				t.Errorf("%v, told again: %s", err, rest)
			}
			await(t, "the end of the tool", func() bool { return !alive(t, pid) })
			await(t, "the end of the guard", func() bool { return !alive(t, strconv.Itoa(watchdog)) })
		})
	}
}

// TestHiddenDaemon shows that a daemon without a mark, whose parents are gone, does not outlive a killed wavex: its
// guard ends it, or if there is none, the next sweep of the run. A sweep of another run spares it.
func TestHiddenDaemon(t *testing.T) {
	t.Parallel()
	for _, guard := range []bool{true, false} {
		t.Run(fmt.Sprintf("guard %v", guard), func(t *testing.T) {
			t.Parallel()
			run, lock := fmt.Sprintf("hidden-%v-%d", guard, os.Getpid()), ""
			if guard {
				lock = filepath.Join(t.TempDir(), "guard.lock")
			}
			args := self(t, "guarded", run, lock, "hidden")
			c := exec.CommandContext(t.Context(), args[0], args[1:]...)
			c.Env, c.Stderr = testEnv, os.Stderr
			in, _ := c.StdinPipe()
			defer in.Close()
			out, _ := c.StdoutPipe()
			must(t, c.Start())
			pid := line(t, bufio.NewReader(out))
			if n, err := Sweep(t.Context(), run+"-of-others"); n != 0 || err != nil || !alive(t, pid) {
				t.Fatalf("the sweep of another run: %d, %v; the daemon is alive: %v", n, err, alive(t, pid))
			}
			_ = c.Process.Kill()
			_ = c.Wait()
			if !guard {
				if !alive(t, pid) {
					t.Fatal("the daemon did not outlive its parents")
				}
				if _, err := Sweep(t.Context(), run); err != nil {
					t.Error(err)
				}
			}
			await(t, "the end of the daemon", func() bool { return !alive(t, pid) })
		})
	}
}

// TestWatchdogsThatEnd shows that wavex gives up on guards that end at once, and tells it.
func TestWatchdogsThatEnd(t *testing.T) {
	t.Parallel()
	begin := func() (*Watchdog, error) { return StartWatchdog([]string{"/bin/false"}, "none") }
	g, err := begin()
	must(t, err)
	started := 1
	var told []error
	tell := func(err error) { told = append(told, err) }
	keepWatchdog(g, func() (*Watchdog, error) { started++; return begin() }, nil, tell)
	if started < maxShortLives || !slices.Equal(told, []error{errWatchdogReplaced, errWatchdogsEnd}) {
		t.Errorf("%d guards, told %v", started, told)
	}
	fails := errors.New("no more processes")
	if g, err = begin(); err != nil {
		t.Fatal(err)
	}
	told = nil
	keepWatchdog(g, func() (*Watchdog, error) { return nil, fails }, nil, tell)
	if !slices.Equal(told, []error{fails}) {
		t.Errorf("told %v", told)
	}
}

// sessions counts the live holds of a run.
func sessions(t *testing.T, run string) (n int) {
	t.Helper()
	found, err := findMarked(run)
	if err != nil {
		t.Error(err)
	}
	for _, p := range found {
		if strings.HasSuffix(p.Command, "hold") {
			n++
		}
	}
	return n
}

func TestSweep(t *testing.T) {
	t.Parallel()
	run := fmt.Sprintf("sweep-%d", os.Getpid())
	env := append([]string{RunVar + "=" + run}, testEnv...)
	a := start(t, Spec{Argv: self(t, "stay"), Mark: run + "/a/1", Env: env})
	b := start(t, Spec{Argv: self(t, "stay"), Mark: run + "/b/1", Env: env})
	line(t, bufio.NewReader(a.Stdout))
	ofB := line(t, bufio.NewReader(b.Stdout))

	if n, err := Sweep(t.Context(), run+"/a/1"); n != 2 || err != nil {
		t.Errorf("swept %d of one attempt, %v; want 2", n, err)
	}
	if !alive(t, ofB) {
		t.Error("the sweep of an attempt reached another")
	}
	found, err := findMarked(run)
	if err != nil || len(found) != 2 || found[0].Run != run || found[0].Attempt != run+"/b/1" {
		t.Errorf("found %+v, %v; want the two of b", found, err)
	}
	stopped, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := Sweep(stopped, "nobody's"); err != nil {
		t.Errorf("nothing to sweep, yet %v", err)
	}
	if n, err := Sweep(t.Context(), run); n != 2 || err != nil {
		t.Errorf("swept %d of the run, %v; want 2", n, err)
	}
	if n, err := Sweep(t.Context(), ""); n != 0 || err != nil {
		t.Errorf("swept %d, %v without a mark", n, err)
	}
	if e := b.Wait(); e.Signal != "SIGKILL" {
		t.Errorf("%+v, want SIGKILL", e)
	}
}

// A sweep beside starts of processes of the same run ends: it stops none that has not begun its exec, for which this
// process would wait.
func TestSweepBesideStarts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	argv := self(t, "sweepstarts", fmt.Sprintf("starts-%d", os.Getpid()), filepath.Join(t.TempDir(), "lock"))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = testTimeout / 10 // a stopped child keeps its output open
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSignalExact shows that a reused pid is not signalled.
func TestSignalExact(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{Argv: self(t, "hold"), Stdin: true})
	line(t, bufio.NewReader(p.Stdout))
	st, ok := readStat(p.Pid())
	if !ok {
		t.Fatal("no stat")
	}
	earlier := ident{pid: st.pid, start: st.start - 1}
	if err := signalOnce(earlier, unix.SIGKILL); err != unix.ESRCH {
		t.Errorf("%v, want ESRCH for a process that is not the one meant", err)
	}
	if n, clean := killAll(time.Now().Add(time.Millisecond), nil, func() []ident { return nil }); n != 0 || !clean {
		t.Errorf("hunting nothing: %d %v", n, clean)
	}
	if st, ok := readStat(p.Pid()); !ok || st.dead() {
		t.Error("it was killed")
	}
	if err := signalOnce(st.ident, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	if e := p.Wait(); e.Signal != "SIGKILL" {
		t.Errorf("%+v", e)
	}
}

// TestSpared shows that a wavex inside an attempt does not sweep itself.
func TestSpared(t *testing.T) {
	t.Parallel()
	line := ancestry()
	if !line[os.Getpid()] || !line[os.Getppid()] {
		t.Errorf("ancestry %v lacks %d or %d", line, os.Getpid(), os.Getppid())
	}
	s := search{look: func(st stat) (found, read bool) {
		if line[st.pid] {
			t.Errorf("pid %d, an ancestor, may be killed", st.pid)
		}
		return false, true
	}}
	s.scan()
}

// A later scan reads a foreign process only if it is young, as it may be before its exec.
func TestForeignProcessesAreReadOnce(t *testing.T) {
	t.Parallel()
	p := start(t, Spec{Argv: Shell("sleep 300")})
	reads, young, old := map[int]int{}, map[int]bool{}, bootTicks()-2*settled
	s := search{look: func(st stat) (found, read bool) {
		reads[st.pid]++
		young[st.pid] = st.start+settled >= bootTicks()
		if st.start < old && reads[st.pid] > 1 {
			t.Errorf("process %d is read %d times", st.pid, reads[st.pid])
		}
		return false, true
	}}
	s.scan()
	again := young[p.Pid()]
	s.scan()
	if len(reads) < 2 || again && reads[p.Pid()] != 2 {
		t.Errorf("of %d processes a young one is read %d times, want 2", len(reads), reads[p.Pid()])
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	tail := " S 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 4711 21\n"
	want := stat{ident: ident{pid: 1, start: 4711}, ppid: 2, pgrp: 3, session: 4, state: 'S'}
	for _, comm := range []string{"sh", "a b", ") R 9 9 9", "((", ""} {
		if got, ok := parseStat(1, []byte("1 ("+comm+")"+tail)); !ok || got != want {
			t.Errorf("command %q: %+v %v", comm, got, ok)
		}
	}
	for _, bad := range []string{"", "1 (sh) S 2", "\x00" + strings.Repeat(" 0", 19),
		"1 (sh) S x 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 4711"} {
		if got, ok := parseStat(1, []byte(bad)); ok {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (sh) S 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 4711 21\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, ok := parseStat(7, b); ok && (st.pid != 7 || st.state == 0 || !bytes.ContainsRune(b, rune(st.state)) &&
			st.state < 0x80) {
			t.Errorf("%q: %+v", b, st)
		}
	})
}

func wantSwept(t *testing.T, e Exit, n int) {
	t.Helper()
	if e.Swept != n || !e.Contained {
		t.Errorf("swept %d, contained %v; want %d, true", e.Swept, e.Contained, n)
	}
}

func wantGone(t *testing.T, pid string) {
	t.Helper()
	if alive(t, pid) {
		t.Errorf("process %s is alive", pid)
	}
}

// await waits for a change made by another process, such as a guard.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	late := time.After(testTimeout)
	for tick := time.NewTicker(5 * time.Millisecond); !done(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s did not happen within %s", what, testTimeout)
		}
	}
}

// alive reports whether a process runs. It returns false for a zombie that its new parent has not
// reaped.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatalf("no pid: %q", pid)
	}
	b, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	st, ok := parseStat(n, b)
	return ok && !st.dead()
}

// markedProcess is a process that carries a mark.
type markedProcess struct {
	Pid     int
	Run     string // its WAVEX_RUN
	Attempt string // its WAVEX_ATTEMPT
	Command string // its arguments, joined by blanks; at most 4 KB
}

// findMarked returns the live processes of this user that carry mark by the rules of Sweep, without
// this process and its ancestors. It returns an error if marks cannot be read here.
func findMarked(mark string) ([]markedProcess, error) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return nil, fmt.Errorf("looking for marked processes: %w", err)
	}
	var out []markedProcess
	spared := ancestry()
	pids, err := allPids()
	for _, pid := range pids {
		st, ok := readStat(pid)
		if run, attempt, _ := readMarks(st); ok && !st.dead() && !spared[pid] && hasMark(mark, run, attempt) {
			out = append(out, markedProcess{Pid: pid, Run: run, Attempt: attempt, Command: commandOf(pid)})
		}
	}
	return out, err
}

// commandOf returns the arguments of a process joined by blanks, at most 4 KB.
func commandOf(pid int) string {
	b, err := readProcFile(procPath(pid, "cmdline"), nil)
	if err != nil {
		return ""
	}
	b = b[:min(len(b), 4096)]
	return strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
}
