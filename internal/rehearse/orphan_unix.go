//go:build unix

package rehearse

import "syscall"

// apart puts a process into a session and a group of its own, as the CLI does with its tool
// commands.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
