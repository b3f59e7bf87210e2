//go:build unix

package loopdir

import (
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// write replaces a file at once and for good. Its temporary file is beside it: to find out
// whether another folder would do takes the library two more files and a rename.
func write(path string, text []byte, perm fs.FileMode) error {
	return renameio.WriteFile(path, text, perm, renameio.WithTempDir(filepath.Dir(path)))
}
