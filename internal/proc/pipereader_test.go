//go:build unix

package proc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPipeReaderLosesNothing writes as a child would and ends at a drawn moment, with or without
// another holder of the pipe, and with an early, late or slow reader. Every byte arrives, once
// and in order.
func TestPipeReaderLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		held := rapid.Bool().Draw(t, "held")
		cut := rapid.Bool().Draw(t, "cut")
		before := rapid.IntRange(0, 5).Draw(t, "reads before the end")
		size := rapid.IntRange(1, 5000).Draw(t, "size of a read")
		want := rapid.SliceOfN(rapid.Byte(), 0, 20000).Draw(t, "output") // fits into the pipe
		o := newPipeReader(r)
		if _, err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		var got []byte
		read := func() error {
			b := make([]byte, size)
			n, err := o.Read(b)
			got = append(got, b[:n]...)
			return err
		}
		for i := 0; i < before && len(got) < len(want); i++ {
			if err := read(); err != nil {
				t.Fatal(err)
			}
		}
		if !held {
			_ = w.Close()
		}
		stop := make(chan struct{})
		if cut {
			close(stop)
		}
		settled := make(chan struct{})
		go func() {
			defer close(settled)
			o.drain(time.Now().Add(2*time.Millisecond), stop, func() {})
		}()
		if rapid.Bool().Draw(t, "late") {
			<-settled
		}
		for err = nil; err == nil; {
			err = read()
		}
		<-settled
		if err != io.EOF || !bytes.Equal(got, want) {
			t.Fatalf("%v after %d bytes, want io.EOF after %d", err, len(got), len(want))
		}
		// The test cannot find out by writing: a process that another test just started holds a
		// copy of our end until its exec, and the write would succeed.
		if _, err := r.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Fatalf("our end of the pipe is still open: %v", err)
		}
		if held {
			_ = w.Close()
		}
	})
}

// TestPipeReaderAtTheDeadline starts a reader after the deadline, before settle looks.
func TestPipeReaderAtTheDeadline(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must(t, err)
	defer w.Close()
	if _, err := w.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	o := newPipeReader(r)
	must(t, r.SetReadDeadline(time.Now()))
	if b, err := io.ReadAll(o); string(b) != "last words" || err != nil {
		t.Errorf("%q %v", b, err)
	}
}

// TestPipeReaderIgnoresOtherWriters shows that a process that writes on after the child's exit does not
// delay the end.
func TestPipeReaderIgnoresOtherWriters(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must(t, err)
	chat := make(chan struct{})
	go func() {
		defer close(chat)
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 4096)) // until the pipe is closed
		}
		_ = w.Close()
	}()
	o := newPipeReader(r)
	first := make([]byte, 1)
	if _, err := o.Read(first); err != nil {
		t.Fatal(err)
	}
	o.drain(time.Now(), nil, func() {})
	if n, err := io.Copy(io.Discard, o); err != nil || n > 1<<20 {
		t.Errorf("%d bytes held in memory, %v", n, err)
	}
	<-chat
}
