package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Last gives the last whole record of a journal, reading at most its last n bytes. It
// is nil when there is no record, no journal, or when the record is longer than n. A
// torn tail is ignored, as in Read; what stands before the record is not looked at.
func Last(path string, n int64) ([]byte, error) {
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
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, st.Size()-n)
	data, err := io.ReadAll(io.NewSectionReader(f, from, st.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	end := bytes.LastIndexByte(data, '\n')
	if end < 0 {
		return nil, nil
	}
	begin := bytes.LastIndexByte(data[:end], '\n')
	if begin < 0 {
		return nil, nil // the header, or a record of which this is only a part
	}
	rec, reason := open(data[begin+1 : end])
	if reason != "" {
		return nil, fmt.Errorf("%s: the last record: %s", path, reason)
	}
	return rec, nil
}
