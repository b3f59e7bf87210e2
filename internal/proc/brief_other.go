//go:build !linux

package proc

// brief returns false: exits are watched from the start.
func (p *Process) brief([]copying) bool { return false }
