//go:build unix

package hook

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/wary"
)

// Named pipes in place of the card or the tally block neither a hook nor the run that writes the
// card.
func TestPipesForHooks(t *testing.T) {
	t.Parallel()
	loop := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(loop, cardFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readCard(filepath.Join(loop, cardFile)); !errors.Is(err, wary.ErrNoFile) {
		t.Errorf("the card: %v", err)
	}
	if err := unix.Mkfifo(filepath.Join(loop, cardFile+".next"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(filepath.Join(loop, cardFile), Card{}, nil); err != nil {
		t.Errorf("the card is not written: %v", err)
	}
	count := tallyPath(loop, "s")
	if err := errors.Join(os.Mkdir(filepath.Dir(count), 0o700), unix.Mkfifo(count, 0o600)); err != nil {
		t.Fatal(err)
	}
	if n, ok := Count(Input{Session: "s"}, Run{Loop: loop}); n != 0 || !ok {
		t.Errorf("it was counted: %d, %v", n, ok)
	}
}
