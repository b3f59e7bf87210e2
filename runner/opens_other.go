//go:build !linux

package runner

// watchOpens cannot tell.
func watchOpens([]string) (opened func() bool) { return func() bool { return true } }
