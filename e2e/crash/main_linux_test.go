package crash

// This file prepares the fixtures of all tests: the wavex binary, built once, and a private mount
// namespace, in which a full disk is a small tmpfs that no other process sees and that disappears
// with the process.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
)

// shared is set by TestMain before any test runs and is read-only afterwards.
var shared struct {
	wavex  string // the executable
	mounts bool   // the process is in a private mount namespace
}

// insideMark, in the environment, is the wavex binary; it is set in the namespace.
const insideMark = "WAVEX_CRASH_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(bulkVar) != "" {
		os.Exit(bulkAgent(os.Stdin, os.Stdout))
	}
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (int, error) {
	if wavex := os.Getenv(insideMark); wavex != "" {
		// Later mounts stay in this namespace. The root of a chroot may be no mount point (EINVAL): other
		// namespaces may then see the mounts of a test, and that it unmounts them.
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err != nil && !errors.Is(err, unix.EINVAL) {
			return 0, fmt.Errorf("making the namespace's mounts private: %w", err)
		}
		shared.mounts = true
		return run(m, wavex), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	wavex, clean, err := rig.Wavex(ctx)
	if err != nil {
		return 0, err
	}
	defer clean()
	code, err := inNamespace(wavex)
	if err == nil {
		return code, nil
	}
	fmt.Fprintln(os.Stderr, "crash: no mount namespace, running without:", err)
	return run(m, wavex), nil
}

func run(m *testing.M, wavex string) int {
	shared.wavex = wavex
	return rig.Run(m, "crash", 8) // most of them wait for processes
}

// inNamespace runs the tests again in a mount namespace, and returns their exit code. A user
// other than root becomes root of a user namespace.
func inNamespace(wavex string) (code int, err error) {
	attr := syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return rig.Reexec(attr, insideMark+"="+wavex)
}
