package e2e

// Runs the tests inside a network namespace that has only loopback.
// The server lives in the same process as the tests, so both are inside.

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
)

// inNamespace runs the tests in a namespace of their own and returns their exit code.
// ok is false where the kernel does not let us make one (not root, or a container
// without the right): the tests then run here, with the loopback servers in the
// environment as the only fence.
func inNamespace(clis []cli, wavex string) (code int, ok bool) {
	if os.Geteuid() != 0 || os.Getenv("WAVEX_E2E_NO_NAMESPACE") != "" {
		return 0, false
	}
	code, err := rig.Again(syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}, insideMark+"="+pack(clis), insideWavex+"="+wavex)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: no network namespace, running without:", err)
		return 0, false
	}
	return code, true
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
