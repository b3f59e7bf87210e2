package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// insideMark, in the environment, is the wavex binary; it is set in the namespace.
const insideMark = "WAVEX_E2E_MOUNTS"

// MainWithMounts is the rest of a TestMain under name. It builds wavex, and runs the tests in a
// private mount namespace, in which a full disk is a small tmpfs that no other process sees and
// that disappears with the process. Where the system refuses the namespace, it says so and runs the
// tests without: mounts is then false.
func MainWithMounts(name string, run func(wavex string, mounts bool) int) {
	code, err := mainWithMounts(name, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		code = 1
	}
	os.Exit(code)
}

func mainWithMounts(name string, run func(wavex string, mounts bool) int) (int, error) {
	if wavex := os.Getenv(insideMark); wavex != "" {
		// Later mounts stay in this namespace. The root of a chroot may be no mount point (EINVAL): other
		// namespaces may then see the mounts of a test, and that it unmounts them.
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err != nil && !errors.Is(err, unix.EINVAL) {
			return 0, fmt.Errorf("making the namespace's mounts private: %w", err)
		}
		return run(wavex, true), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	wavex, clean, err := Wavex(ctx)
	if err != nil {
		return 0, err
	}
	defer clean()
	code, err := inMountNamespace(wavex)
	if err == nil {
		return code, nil
	}
	fmt.Fprintf(os.Stderr, "%s: no mount namespace, running without: %v\n", name, err)
	return run(wavex, false), nil
}

// inMountNamespace runs the tests again in a mount namespace, and returns their exit code. A user
// other than root becomes root of a user namespace.
func inMountNamespace(wavex string) (code int, err error) {
	attr := syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return Reexec(attr, insideMark+"="+wavex)
}
