package proc

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountsVar names the mount namespace that EnterMounts made. Children do not inherit the variable.
const mountsVar = "WAVEX_MOUNTS"

// OwnMounts reports whether this process is in a mount namespace that EnterMounts made. Its mounts are seen by it and
// its children alone, and the kernel removes them when the last of these processes ends, also by SIGKILL.
func OwnMounts() bool {
	name, err := os.Readlink("/proc/self/ns/mnt")
	return err == nil && os.Getenv(mountsVar) == name
}

// EnterMounts puts this process into a mount namespace of its own. Since a namespace belongs to a thread, it executes
// the program again, with the same id and arguments: on success it does not return. It must be called before the
// process has opened files or started processes, and returns nil if OwnMounts holds already.
func EnterMounts() error {
	if OwnMounts() {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // the goroutine ends with its thread, and so does the namespace
		failed <- enterMounts(exe)
	}()
	return <-failed
}

// enterMounts is EnterMounts on a thread of its own.
func enterMounts(exe string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	// Mounts of the system still appear here, and none of ours appears there.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	name, err := os.Readlink("/proc/thread-self/ns/mnt")
	if err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, mountsVar+"=") })
	return os.NewSyscallError("exec", syscall.Exec(exe, os.Args, append(env, mountsVar+"="+name)))
}
