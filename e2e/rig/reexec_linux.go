package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// Reexec runs this test binary again, with the same arguments, in a process that attr makes, for
// example in a namespace, and that ends with this one. env is added to its environment. code is
// its exit code. An error means that it could not be started.
func Reexec(attr syscall.SysProcAttr, env ...string) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	attr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr = &attr
	runtime.LockOSThread() // Pdeathsig applies to the thread that started the child
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals: // go test requests a goroutine dump with SIGQUIT
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			switch {
			case errors.As(err, &exit):
				return max(exit.ExitCode(), 1), nil
			case err != nil:
				fmt.Fprintln(os.Stderr, "waiting for the tests:", err)
				return 1, nil
			}
			return 0, nil
		}
	}
}
