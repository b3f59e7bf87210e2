package loop

import (
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll is os.MkdirAll for a directory in .loop or elsewhere. It creates no .loop above it, so that nothing is
// created at the old path of a project that was moved during a run.
func MkdirAll(path string, perm fs.FileMode) error {
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		if filepath.Base(at) != Name {
			continue
		}
		if _, err := os.Stat(at); err != nil {
			return err
		}
		break
	}
	return os.MkdirAll(path, perm)
}
