package runner

import "golang.org/x/sys/unix"

// watchOpens returns a function that reports whether one of the files was opened since, or may have been.
func watchOpens(files []string) (opened func() bool) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	for _, file := range files {
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, file, unix.IN_OPEN)
		}
	}
	return func() bool {
		var event [unix.SizeofInotifyEvent]byte // a file has no name in it
		n, rerr := unix.Read(fd, event[:])
		_ = unix.Close(fd)
		return err != nil || n > 0 || rerr != unix.EAGAIN
	}
}
