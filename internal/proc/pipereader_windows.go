package proc

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// readAvailable moves the present content of the pipe into rest, and reports whether the output is at its
// end. It does not wait. The caller must hold mu.
func (o *pipeReader) readAvailable() (eof bool) {
	rc, err := o.f.SyscallConn()
	if err != nil {
		return true
	}
	err = rc.Control(func(h uintptr) {
		var there uint32
		if peekNamedPipe(windows.Handle(h), &there) != nil {
			eof = true // every writer is gone, and the pipe is empty
			return
		}
		if there == 0 {
			return
		}
		buf := make([]byte, there)
		var n uint32
		if windows.ReadFile(windows.Handle(h), buf, &n, nil) != nil {
			eof = true
			return
		}
		o.buffered = append(o.buffered, buf[:n]...)
		eof = peekNamedPipe(windows.Handle(h), &there) != nil
	})
	return eof || err != nil
}

// peekNamedPipe sets there to the number of bytes that can be read without waiting.
func peekNamedPipe(h windows.Handle, there *uint32) error {
	proc := windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")
	ok, _, err := proc.Call(uintptr(h), 0, 0, 0, uintptr(unsafe.Pointer(there)), 0)
	if ok == 0 {
		return err
	}
	return nil
}
