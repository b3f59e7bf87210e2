package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOutputEnds covers processes that close their output long before they exit, and that leave it to others.
func TestOutputEnds(t *testing.T) {
	t.Parallel()
	t.Run("output closed, still alive", func(t *testing.T) {
		t.Parallel()
		fifo := filepath.Join(t.TempDir(), "fifo")
		must(t, unix.Mkfifo(fifo, 0o600))
		var out bytes.Buffer
		p := start(t, Spec{Argv: Shell("echo last; exec >/dev/null 2>&1; read x < '" + fifo + "'; exit 4"), Combined: &out})
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the reader, whose output is closed
		must(t, err)
		select {
		case <-p.Done():
			t.Error("done while it lives")
		default:
		}
		_ = w.Close()
		if e := p.Wait(); e.Code != 4 || out.String() != "last\n" {
			t.Errorf("%+v, %q", e, out.String())
		}
	})
	t.Run("output held by another", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		p := start(t, Spec{Argv: self(t, "blurt", "70000", "leave"), Combined: &out, Mark: mark("held")})
		if e := p.Wait(); e.Code != 0 || e.Swept != 1 || !e.Contained || out.Len() != 70000 {
			t.Errorf("%+v, %d bytes", e, out.Len())
		}
	})
}
