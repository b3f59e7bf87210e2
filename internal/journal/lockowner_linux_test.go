package journal

import (
	"slices"
	"testing"
)

// Only processes that hold the lock of the file exclusively are its owners: no reader, no process that
// waits, no lock of another kind or file, and none that the kernel does not name.
func TestOwners(t *testing.T) {
	t.Parallel()
	const locks = `1: FLOCK  ADVISORY  WRITE 1 08:01:1234 0 EOF
2: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF
2: -> FLOCK  ADVISORY  WRITE 12 fe:01:1234 0 EOF
3: POSIX  ADVISORY  WRITE 13 08:01:1234 0 EOF
4: FLOCK  ADVISORY  READ 14 08:01:1234 0 EOF
5: FLOCK  ADVISORY  WRITE 15 08:01:91234 0 EOF
6: FLOCK  ADVISORY  WRITE -1 08:01:1234 0 EOF
7: FLOCK  ADVISORY  WRITE 16
8: POSIX  ADVISORY  WRITE

9: FLOCK  ADVISORY  WRITE 0 08:01:1234 0 EOF
10: OFDLCK ADVISORY  READ 17 08:01:1234 0 EOF
`
	if got, want := owners(locks, 1234), []int{1, 4711}; !slices.Equal(got, want) {
		t.Errorf("owners %d, want %d", got, want)
	}
}
