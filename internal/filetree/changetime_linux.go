package filetree

import (
	"os"
	"syscall"
	"time"
)

// changeTime returns the time of the last change of a file or its attributes, which no program can set.
func changeTime(st os.FileInfo) (time.Time, bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(sys.Ctim.Unix()), true
}
