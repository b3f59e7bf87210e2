//go:build linux || darwin

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFiles returns how many files this process may open, or 0. Go has raised it to the hard limit.
func openFiles() int64 { return limit(unix.RLIMIT_NOFILE) }

// userProcesses returns how many processes this user may have, or 0.
func userProcesses() int64 { return limit(unix.RLIMIT_NPROC) }

func limit(resource int) int64 {
	var l unix.Rlimit
	if unix.Getrlimit(resource, &l) != nil || l.Cur > 1<<62 {
		return 0
	}
	return int64(l.Cur)
}

// DiskFree returns the bytes and the files that this user can still write below dir.
func DiskFree(dir string) (bytes, files uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return spaceOf(&st, os.Geteuid() == 0)
}

// spaceOf returns the space of a file system. Only root may write its reserved blocks. Some file systems,
// as of FUSE, tell no numbers.
func spaceOf(st *unix.Statfs_t, root bool) (bytes, files uint64, known bool) {
	blocks := st.Bavail
	if root {
		blocks = st.Bfree
	}
	if files = uint64(st.Ffree); st.Files == 0 {
		files = 1 // this file system has no inodes
	}
	return blocks * uint64(st.Bsize), files, st.Blocks > 0
}
