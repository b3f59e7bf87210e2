//go:build unix

package support

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity identifies a file and its state; it differs when the file has changed.
func identity(path string, st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return pathIdentity(path, st)
	}
	return fmt.Sprintf("%x-%x-%x-%x", s.Dev, s.Ino, st.Size(), st.ModTime().UnixNano())
}
