// Package journal is an append-only log of JSON records, one per line, that survives a kill at any
// byte. It does not interpret the records.
//
// The first line names the format and its version; a journal of another version is refused and not
// changed. Each record ends with a CRC-32C of the preceding bytes of its line, so that damage in
// the middle is detected and located. A last line without a newline was never acknowledged and is
// cut off. Any other unreadable line is an error that names the line.
package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"wavex/internal/safefile"
)

// Version is the journal format that this package reads and writes.
const Version = 1

const header = `{"journal":"wavex","version":`

// VersionError means that another version of wavex wrote the journal.
type VersionError struct {
	Path  string
	Found string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf(
		"%s has journal version %s; this wavex reads version %d: use the wavex that wrote it, or start over with --fresh (which moves it aside)", e.Path, e.Found, Version)
}

// CorruptError names the first unreadable record.
type CorruptError struct {
	Path   string
	Line   int // from 1
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf(
		"%s:%d: %s: the journal is damaged; restore it from a copy, or start over with --fresh (which moves it aside)",
		e.Path, e.Line, e.Reason)
}

// WriteError means that a record could not be made durable (a full disk, a read-only folder). The
// caller must not act on that record.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("writing %s: %v", e.Path, e.Err) }

// Unwrap returns the system's error.
func (e *WriteError) Unwrap() error { return e.Err }

// checksum returns the CRC-32C. The standard library builds its table on first use.
func checksum(b []byte) uint32 { return addSum(0, b) }

// addSum returns the CRC-32C of bytes whose own is sum, and of b behind them.
func addSum(sum uint32, b []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), b)
}

// Log is an open journal. It is not safe for concurrent use.
type Log struct {
	path     string
	f        *os.File
	buf      []byte
	size     int64  // bytes written
	sum      uint32 // CRC-32C of these bytes
	synced   int64  // bytes that are durable
	writeErr error  // the first write error; later writes return it

	info     os.FileInfo // of f, after the last write
	memory   memory      // of the bytes written
	project  project     // the directory that holds the journal's directory
	restored int         // see Restored
}

// Open opens or creates the journal at path and returns its records, oldest first. The caller must
// hold the run lock. Open cuts off a torn tail.
func Open(path string) (*Log, [][]byte, error) {
	if err := checkRegular(path); errors.Is(err, safefile.ErrLink) {
		return nil, nil, err
	} else if err != nil {
		return nil, nil, notRegular(path)
	}
	f, err := safefile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, &WriteError{path, err}
	}
	l := &Log{path: path, f: f, project: openProject(filepath.Dir(filepath.Dir(path)))}
	records, err := l.prepare()
	if err != nil {
		_ = l.Close() // nothing was written
		return nil, nil, err
	}
	return l, records, nil
}

// prepare reads the records, cuts off the torn tail, and writes the header of a new journal.
func (l *Log) prepare() ([][]byte, error) {
	in := Follow(l.path)
	records, err := in.read(l.f)
	if err != nil {
		return nil, err
	}
	l.sum, l.size, l.synced = in.sum, in.at, in.at
	err = l.f.Truncate(l.size)
	if err == nil {
		_, err = l.f.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(&l.memory, l.f)
	}
	if err == nil {
		l.info, err = l.f.Stat()
	}
	if err != nil {
		return nil, &WriteError{l.path, err}
	}
	if l.size > 0 {
		return records, nil
	}
	l.buf = fmt.Appendf(l.buf, "%s%d}\n", header, Version)
	if err := l.Sync(); err != nil {
		return nil, err
	}
	return nil, safefile.SyncDir(filepath.Dir(l.path))
}

// Read returns the records of a journal without opening it for writing. It ignores a torn tail. A
// missing journal has no records.
func Read(path string) ([][]byte, error) {
	records, _, err := Follow(path).Next()
	if err != nil {
		return nil, err
	}
	return records, nil
}

const notJournal = "not a wavex journal"

// isHeaderPart reports whether a first line without its end can be that of a journal. A file that was cut to nothing
// under its writer begins with zeros.
func isHeaderPart(text []byte) bool {
	return bytes.HasPrefix(text, []byte(header)) || bytes.HasPrefix([]byte(header), text)
}

func checkHeader(path string, text []byte) error {
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok {
		return &CorruptError{path, 1, notJournal}
	}
	v, _ := bytes.CutSuffix(rest, []byte("}"))
	if string(v) != strconv.Itoa(Version) {
		return &VersionError{path, string(v)}
	}
	return nil
}

const checksumMark = `,"crc":"`
const checksumLen = len(checksumMark) + 8 + len(`"}`)

// encodeLine converts a JSON object into a line: it adds the checksum as the last member.
func encodeLine(buf, object []byte) ([]byte, error) {
	if len(object) < 3 || object[0] != '{' || object[len(object)-1] != '}' || bytes.ContainsRune(object, '\n') {
		return nil, errors.New("a journal record must be a JSON object on one line")
	}
	body := object[:len(object)-1]
	buf = append(buf, body...)
	return fmt.Appendf(buf, "%s%08x\"}\n", checksumMark, checksum(body)), nil
}

// decodeLine is the inverse of encodeLine; reason says why it fails.
func decodeLine(line []byte) (object []byte, reason string) {
	if reason := checkLine(line); reason != "" {
		return nil, reason
	}
	return objectOf(line), ""
}

// checkLine returns the fault of a line; "" if it is a record.
func checkLine(line []byte) (reason string) {
	n := len(line) - checksumLen
	if n < 2 || !bytes.HasPrefix(line[n:], []byte(checksumMark)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return "no whole record"
	}
	// Compare as text, because a flipped bit may change only the case of a digit.
	sum := binary.BigEndian.AppendUint32(nil, checksum(line[:n]))
	if string(hex.AppendEncode(nil, sum)) != string(line[n+len(checksumMark):len(line)-2]) {
		return "checksum does not match"
	}
	return ""
}

// objectOf returns a copy of the object in a line that checkLine accepts.
func objectOf(line []byte) []byte { return append(bytes.Clone(line[:len(line)-checksumLen]), '}') }

// Append adds a record, a JSON object, to the buffer of the next Write or Sync.
func (l *Log) Append(object []byte) error {
	if l.writeErr != nil {
		return l.writeErr
	}
	buf, err := encodeLine(l.buf, object)
	if err != nil {
		return err
	}
	l.buf = buf
	return nil
}

// Write writes the buffer with a single write. The records then survive the end of this process,
// but not a failure of the machine. After an error the log accepts no further records, and the file
// is cut back to its durable part.
func (l *Log) Write() error {
	if l.writeErr != nil || len(l.buf) == 0 {
		return l.writeErr
	}
	if err := l.ensureIntact(); err != nil {
		return l.fail(err)
	}
	if _, err := l.f.Write(l.buf); err != nil {
		return l.fail(err)
	}
	l.size += int64(len(l.buf))
	l.sum = addSum(l.sum, l.buf)
	_, _ = l.memory.Write(l.buf) // always succeeds
	l.buf = l.buf[:0]
	return l.noteFile()
}

// Sync calls Write and makes all written records durable.
func (l *Log) Sync() error {
	if err := l.Write(); err != nil || l.synced == l.size {
		return err
	}
	if err := l.f.Sync(); err != nil {
		return l.fail(err)
	}
	l.synced = l.size
	return nil
}

func (l *Log) fail(err error) error {
	l.writeErr = &WriteError{l.path, err}
	if now, serr := l.f.Stat(); serr == nil && now.Size() > l.synced {
		_ = l.f.Truncate(l.synced) // a longer file would be filled with zeros
	}
	return l.writeErr
}

// Moved returns nil if the directory that holds the journal's directory still has its path. It may be called from any
// goroutine.
func (l *Log) Moved() *MovedError { return l.project.moved() }

// Close closes the file. It does not write the buffer.
func (l *Log) Close() error {
	l.project.close()
	return l.f.Close()
}

// Valid reports whether each whole line of a part of a journal is a valid record. The part must
// begin with a record. A last line without a newline is ignored, because it may be incomplete.
func Valid(piece []byte) bool {
	for line := range bytes.Lines(piece) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			return true
		}
		if _, reason := decodeLine(text); reason != "" {
			return false
		}
	}
	return true
}
