//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// writable reports whether this process may write in a folder.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
