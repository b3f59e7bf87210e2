package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"wavex/internal/loop"
)

// treeDepth is the depth to which CheckTree looks: the names of the tasks of each run.
const treeDepth = 4

// CheckTree returns an error about the first link among the files of a .loop directory, as far as they are wavex's. It
// does not look into the directories of tasks, which may be many; the other functions do when they get there.
func CheckTree(dir string) error {
	project, names, _ := loop.Owned(dir)
	root, err := descend(project, names, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // read only
	return checkTree(root, dir, treeDepth)
}

func checkTree(root *os.Root, path string, depth int) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return withPath(err, path)
	}
	for _, e := range entries {
		below := filepath.Join(path, e.Name())
		if _, names, own := loop.Owned(filepath.Join(below, "x")); e.Type()&fs.ModeSymlink != 0 {
			return linkError(below)
		} else if !e.IsDir() || depth == 1 || own < len(names) {
			continue
		}
		next, err := Enter(root, e.Name(), 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // removed meanwhile, or of no use to wavex either
		}
		if err == nil {
			err = checkTree(next, below, depth-1)
			_ = next.Close() // read only
		}
		if err != nil {
			return err
		}
	}
	return nil
}
