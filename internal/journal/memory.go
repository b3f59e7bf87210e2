package journal

import (
	"bytes"
	"compress/flate"
	"io"
)

// memory holds a compressed copy of a journal's bytes, so that the file can be written again after any change by
// another process. The zero value is ready for use.
type memory struct {
	text bytes.Buffer
	to   *flate.Writer // to text; nil before the first bytes
}

// Write adds bytes. It always succeeds.
func (m *memory) Write(b []byte) (int, error) {
	if m.to == nil {
		m.to, _ = flate.NewWriter(&m.text, flate.BestSpeed) // an error means an invalid level
	}
	return m.to.Write(b) // a bytes.Buffer takes every write
}

// copyTo writes the first n bytes to w. There must be as many.
func (m *memory) copyTo(w io.Writer, n int64) error {
	if n == 0 {
		return nil
	}
	if err := m.to.Flush(); err != nil {
		return err
	}
	_, err := io.CopyN(w, flate.NewReader(bytes.NewReader(m.text.Bytes())), n)
	return err
}
