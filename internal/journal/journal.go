// Package journal is an append-only log of JSON records, one a line, that survives
// being killed at any byte. It knows nothing of what the records say.
//
// The first line names the format and its version; a journal of another version is
// refused and left alone. Each record ends with a CRC-32C of what stands before it,
// so that damage in the middle is found and named. A last line without its newline
// was never acknowledged and is cut off; anything else that is unreadable is an
// error that names the line, never a silent loss.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Version is the journal format that this package reads and writes.
const Version = 1

const header = `{"journal":"wavex","version":`

// VersionError says that a journal was written by another version of wavex.
type VersionError struct {
	Path  string
	Found string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has journal version %s; this wavex reads version %d: use the wavex that wrote it, or start over with --fresh (which moves it aside)", e.Path, e.Found, Version)
}

// CorruptError names the first unreadable record.
type CorruptError struct {
	Path   string
	Line   int // from 1
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s:%d: %s: the journal is damaged; restore it from a copy, or start over with --fresh (which moves it aside)", e.Path, e.Line, e.Reason)
}

// WriteError says that a record could not be made durable (a full disk, a read-only
// folder). Nothing may be done on the strength of that record.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("writing %s: %v", e.Path, e.Err) }

// Unwrap gives the system's error.
func (e *WriteError) Unwrap() error { return e.Err }

// checksum is CRC-32C. The standard library makes its table once, when it is first asked for.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Log is an open journal. It is not safe for concurrent use.
type Log struct {
	path   string
	f      *os.File
	buf    []byte
	size   int64 // bytes written
	safe   int64 // of those, durable
	broken error // the first write error; nothing is written after it

	known  os.FileInfo // of f
	amends int         // see Restored
}

// Open opens or creates the journal at path and gives its records, oldest first. The
// caller holds the run lock. A torn tail is cut off.
func Open(path string) (*Log, [][]byte, error) {
	if err := readable(path); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, &WriteError{path, err}
	}
	records, size, err := scan(path, f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	l := &Log{path: path, f: f, size: size, safe: size}
	if l.known, err = f.Stat(); err != nil {
		f.Close()
		return nil, nil, &WriteError{path, err}
	}
	if err := l.prepare(); err != nil {
		f.Close()
		return nil, nil, err
	}
	return l, records, nil
}

// prepare cuts the torn tail off and writes the header of a new journal.
func (l *Log) prepare() error {
	if err := l.f.Truncate(l.size); err != nil {
		return &WriteError{l.path, err}
	}
	if _, err := l.f.Seek(l.size, io.SeekStart); err != nil {
		return &WriteError{l.path, err}
	}
	if l.size > 0 {
		return nil
	}
	l.buf = fmt.Appendf(l.buf, "%s%d}\n", header, Version)
	if err := l.Sync(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
}

// Read gives the records of a journal without opening it for writing; a torn tail is
// ignored. A journal that is not there has no records.
func Read(path string) ([][]byte, error) {
	if err := readable(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, _, err := scan(path, f)
	return records, err
}

// scan reads the whole journal: its records and where the last whole one ends.
func scan(path string, f *os.File) (records [][]byte, size int64, err error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", path, err)
	}
	for line := 1; ; line++ {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return records, size, nil
		}
		text := data[:i]
		data = data[i+1:]
		if line == 1 {
			if err := checkHeader(path, text); err != nil {
				return nil, 0, err
			}
		} else {
			rec, reason := open(text)
			if reason != "" {
				return nil, 0, &CorruptError{path, line, reason}
			}
			records = append(records, rec)
		}
		size += int64(i) + 1
	}
}

func checkHeader(path string, text []byte) error {
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok {
		return &CorruptError{path, 1, "not a wavex journal"}
	}
	v, _ := bytes.CutSuffix(rest, []byte("}"))
	if string(v) != strconv.Itoa(Version) {
		return &VersionError{path, string(v)}
	}
	return nil
}

const sumMark = `,"crc":"`
const sumLen = len(sumMark) + 8 + len(`"}`)

// seal turns a JSON object into a line: the checksum is its last member.
func seal(buf, object []byte) ([]byte, error) {
	if len(object) < 3 || object[0] != '{' || object[len(object)-1] != '}' || bytes.IndexByte(object, '\n') >= 0 {
		return buf, errors.New("a journal record must be a JSON object on one line")
	}
	body := object[:len(object)-1]
	buf = append(buf, body...)
	return fmt.Appendf(buf, "%s%08x\"}\n", sumMark, checksum(body)), nil
}

// open takes a line apart again; reason says why it cannot.
func open(line []byte) (object []byte, reason string) {
	n := len(line) - sumLen
	if n < 2 || !bytes.HasPrefix(line[n:], []byte(sumMark)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, "no whole record"
	}
	// As text, because a digit may be flipped into its own upper case.
	if want := fmt.Sprintf("%08x", checksum(line[:n])); string(line[n+len(sumMark):len(line)-2]) != want {
		return nil, "checksum does not match"
	}
	return append(bytes.Clone(line[:n]), '}'), ""
}

// Append adds a record, a JSON object, to what the next Write or Sync writes.
func (l *Log) Append(object []byte) error {
	if l.broken != nil {
		return l.broken
	}
	buf, err := seal(l.buf, object)
	if err != nil {
		return err
	}
	l.buf = buf
	return nil
}

// Write writes everything appended, with one write. It survives the end of this process
// then, however that comes, but not yet a failure of the machine. After an error the log
// takes nothing more: what is on disk is cut back to what was durable.
func (l *Log) Write() error {
	if l.broken != nil || len(l.buf) == 0 {
		return l.broken
	}
	if err := l.hold(); err != nil {
		return l.fail(err)
	}
	if _, err := l.f.Write(l.buf); err != nil {
		return l.fail(err)
	}
	l.size += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

// Sync is Write, and makes all that was written durable.
func (l *Log) Sync() error {
	if err := l.Write(); err != nil || l.safe == l.size {
		return err
	}
	if err := l.f.Sync(); err != nil {
		return l.fail(err)
	}
	l.safe = l.size
	return nil
}

func (l *Log) fail(err error) error {
	l.broken = &WriteError{l.path, err}
	_ = l.f.Truncate(l.safe)
	return l.broken
}

// Close closes the file. What was not synced is not written.
func (l *Log) Close() error { return l.f.Close() }

// Sound tells whether each whole line of a piece of a journal, which begins with a record, is
// one; a last line without its newline may still be written.
func Sound(piece []byte) bool {
	for line := range bytes.Lines(piece) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			return true
		}
		if _, reason := open(text); reason != "" {
			return false
		}
	}
	return true
}
