//go:build unix

package hook

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// Named pipes in place of the card or the tally block neither a hook nor the run that writes the
// card.
func TestPipesForHooks(t *testing.T) {
	t.Parallel()
	folder := loop.Dir(t.TempDir())
	testrepo.Must(t, unix.Mkfifo(folder.Path(loop.HookSnapshot), 0o600))
	if _, err := readSnapshot(folder.Path(loop.HookSnapshot)); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("the card: %v", err)
	}
	testrepo.Must(t, unix.Mkfifo(folder.Path(loop.HookSnapshot+".next"), 0o600))
	if err := writeSnapshot(folder.Path(loop.HookSnapshot), Snapshot{}, nil); err != nil {
		t.Errorf("the card is not written: %v", err)
	}
	count := streakPath(folder, "s")
	testrepo.Must(t, errors.Join(os.Mkdir(filepath.Dir(count), 0o700), unix.Mkfifo(count, 0o600)))
	if n, ok := CountStreak(Input{Session: "s"}, Run{Loop: folder}); n != 0 || !ok {
		t.Errorf("it was counted: %d, %v", n, ok)
	}
}
