package journal

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Follower reads a journal piece by piece while another process writes it. It keeps no file open.
// It is not safe for concurrent use.
type Follower struct {
	path string
	file fs.FileInfo // as last seen; nil before the first call
	at   int64       // offset of the next line
	line int         // number of lines read
	sum  uint32      // CRC-32C of these lines
}

// Follow returns a Follower from the beginning of the journal at path. The file need not exist yet.
func Follow(path string) *Follower { return &Follower{path: path} }

// Next returns the records that were completed since the last call, oldest first. fresh reports
// that the journal is a new file (the first one, or one that replaces a journal that was moved
// aside), and that the records are its first ones. A missing journal has no records.
func (f *Follower) Next() (records [][]byte, fresh bool, err error) {
	in, err := openRead(f.path)
	if in == nil {
		return nil, false, err
	}
	defer func() { _ = in.Close() }() // read only
	info, err := in.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("looking at %s: %w", f.path, err)
	}
	if !os.SameFile(f.file, info) || info.Size() < f.at {
		f.at, f.line, fresh = 0, 0, true
		f.sum = 0
	}
	f.file = info
	records, err = f.read(in)
	return records, fresh, err
}

// read returns the records of the whole lines from f.at on, and moves f behind them. If it returns an
// error, it also returns the records before the fault.
func (f *Follower) read(in io.ReadSeeker) (records [][]byte, err error) {
	if _, err := in.Seek(f.at, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, err)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, err)
	}
	all, from := data, f.at
	defer func() { f.sum = addSum(f.sum, all[:f.at-from]) }()
	for {
		text, rest, whole := bytes.Cut(data, []byte{'\n'})
		switch {
		case whole:
		case f.line == 0 && !isHeaderPart(text):
			return nil, &CorruptError{f.path, 1, notJournal}
		default:
			return records, nil
		}
		if f.line == 0 {
			if err := checkHeader(f.path, text); err != nil {
				return nil, err
			}
		} else {
			rec, reason := decodeLine(text)
			if reason != "" {
				return records, &CorruptError{f.path, f.line + 1, reason}
			}
			records = append(records, rec)
		}
		f.line++
		f.at += int64(len(text)) + 1
		data = rest
	}
}
