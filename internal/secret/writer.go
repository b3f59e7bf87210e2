package secret

import (
	"bytes"
	"io"
)

// Limits of the bytes that a Writer holds back.
const (
	maxPending = 64 << 10 // of a line without end
	overlap    = 8 << 10  // of it that is kept back: longer than any secret except a key file
)

// writer passes on whole lines as soon as they end. It holds back a possible start of a secret in an
// unfinished line.
type writer struct {
	r       *Redactor
	w       io.Writer
	pending []byte
	out     []byte // reused
}

// Writer returns a writer that passes its input on to w, without its secrets. It writes whole
// lines at once. Close writes the rest and does not close w. It is for one goroutine. The Write
// that meets an error of w returns it.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	if r == nil {
		return nopCloser{w}
	}
	return &writer{r: r, w: w}
}

func (w *writer) Write(b []byte) (int, error) {
	data := b
	if len(w.pending) > 0 {
		w.pending = append(w.pending, b...)
		data = w.pending
	}
	cut := bytes.LastIndexByte(data, '\n') + 1
	if begun := bytes.LastIndex(data[:cut], []byte("-----BEGIN ")); begun >= 0 && len(data)-begun < maxPending &&
		!bytes.Contains(data[begun:cut], []byte("-----END ")) {
		cut = begun // a key file has several lines
	}
	if len(data)-cut > maxPending {
		cut = len(data) - overlap
	}
	rest, err := w.writeUpTo(data, cut)
	w.pending = append(w.pending[:0], rest...)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// writeUpTo writes data[:cut], and a secret that crosses the cut as a whole. It returns the bytes to
// hold back.
func (w *writer) writeUpTo(data []byte, cut int) ([]byte, error) {
	if cut == 0 {
		return data, nil
	}
	found := w.r.find(data)
	n := 0
	for _, s := range found {
		if s.from >= cut {
			break
		}
		cut = max(cut, s.to)
		n++
	}
	if n == 0 {
		_, err := w.w.Write(data[:cut])
		return data[cut:], err
	}
	w.out = replace(w.out[:0], data[:cut], found[:n])
	_, err := w.w.Write(w.out)
	return data[cut:], err
}

func (w *writer) Close() error {
	if len(w.pending) == 0 {
		return nil
	}
	_, err := w.writeUpTo(w.pending, len(w.pending))
	w.pending = nil
	return err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
