//go:build !linux

package filetree

import (
	"os"
	"time"
)

// changeTime returns the present time: files are read again.
func changeTime(os.FileInfo) time.Time { return time.Now() }
