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
)

// Named pipes in place of the card or the tally block neither a hook nor the run that writes the
// card.
func TestPipesForHooks(t *testing.T) {
	t.Parallel()
	folder := loop.Dir(t.TempDir())
	if err := unix.Mkfifo(folder.Path(loop.HookSnapshot), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSnapshot(folder.Path(loop.HookSnapshot)); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("the card: %v", err)
	}
	if err := unix.Mkfifo(folder.Path(loop.HookSnapshot+".next"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSnapshot(folder.Path(loop.HookSnapshot), Snapshot{}, nil); err != nil {
		t.Errorf("the card is not written: %v", err)
	}
	count := streakPath(folder, "s")
	if err := errors.Join(os.Mkdir(filepath.Dir(count), 0o700), unix.Mkfifo(count, 0o600)); err != nil {
		t.Fatal(err)
	}
	if n, ok := CountStreak(Input{Session: "s"}, Run{Loop: folder}); n != 0 || !ok {
		t.Errorf("it was counted: %d, %v", n, ok)
	}
}
