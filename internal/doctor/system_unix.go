//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// freeDisk returns the bytes that an unprivileged user can still write below path.
func freeDisk(path string) (uint64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}

// writable reports whether this process may write in a folder.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
