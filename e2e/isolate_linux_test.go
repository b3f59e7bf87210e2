package e2e

// Runs the test binary again inside a network namespace that has only loopback.
// The server lives in the same process as the tests, so both are inside.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// inNamespace runs the tests in a namespace of their own and returns their exit code.
// ok is false where the kernel does not let us make one (not root, or a container
// without the right): the tests then run here, with the loopback servers in the
// environment as the only fence.
func inNamespace(claude, wavex string) (code int, ok bool) {
	if os.Geteuid() != 0 || os.Getenv("WAVEX_E2E_NO_NAMESPACE") != "" {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideMark+"="+claude, insideWavex+"="+wavex)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig is about the thread that started the child
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: no network namespace, running without:", err)
		return 0, false
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals: // go test asks for a goroutine dump with SIGQUIT
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return max(exit.ExitCode(), 1), true
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "e2e:", err)
				return 1, true
			}
			return 0, true
		}
	}
}

// loopbackUp does what "ip link set lo up" does, without needing ip.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
