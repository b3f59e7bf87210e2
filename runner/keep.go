package runner

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"wavex/internal/wary"
)

// This file writes the files of an attempt, readable by the owner alone and without secrets.

// Redactor removes secrets from the files of an attempt. It must be safe for concurrent use.
type Redactor interface {
	// Bytes returns b without secrets; it does not change b.
	Bytes(b []byte) []byte
	// Writer returns a writer that passes whole lines on to w, without secrets. Close writes the
	// rest and does not close w.
	Writer(w io.Writer) io.WriteCloser
}

// clean returns text without secrets.
func (a *Agent) clean(text string) string {
	if a.Secrets == nil || text == "" {
		return text
	}
	return string(a.Secrets.Bytes([]byte(text)))
}

// record is a log file that is written while an attempt runs.
type record struct {
	io.Writer
	file  *os.File
	clean io.Closer // nil: secrets are not removed
}

// create creates a record.
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

// flush writes the buffered rest and returns the path of the file.
func (r *record) flush() string {
	if r.clean != nil {
		_ = r.clean.Close() // the file is an excerpt for people; the next write returns the error
	}
	return r.file.Name()
}

func (r *record) close() {
	_ = r.flush()
	_ = r.file.Close() // the writes have returned its errors
}

// keep writes a whole file.
func (a *Agent) keep(path string, data []byte) error {
	if a.Secrets != nil {
		data = a.Secrets.Bytes(data)
	}
	return wary.Write(path, data, 0o600)
}

// keepJSON writes a value as JSON. It creates the folder, which a command task may not have yet.
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
