package worker

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wavex/internal/proc"
	"wavex/internal/testrepo"
)

// A worker ends the processes of an earlier one in its directory, and does not start beside another one.
func TestOwn(t *testing.T) {
	t.Parallel()
	dir, pipe := t.TempDir(), filepath.Join(t.TempDir(), "pipe")
	testrepo.NamedPipe(t, pipe)
	release, err := Own(t.Context(), dir, "worker@w1.1")
	testrepo.Must(t, err)
	if _, err := Own(t.Context(), dir, "worker@w1.2"); !errors.Is(err, ErrInUse) {
		t.Errorf("beside another worker: %v", err)
	}
	left := exec.CommandContext(t.Context(), "cat", pipe)
	left.Env = append(os.Environ(), proc.RunVar+"=worker@w1.1")
	testrepo.Must(t, left.Start())
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	release()
	release, err = Own(t.Context(), dir, "worker@w1.2")
	testrepo.Must(t, err)
	defer release()
	if err := <-ended; err == nil {
		t.Error("the process was not killed")
	}
}
