package filetree

import (
	"os"
	"syscall"
	"time"
)

// changeTime returns the time of the last change of a file or its attributes, which no program can set.
func changeTime(st os.FileInfo) time.Time {
	return time.Unix(st.Sys().(*syscall.Stat_t).Ctim.Unix()) // the type is that of os.Lstat
}
