package journal

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockOwners returns the processes that hold the lock of a file: none if the kernel does not name them
// (another pid namespace, a network file system).
func lockOwners(path string) []int {
	var st syscall.Stat_t
	_ = syscall.Stat(path, &st) // no file has inode 0
	locks, _ := os.ReadFile("/proc/locks")
	return owners(string(locks), st.Ino)
}

// owners returns the owners of the exclusive flock locks of a file in a text of /proc/locks.
func owners(locks string, inode uint64) (pids []int) {
	for line := range strings.Lines(locks) {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
			continue
		}
		// The device is not compared: some file systems show a different one here.
		pid, _ := strconv.Atoi(f[4]) // not positive if unknown
		if pid > 0 && strings.HasSuffix(f[5], ":"+strconv.FormatUint(inode, 10)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
