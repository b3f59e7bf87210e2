//go:build unix

package runner

import (
	"os"
	"runtime"
	"syscall"
)

func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// maxRSS is the largest resident set of an ended process, in bytes.
func maxRSS(s *os.ProcessState) int64 {
	r, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}
