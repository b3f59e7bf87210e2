//go:build unix

package rehearse

import "syscall"

// detached puts a process into a session and a group of its own, as the CLI does with its tool
// commands.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
