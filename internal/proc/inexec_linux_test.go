package proc

import (
	"os"
	"os/exec"
	"testing"
)

// Processes that have an environment, or never will, are not waited for: one with an empty
// environment, a zombie, a kernel thread. e2e/crash shows about once in 700 kills that a process
// in the middle of an exec is waited for.
func TestOtherProcessesAreNotInExec(t *testing.T) {
	t.Parallel()
	bare := exec.CommandContext(t.Context(), "/bin/sh", "-c", "echo >&2; read x")
	bare.Env = []string{}
	in, err := bare.StdinPipe()
	must(t, err)
	out, err := bare.StderrPipe()
	must(t, err)
	must(t, bare.Start())
	// Start returns in the middle of the exec: the kernel closes files before it sets the environment.
	if n, err := out.Read(make([]byte, 1)); n != 1 {
		t.Fatalf("read %d, %v", n, err)
	}
	for name, pid := range map[string]int{"ourselves": os.Getpid(), "no environment": bare.Process.Pid,
		"a kernel thread, or no process": 2} {
		if inExec(pid) {
			t.Errorf("%s: in the middle of an exec", name)
		}
		if pid != 2 && inExit(pid) {
			t.Errorf("%s: in the middle of its exit", name)
		}
	}
	_ = in.Close()
	if n, err := out.Read(make([]byte, 1)); n != 0 || err == nil { // it has exited, and is not reaped
		t.Fatalf("read %d, %v", n, err)
	}
	if inExec(bare.Process.Pid) {
		t.Error("a zombie: in the middle of an exec")
	}
	if !inExit(bare.Process.Pid) { // a zombie has no memory, like a process in the middle of its exit
		t.Error("a zombie has memory")
	}
	_ = bare.Wait() // read fails at the end of its input
}
