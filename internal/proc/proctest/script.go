// Package proctest makes programs for tests to start. It starts no process.
package proctest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Script writes an executable file, and its folder if that is missing. No process is forked
// meanwhile: a child holds files that are open for writing until its own exec, and a script that
// is open for writing cannot be executed ("text file busy").
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
