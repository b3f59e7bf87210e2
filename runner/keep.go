package runner

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"wavex/internal/wary"
)

// This file writes what is kept of an attempt: readable by the owner alone, and without
// secrets. It does not know what the files hold.

// Redactor takes secrets out of what is kept. Its methods may be called from many
// goroutines at once.
type Redactor interface {
	// Bytes returns b without secrets; it does not change b.
	Bytes(b []byte) []byte
	// Writer passes on to w what is written, without secrets, whole lines at once.
	// Close writes the rest and does not close w.
	Writer(w io.Writer) io.WriteCloser
}

// clean is a text without secrets.
func (a *Agent) clean(text string) string {
	if a.Secrets == nil || text == "" {
		return text
	}
	return string(a.Secrets.Bytes([]byte(text)))
}

// record is a file that is written as things happen.
type record struct {
	io.Writer
	file  *os.File
	clean io.Closer // nil: nothing is taken out
}

// create opens a record.
func (a *Agent) create(dir, name string) (*record, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := wary.Create(filepath.Join(dir, name), 0o600)
	if err != nil {
		return nil, err
	}
	r := &record{Writer: f, file: f}
	if a.Secrets != nil {
		w := a.Secrets.Writer(f)
		r.Writer, r.clean = w, w
	}
	return r, nil
}

// flush writes what was held back, and returns the path of the file.
func (r *record) flush() string {
	if r.clean != nil {
		_ = r.clean.Close() // of an excerpt for people; the next write tells
	}
	return r.file.Name()
}

func (r *record) close() {
	_ = r.flush()
	_ = r.file.Close() // its errors were seen by the writes
}

// keep writes a whole file.
func (a *Agent) keep(path string, data []byte) error {
	if a.Secrets != nil {
		data = a.Secrets.Bytes(data)
	}
	return wary.Write(path, data, 0o600)
}

// keepJSON writes a value, and makes the folder of a command task that has none yet.
func (a *Agent) keepJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return a.keep(path, append(data, '\n'))
}
