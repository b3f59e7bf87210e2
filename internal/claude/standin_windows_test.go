package claude

import "syscall"

func newSession() *syscall.SysProcAttr { return nil }

func peakMemory() int64 { return 0 }
