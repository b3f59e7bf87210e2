package journal

import (
	"bytes"
	"fmt"
	"io"
)

// Last returns the last whole record of a journal. It reads at most the last n bytes. It returns
// nil if there is no record or no journal, or if the record is longer than n. Like Read, it ignores
// a torn tail. It does not check the bytes before the record.
func Last(path string, n int64) ([]byte, error) {
	f, err := openRead(path)
	if f == nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil {
		_, err = f.Seek(max(0, st.Size()-n), io.SeekStart)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(f)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	end := bytes.LastIndexByte(data, '\n')
	if end < 0 {
		return nil, nil
	}
	begin := bytes.LastIndexByte(data[:end], '\n')
	if begin < 0 {
		return nil, nil // the header, or the end of a longer record
	}
	rec, reason := decodeLine(data[begin+1 : end])
	if reason != "" {
		return nil, fmt.Errorf("%s: the last record: %s", path, reason)
	}
	return rec, nil
}
