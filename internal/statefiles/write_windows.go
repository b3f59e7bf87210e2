package statefiles

import (
	"io/fs"
	"os"
)

// replaceFile replaces a file. On Windows this is not atomic.
func replaceFile(path string, text []byte, perm fs.FileMode) error {
	return os.WriteFile(path, text, perm)
}
