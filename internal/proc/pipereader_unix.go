//go:build unix

package proc

import "golang.org/x/sys/unix"

// readAvailable moves the present content of the pipe into rest, and reports whether the output is at its
// end. It does not wait. It takes no more than the bytes present and one buffer, so that a
// process that writes on cannot keep it here. The caller must hold mu.
func (o *pipeReader) readAvailable() (eof bool) {
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
			o.buffered = append(o.buffered, buf[:n]...)
			there -= n
			if there == 0 {
				continue // one more read, to see the end
			}
		}
	})
	return eof || err != nil
}
