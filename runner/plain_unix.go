//go:build unix

package runner

import (
	"os"
	"syscall"
)

// isPlain reports whether a file of this user and group has no other name, so that another file can replace it.
func isPlain(st os.FileInfo) bool {
	s, known := st.Sys().(*syscall.Stat_t)
	return known && s.Nlink == 1 && int(s.Uid) == os.Geteuid() && int(s.Gid) == os.Getegid()
}
