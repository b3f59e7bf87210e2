//go:build unix

package safefile

import "os"

// SyncDir makes the name of a new file durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
