package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// inCgroup is a small wavex with a cgroup, a watchdog, and a daemon without a mark. It prints
// "unsupported" or the daemon's pid.
func inCgroup(run string) int {
	e, err := NewCgroup(run)
	if err != nil {
		fmt.Println("unsupported", errors.Is(err, ErrUnsupported))
		return 0
	}
	exe, _ := os.Executable()
	g, err := StartWatchdog([]string{exe, "helper", "guard", run}, run)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := Start(Spec{Argv: []string{exe, "helper", "leave", "hidden"}, Dir: "/", Env: testEnv, Mark: run + "/t/1"})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var pid string
	_, _ = fmt.Fscanln(p.Stdout, &pid)
	_ = p.Wait()
	fmt.Println(pid)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test kills us, or says that we may go
	_ = g.Close()
	if err := e.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestCgroup shows that a daemon without a mark, whose parents are gone, does not outlive
// wavex, whether wavex is killed or not. Nothing else can find it.
func TestCgroup(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed %v", kill), func(t *testing.T) {
			t.Parallel()
			run := fmt.Sprintf("enclosed-%v-%d", kill, os.Getpid())
			args := self(t, "enclosed", run)
			c := exec.CommandContext(t.Context(), args[0], args[1:]...)
			c.Env, c.Stderr = testEnv, os.Stderr
			in, _ := c.StdinPipe()
			out, _ := c.StdoutPipe()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			pid := line(t, bufio.NewReader(out))
			if pid == "unsupported true" {
				t.Log("this machine lets nobody make a control group: tried that this is told")
				_ = c.Wait()
				return
			}
			dir := cgroupDir(run, c.Process.Pid)
			if !alive(t, pid) {
				t.Fatal("the daemon did not outlive its parents")
			}
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
			if kill {
				_ = c.Process.Kill()
			} else {
				_ = in.Close()
			}
			err := c.Wait()
			if !kill && err != nil {
				t.Error(err)
			}
			await(t, "the guard's end of the daemon", func() bool { return !alive(t, pid) })
			await(t, "the removal of "+dir, func() bool {
				_, err := os.Stat(dir)
				return errors.Is(err, fs.ErrNotExist)
			})
		})
	}
}

// TestRemoveOldCgroups ends the leftovers of an earlier wavex whose guard was killed too, including
// those in subgroups. Those of a wavex in another PID namespace, which may be alive, stay.
func TestRemoveOldCgroups(t *testing.T) {
	t.Parallel()
	run := fmt.Sprintf("left-%d", os.Getpid())
	dir, err := cgroupDir(run, 1<<22+1), ErrUnsupported // no process has that number
	if dir != "" {
		err = os.MkdirAll(dir+"/wavex-inner", 0o755)
	}
	if err != nil {
		t.Log("this machine lets nobody make a control group:", err)
		if err := RemoveOldCgroups(t.Context(), run); err != nil {
			t.Error(err)
		}
		return
	}
	foreign := filepath.Join(filepath.Dir(dir), fmt.Sprintf("wavex-%s.1.%d", run, os.Getpid()))
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(foreign)
	p := start(t, Spec{Argv: self(t, "hold"), Stdin: true})
	pid := line(t, bufio.NewReader(p.Stdout))
	if err := os.WriteFile(dir+"/wavex-inner/cgroup.procs", []byte(pid), 0); err != nil {
		t.Fatal(err)
	}
	if err := RemoveOldCgroups(t.Context(), run); err != nil {
		t.Error(err)
	}
	if e := p.Wait(); e.Signal != "SIGKILL" {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", dir, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
	if err := RemoveOldCgroups(t.Context(), run); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "../x", "a/b"} {
		if _, err := NewCgroup(bad); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
