//go:build !linux

package proc

// Remark does nothing here: no process is Quiet.
func (p *Process) Remark(string) {}

// Quiet is false: nobody knows here what a process has left alive.
func (p *Process) Quiet() bool { return false }
