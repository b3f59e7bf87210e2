//go:build unix

package claude

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// peakMemory returns the largest resident set of this process so far, in bytes. On Linux, the rusage of a
// process includes the resident set of its parent at the fork; VmHWM does not.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}
