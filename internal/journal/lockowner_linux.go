package journal

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ownsLock asks the kernel whether a process holds the lock of a file. known is false if the kernel
// does not name the holder (another pid namespace, a network file system).
func ownsLock(path string, pid int) (holds, known bool) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return false, false
	}
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(b)) {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
			continue
		}
		// The device is not compared: some file systems show a different one here.
		if by, err := strconv.Atoi(f[4]); err == nil && by > 0 &&
			strings.HasSuffix(f[5], ":"+strconv.FormatUint(st.Ino, 10)) {
			holds, known = holds || by == pid, true
		}
	}
	return holds, known
}
