package proc

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A named pipe in place of the lock file does not block.
func TestLockFileIsAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "guard.lock")
	must(t, unix.Mkfifo(path, 0o600))
	f := lockFile(path)
	if f == nil {
		t.Fatal("it was not locked")
	}
	if again := lockFile(path); again != nil {
		t.Error("it was locked twice")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
