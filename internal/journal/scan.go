package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Select returns the records of a journal whose text wanted accepts, oldest first. It reads the journal in pieces and
// checks every line, and keeps no other record. wanted must not keep the text. A missing journal has no records, and a
// torn tail is ignored.
func Select(path string, wanted func(text []byte) bool) (records [][]byte, err error) {
	in, err := openRead(path)
	if in == nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // read only
	from := bufio.NewReaderSize(in, 256<<10)
	var long []byte // the beginning of a line that is longer than the buffer
	for line := 0; ; {
		text, err := from.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, text...)
			continue
		case errors.Is(err, io.EOF):
			if line == 0 && !isHeaderPart(append(long, text...)) {
				return nil, &CorruptError{path, 1, notJournal}
			}
			return records, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if len(long) > 0 {
			text = append(long, text...)
			long = text[:0]
		}
		text = text[:len(text)-1]
		if line++; line == 1 {
			if err := checkHeader(path, text); err != nil {
				return nil, err
			}
			continue
		}
		if reason := checkLine(text); reason != "" {
			return nil, &CorruptError{path, line, reason}
		}
		if wanted(text) {
			records = append(records, objectOf(text))
		}
	}
}
