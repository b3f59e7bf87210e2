package e2e

// This file runs the tests inside a network namespace that has only loopback. The server is in
// the same process as the tests, so both are inside.

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
)

// inNamespace runs the tests in a new namespace and returns their exit code. ok is false if the
// kernel refuses to make one (not root, or a container without the right): then the tests run
// here, and only the loopback addresses in the environment keep them from the network.
func inNamespace(clis []cli, wavex string) (code int, ok bool) {
	if os.Geteuid() != 0 || os.Getenv("WAVEX_E2E_NO_NAMESPACE") != "" {
		return 0, false
	}
	code, err := rig.Reexec(syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}, insideMark+"="+pack(clis),
		insideWavex+"="+wavex)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: no network namespace, running without:", err)
		return 0, false
	}
	return code, true
}

// loopbackUp is "ip link set lo up" without ip.
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
