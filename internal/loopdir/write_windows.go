package loopdir

import (
	"io/fs"
	"os"
)

// write replaces a file. On Windows this is not atomic.
func write(path string, text []byte, perm fs.FileMode) error { return os.WriteFile(path, text, perm) }
