// Package proctest makes what tests start. It knows no process.
package proctest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Script writes an executable file, with its folder where that is missing. No process is
// forked meanwhile: a child keeps what is open for writing until its own exec, and a
// script that anybody has open so cannot be executed ("text file busy").
func Script(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o755)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
