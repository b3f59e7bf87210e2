package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/safefile"
)

// This file writes the log files of attempts. A process may print without end, so a file keeps the head and
// the tail of its input.

// LogFile is a log file that is written while an attempt runs.
type LogFile struct {
	io.Writer
	file     boundedFile
	redactor io.Closer // nil: secrets are not removed
}

// CreateLog creates a log file, and the folder if it is missing. A log over 16 MB keeps its head, a line that
// says how much is left out, and its tail.
func (h *Host) CreateLog(dir, name string) (*LogFile, error) {
	if err := safefile.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := safefile.Create(filepath.Join(dir, name), 0o600)
	if err != nil {
		return nil, err
	}
	r := &LogFile{file: boundedFile{File: f}}
	r.Writer = &r.file
	if h.Redactor != nil {
		w := h.Redactor.Writer(&r.file)
		r.Writer, r.redactor = w, w
	}
	return r, nil
}

// Flush writes the buffered rest and returns the path of the file.
func (r *LogFile) Flush() string {
	if r.redactor != nil {
		_ = r.redactor.Close() // the file is an excerpt for people; the next write returns the error
	}
	return r.file.Name()
}

// Close writes the buffered rest and closes the file.
func (r *LogFile) Close() {
	_ = r.Flush()
	_ = r.file.Close() // the writes have returned its errors
}

// maxLog bounds a log file, in bytes: half of it for the head, at least a quarter for the tail.
const maxLog = 16 << 20

// lineRoom is the distance, in bytes, by which a cut moves to the end of a line. Longer lines are cut.
const lineRoom = 256 << 10

// omission is the line between head and tail. The line end before it ends a head of one long line.
const omission = "\n... %d bytes left out ...\n"

// IsOmission reports whether a line of a log file stands for bytes that were left out.
func IsOmission(line []byte) bool {
	before, after, _ := strings.Cut(strings.TrimSpace(omission), "%d")
	return bytes.HasPrefix(line, []byte(before)) && bytes.HasSuffix(line, []byte(after))
}

// errReplaced reports that another file lies in the place of a log file.
var errReplaced = errors.New("it was replaced by another file")

// boundedFile is a file that drops the middle of its content when it reaches maxLog. It overwrites that part in
// place, so that head and tail survive a wavex that is killed.
type boundedFile struct {
	*os.File
	size    int64 // of the file, in bytes
	head    int64 // length of the head; 0: nothing is left out yet
	tail    int64 // where the tail begins
	omitted int64 // bytes left out
}

func (f *boundedFile) Write(b []byte) (written int, err error) {
	for piece := range slices.Chunk(b, maxLog/8) { // omit needs a full head, and makes room for a piece
		if f.size+int64(len(piece)) > maxLog {
			if err := f.omit(); err != nil {
				return written, err
			}
		}
		n, err := f.File.Write(piece)
		f.size += int64(n)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// omit drops the part between the head and the last quarter of maxLog.
func (f *boundedFile) omit() error {
	in, err := safefile.Open(f.Name())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // read only
	opened, err1 := in.Stat()
	created, err2 := f.Stat()
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(opened, created) {
		return errors.Join(err, &fs.PathError{Op: "read", Path: f.Name(), Err: errReplaced})
	}
	near := make([]byte, lineRoom)
	if f.head == 0 {
		if _, err := in.ReadAt(near, maxLog/2-lineRoom); err != nil {
			return err
		}
		f.head = maxLog / 2
		if end := bytes.LastIndexByte(near, '\n') + 1; end > 0 {
			f.head -= int64(lineRoom - end)
		}
		f.tail = f.head
	}
	from := f.size - maxLog/4
	if _, err := in.ReadAt(near, from); err != nil {
		return err
	}
	from += int64(bytes.IndexByte(near, '\n') + 1)
	f.omitted += from - f.tail
	out := io.NewOffsetWriter(f.File, f.head)
	if _, err := fmt.Fprintf(out, omission, f.omitted); err != nil {
		return err
	}
	mark, _ := out.Seek(0, io.SeekCurrent) // cannot fail
	f.tail = f.head + mark
	// The source is megabytes ahead, so no part is overwritten before it is copied.
	n, err := io.Copy(out, io.NewSectionReader(in, from, f.size-from))
	if err != nil {
		return err
	}
	f.size = f.tail + n
	_, err = f.Seek(f.size, io.SeekStart)
	return errors.Join(err, f.Truncate(f.size))
}
