//go:build !linux

package filetree

import (
	"os"
	"time"
)

// changeTime returns false: files are read again.
func changeTime(os.FileInfo) (time.Time, bool) { return time.Time{}, false }
