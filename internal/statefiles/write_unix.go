//go:build unix

package statefiles

import (
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// replaceFile replaces a file atomically and durably. Its temporary file is beside it: the library's
// search for another folder would cost two more files and a rename.
func replaceFile(path string, text []byte, perm fs.FileMode) error {
	return renameio.WriteFile(path, text, perm, renameio.WithTempDir(filepath.Dir(path)))
}
