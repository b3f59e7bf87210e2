package runner

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"wavex/internal/safefile"
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

// redact returns text without secrets.
func (a *Agent) redact(text string) string {
	if a.Redactor == nil || text == "" {
		return text
	}
	return string(a.Redactor.Bytes([]byte(text)))
}

// logFile is a log file that is written while an attempt runs.
type logFile struct {
	io.Writer
	file     *os.File
	redactor io.Closer // nil: secrets are not removed
}

// createLog creates a record.
func (a *Agent) createLog(dir, name string) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := safefile.Create(filepath.Join(dir, name), 0o600)
	if err != nil {
		return nil, err
	}
	r := &logFile{Writer: f, file: f}
	if a.Redactor != nil {
		w := a.Redactor.Writer(f)
		r.Writer, r.redactor = w, w
	}
	return r, nil
}

// flush writes the buffered rest and returns the path of the file.
func (r *logFile) flush() string {
	if r.redactor != nil {
		_ = r.redactor.Close() // the file is an excerpt for people; the next write returns the error
	}
	return r.file.Name()
}

func (r *logFile) close() {
	_ = r.flush()
	_ = r.file.Close() // the writes have returned its errors
}

// writeFile writes a whole file.
func (a *Agent) writeFile(path string, data []byte) error {
	if a.Redactor != nil {
		data = a.Redactor.Bytes(data)
	}
	return safefile.Write(path, data, 0o600)
}

// writeJSON writes a value as JSON. It creates the folder, which a command task may not have yet.
func (a *Agent) writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return a.writeFile(path, append(data, '\n'))
}
