package journal

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
)

// Mark is a position in a journal: the end of its first records. Its checksum covers every byte before it, so that a
// file that was derived from these records can be told from one of other records.
type Mark struct {
	Records int
	Size    int64  // bytes, with the header
	CRC     uint32 // CRC-32C of these bytes
}

// add moves a mark behind whole lines.
func (m *Mark) add(lines []byte, records int) {
	m.Records += records
	m.Size += int64(len(lines))
	m.CRC = crc32.Update(m.CRC, crc32.MakeTable(crc32.Castagnoli), lines)
}

// Find reports whether the journal at path begins with the records of m, and whether it has more. It reads the whole
// file, in pieces, and does not decode it.
func (m Mark) Find(path string) (found, more bool, err error) {
	in, err := openRead(path)
	if in == nil {
		return false, false, err
	}
	defer func() { _ = in.Close() }() // read only
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.CopyN(sum, in, m.Size); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, false, err
	}
	if m.Size == 0 || sum.Sum32() != m.CRC {
		return false, false, nil
	}
	for rest := make([]byte, 64<<10); ; { // a torn line is no record
		n, err := in.Read(rest)
		if bytes.IndexByte(rest[:n], '\n') >= 0 {
			return true, true, nil
		}
		if errors.Is(err, io.EOF) {
			return true, false, nil
		}
		if err != nil {
			return false, false, err
		}
	}
}
