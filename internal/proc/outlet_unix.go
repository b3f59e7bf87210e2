//go:build unix

package proc

import "golang.org/x/sys/unix"

// take moves into rest what is in the pipe at this moment, and tells whether the
// output is at its end. It does not wait, and it takes no more than was there and
// one buffer, so that somebody who keeps writing cannot keep us here. The caller
// holds mu.
func (o *outlet) take() (eof bool) {
	rc, err := o.f.SyscallConn()
	if err != nil {
		return true
	}
	err = rc.Control(func(fd uintptr) {
		there, err := unix.IoctlGetInt(int(fd), fionread)
		if err != nil {
			there = 1 << 16
		}
		for there >= 0 {
			buf := make([]byte, max(there, 512))
			n, err := unix.Read(int(fd), buf)
			switch {
			case err == unix.EINTR:
				continue
			case err != nil:
				eof = err != unix.EAGAIN
				return
			case n == 0:
				eof = true
				return
			}
			o.rest = append(o.rest, buf[:n]...)
			there -= n
			if there == 0 {
				continue // one more read, to see the end
			}
		}
	})
	return eof || err != nil
}
