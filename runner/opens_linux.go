package runner

import (
	"encoding/binary"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// watchOpens returns a function that returns which of the files of a directory were opened since, or replaced. They are
// not known if files cannot be watched: the system bounds the watching processes of a user (128 by default).
func watchOpens(dir string, files []string) (opened func() (which map[string]bool, known bool)) {
	watched := map[uint32][]string{} // one for all names of a file
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	for _, file := range files {
		if err == nil {
			var id int
			id, err = unix.InotifyAddWatch(fd, filepath.Join(dir, filepath.FromSlash(file)), unix.IN_OPEN|unix.IN_ONESHOT)
			switch err {
			case nil:
				watched[uint32(id)] = append(watched[uint32(id)], file)
			case unix.ENOENT:
				err = nil
			}
		}
	}
	return func() (map[string]bool, bool) {
		which, known := map[string]bool{}, err == nil
		for err == nil {
			var event [unix.SizeofInotifyEvent]byte // that of a file has no name
			if _, err = unix.Read(fd, event[:]); err == nil {
				names := watched[binary.NativeEndian.Uint32(event[:])]
				known = known && len(names) > 0 // the queue may have overflowed
				for _, file := range names {
					which[file] = true
				}
			}
		}
		_ = unix.Close(fd)
		return which, known && err == unix.EAGAIN
	}
}
