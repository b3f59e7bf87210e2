package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// reachLimit reaches one limit in a child of TestReached, and prints its error.
func reachLimit(what, arg string) int {
	reach := map[string]func(arg string) error{"files": reachFiles, "processes": reachProcesses,
		"disk": reachDisk, "inodes": reachInodes, "group": reachGroup}[what]
	if err := reach(arg); err != nil {
		fmt.Println(ErrorText(err))
	}
	return 0
}

func setLimit(resource int, n uint64) {
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		fmt.Println("setrlimit:", err)
	}
}

func reachFiles(string) error {
	setLimit(unix.RLIMIT_NOFILE, 24)
	for {
		if _, err := os.Open(os.DevNull); err != nil {
			return err
		}
	}
}

func reachProcesses(string) error {
	var started, threads sync.WaitGroup
	for range 16 { // threads that the runtime would like to start later, and may not
		started.Add(1)
		threads.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait()
		})
	}
	threads.Wait()
	setLimit(unix.RLIMIT_NPROC, 1)
	if os.Getuid() == 0 { // root has no such limit
		if err := syscall.Setuid(64123); err != nil {
			return err
		}
	}
	c := exec.Command("/bin/true")
	c.Dir = "/"
	return c.Run()
}

// mountTmpfs makes a small disk at dir, which only this process has.
func mountTmpfs(dir, size string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("tmpfs", dir, "tmpfs", 0, size)
}

func reachDisk(dir string) error {
	if err := mountTmpfs(dir, "size=128k"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1<<20), 0o600)
}

func reachInodes(dir string) error {
	if err := mountTmpfs(dir, "nr_inodes=8"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600); err != nil {
			return err
		}
	}
}

// reachGroup enters a control group with a limit of processes.
func reachGroup(dir string) error {
	err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	if err != nil {
		return err
	}
	fmt.Println(processes())
	return nil
}

// TestReached reaches limits in child processes.
func TestReached(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for what, want := range map[string]string{
		"files":     "too many open files: wavex may open 24 files; raise ulimit -n",
		"processes": "resource temporarily unavailable: the user may have 1 processes; raise ulimit -u",
		"disk":      "the disk of " + dir + " is full (0 KB free); free some space there",
		"inodes":    "the disk of " + dir + " has no inodes left; remove some files there",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := exec.CommandContext(t.Context(), os.Args[0], "helper", "reach", what, dir)
			if what == "disk" || what == "inodes" {
				c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
				if os.Getuid() != 0 {
					c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
					c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
				}
			}
			out, err := c.CombinedOutput()
			if os.IsPermission(err) && os.Getuid() != 0 {
				t.Skip("this user may not mount a small disk: ", err)
			}
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%v: %s\nwant %s", err, out, want)
			}
		})
	}
}

// TestSpaceOf shows who may write the reserved blocks, and which file systems tell nothing.
func TestSpaceOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		st           unix.Statfs_t
		root         bool
		bytes, files uint64
		known        bool
	}{
		"a user":        {unix.Statfs_t{Bsize: 4096, Blocks: 100, Bfree: 5, Files: 9, Ffree: 3}, false, 0, 3, true},
		"root":          {unix.Statfs_t{Bsize: 4096, Blocks: 100, Bfree: 5, Files: 9, Ffree: 3}, true, 5 * 4096, 3, true},
		"no inodes":     {unix.Statfs_t{Bsize: 512, Blocks: 100, Bfree: 5, Bavail: 2}, false, 1024, 1, true},
		"nothing known": {unix.Statfs_t{Bsize: 4096}, true, 0, 1, false},
	} {
		if bytes, files, known := spaceOf(&c.st, c.root); bytes != c.bytes || files != c.files || known != c.known {
			t.Errorf("%s: %d bytes, %d files, %t", name, bytes, files, known)
		}
	}
	if l, full := DiskLimit("/proc"); full {
		t.Error("a file system without blocks: ", l)
	}
}

// TestGroup reads the limit of processes of a control group, where the test may make one.
func TestGroup(t *testing.T) {
	t.Parallel()
	dir := ""
	for _, mount := range []string{"", "unified", "pids"} {
		at := filepath.Join("/sys/fs/cgroup", mount, fmt.Sprintf("wavex-test-%d", os.Getpid()))
		if os.Mkdir(at, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(at) })
		if os.WriteFile(filepath.Join(at, "pids.max"), []byte("77"), 0) == nil {
			dir = at
		}
	}
	if dir == "" {
		t.Skip("no control group with a limit of processes can be made here")
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "helper", "reach", "group", dir)
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the control group may have 77 processes; raise its pids.max") {
		t.Errorf("%v: %s", err, out)
	}
}
