package rehearse

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached detaches a process from this one's console and group.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
