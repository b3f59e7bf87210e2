//go:build unix

package testrepo

import (
	"testing"

	"golang.org/x/sys/unix"
)

// NamedPipe makes a named pipe without a writer: opening it for reading blocks for ever.
func NamedPipe(t testing.TB, path string) {
	t.Helper()
	Must(t, unix.Mkfifo(path, 0o600))
}
