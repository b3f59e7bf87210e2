//go:build unix

package known

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity names a file and its state: another content has another one.
func identity(path string, st fs.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return identityOf(path, st)
	}
	return fmt.Sprintf("%x-%x-%x-%x", s.Dev, s.Ino, st.Size(), st.ModTime().UnixNano())
}
