package gitwork

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wavex/internal/loop"
	"wavex/runner"
)

// This file kills a run before each of wavex's own system calls that make, rename, truncate or remove files or change
// mounts, and then its git before the next such call of git. The kernel hands these calls over to the test, which lets
// them pass or kills the run.

// stepKills is the number of kills, which are spread evenly over the calls, of which there are about 400.
var stepKills = flag.Int("stepkills", 4, "how often TestKilledAtAnyStep kills")

// stoppedCalls are the calls before which a run is killed. os and syscall make no others of this sort.
var stoppedCalls = []uint32{unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_MOUNT,
	unix.SYS_UMOUNT2, unix.SYS_SYMLINKAT, unix.SYS_FTRUNCATE}

// stopCalls makes the calls of this process and its children wait for the reader of the descriptor that it returns.
// Calls of openat wait if they may make a file.
func stopCalls() (int, error) {
	const load, equal, bits, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	code := []unix.SockFilter{{Code: load, K: 0}} // the number of the call
	for _, nr := range stoppedCalls {
		code = append(code, unix.SockFilter{Code: equal, Jf: 1, K: nr},
			unix.SockFilter{Code: give, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	code = append(code, unix.SockFilter{Code: equal, Jf: 3, K: unix.SYS_OPENAT},
		unix.SockFilter{Code: load, K: 16 + 2*8}, // the third argument
		unix.SockFilter{Code: bits, Jf: 1, K: unix.O_CREAT},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_USER_NOTIF},
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|
		unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// stoppedCall and passedCall are seccomp_notif and seccomp_notif_resp of the kernel.
type stoppedCall struct {
	ID        uint64
	Thread, _ uint32
	Number    int32
	_         uint32
	_         uint64
	_         [6]uint64
}

type passedCall struct {
	ID    uint64
	_     int64
	_     int32
	Flags uint32
}

// passCalls lets the calls pass of a process and its children, kills the process before its call number at, counted
// from 1, and its children at their next one, and returns the number of its calls when all have ended.
func passCalls(pid, listener, at int) (n int, err error) {
	own := map[uint32]bool{} // threads
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return n, err
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return n, nil // all have ended
		}
		var call stoppedCall
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&call))); errno == unix.ENOENT || errno == unix.EINTR {
			continue // it was killed
		} else if errno != 0 {
			return n, errno
		}
		if _, known := own[call.Thread]; !known {
			_, err := os.Lstat(fmt.Sprintf("/proc/%d/task/%d", pid, call.Thread))
			own[call.Thread] = err == nil
		}
		if own[call.Thread] {
			n++
		}
		switch {
		case at > 0 && own[call.Thread] && n == at:
			_ = unix.Kill(pid, unix.SIGKILL)
			continue
		case at > 0 && n >= at:
			_ = unix.Kill(int(call.Thread), unix.SIGKILL)
			continue
		}
		pass := passedCall{ID: call.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND,
			uintptr(unsafe.Pointer(&pass))); errno != 0 && errno != unix.ENOENT {
			return n, errno
		}
	}
}

// receiveFile receives a descriptor from a socket.
func receiveFile(socket int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	all, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(all) == 0 {
		return 0, errors.Join(err, io.ErrUnexpectedEOF)
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// stepHelper is a session of a run that is killed: with a socket as descriptor 3 it hands its calls over, and does the
// steps of the run that are not on record.
func stepHelper(dir, run, home, calls string) int {
	if calls == "stopped" {
		fd, err := stopCalls()
		if err == nil {
			err = unix.Sendmsg(3, []byte{0}, unix.UnixRights(fd), nil, 0)
		}
		if err != nil {
			fmt.Println("handing calls over:", err)
			return 2
		}
	}
	began := time.Time{}
	if calls != "stopped" { // then the session before was killed
		began = time.Now().Add(-time.Hour)
	}
	if err := stepSession(context.Background(), dir, run, home, began); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// stepSession makes one session of a run of the tasks x, which is half done when y takes its worktree over, and y.
// cutOff is that of Options.
func stepSession(ctx context.Context, dir, run, home string, cutOff time.Time) (err error) {
	m, err := Open(ctx, Options{Project: dir, Loop: loop.In(dir), Run: run, Mode: Worktree, Width: 4,
		Env: testEnv(home), CutOff: cutOff, lockWait: noWait})
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = m.Close(ctx)
		}
	}()
	attempt := func(task string, goOn bool, want runner.Outcome, act agent) error {
		res := attemptIn(ctx, m, act, runner.Request{Run: run, Task: task, Dir: dir, Attempt: 1, Resume: goOn},
			runner.Hooks{})
		if res.Outcome != want {
			return fmt.Errorf("task %s is %s: %s", task, res.Outcome, res.Reason)
		}
		return nil
	}
	write := func(name string) agent {
		return func(in string, _ runner.Request) error {
			return os.WriteFile(filepath.Join(in, name), []byte("1\n"), 0o644)
		}
	}
	journal := filepath.Join(string(loop.In(dir)), run+".done")
	for i, step := range []func() error{
		func() error {
			return attempt("x", false, runner.Wrong, func(in string, req runner.Request) error {
				return errors.Join(write("half")(in, req), os.Rename(filepath.Join(in, "d"), filepath.Join(in, "e")),
					errors.New("half done"))
			})
		},
		func() error { return attempt("y", false, runner.Done, write("y")) },
		func() error {
			return attempt("x", true, runner.Done, func(in string, req runner.Request) error {
				for _, name := range []string{"half", "e/f"} {
					if _, err := os.Lstat(filepath.Join(in, name)); err != nil {
						return err // the files of the last attempt are gone
					}
				}
				return write("x")(in, req)
			})
		},
		func() error {
			in, err := m.Integrate(ctx, 1, verifiedTasks("x: test -e x", "y: test -e y"))
			if err == nil && len(in.Integrated) != 2 {
				err = fmt.Errorf("integrated are %v: %v", in.Integrated, in.Culprits)
			}
			return err
		},
		func() error {
			d, err := m.Deliver(ctx, "auto", true)
			if err == nil && d.How != "ff" {
				err = fmt.Errorf("delivered %s: %s", d.How, d.Why)
			}
			return err
		},
	} {
		record := journal + strconv.Itoa(i)
		if _, err := os.Lstat(record); err == nil {
			continue
		}
		if err := step(); err != nil {
			return err
		}
		if err := os.WriteFile(record, nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// A run that is killed before any of its own calls that change files goes on: each attempt finds the files of the last
// one, both tasks are delivered, and nothing of the worktrees stays.
func TestKilledAtAnyStep(t *testing.T) {
	t.Parallel()
	calls := killedAtStep(t, 0)
	t.Logf("a run makes %d calls", calls)
	for i := range *stepKills {
		at := 1 + i*calls / *stepKills
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			killedAtStep(t, at)
		})
	}
}

// killedAtStep makes a run, kills it before a call, lets it go on, and returns the number of its calls before.
func killedAtStep(t *testing.T, at int) (calls int) {
	t.Helper()
	r := newRepo(t, files{"a": "1\n", "d/f": "1\n", ".gitignore": "/.loop/\n"})
	home := strings.TrimPrefix(r.env[1], "HOME=")
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, "helper", "steps", r.dir, "r1", home, "stopped")
	cmd.Env = append(r.env, "GORACE=atexit_sleep_ms=0")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(ends[0])
	its := os.NewFile(uintptr(ends[1]), "socket")
	cmd.ExtraFiles = []*os.File{its}
	must(t, cmd.Start())
	must(t, its.Close())
	listener, err := receiveFile(ends[0])
	if err != nil {
		_ = cmd.Wait()
		t.Skipf("the kernel hands no calls over: %v: %s", err, said.String())
	}
	defer unix.Close(listener)
	calls, err = passCalls(cmd.Process.Pid, listener, at)
	must(t, err)
	_ = cmd.Wait()
	killed := at > 0 && calls >= at // their number differs a little between runs
	if end := cmd.ProcessState; end.Success() == killed || end.Exited() == killed {
		t.Fatalf("to be killed before call %d of %d, it ends with %v: %s", at, calls, end, said.String())
	}
	if killed {
		next := exec.Command(exe, "helper", "steps", r.dir, "r1", home, "go on")
		next.Env = cmd.Env
		if said, err := next.CombinedOutput(); err != nil {
			t.Fatalf("it does not go on: %v: %s", err, said)
		}
	}
	equal(t, "the work", r.tree("main"), files{"a": "1\n", "e/f": "1\n", "half": "1\n", "x": "1\n", "y": "1\n",
		".gitignore": "/.loop/\n"})
	equal(t, "changes", r.git("status", "--porcelain"), "")
	_, err = Clean(t.Context(), r.dir, "", false)
	must(t, err)
	equal(t, "worktrees", len(splitLines(r.git("worktree", "list"))), 1)
	left, err := filepath.Glob(loop.In(r.dir).Worktree("r1", "[0-9]*"))
	must(t, err)
	equal(t, "left", len(left), 0)
	return calls
}
