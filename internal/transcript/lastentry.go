package transcript

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"
)

// tailSize is the number of bytes at a file's end that ReadTail reads.
const tailSize = 64 << 10

// LastEntry returns the last action or words of an agent in the end of a stream: a tool call, words, a retry. ok is
// false if it has none.
func LastEntry(tail []byte) (last Entry, ok bool) {
	for e := range Entries(tail) {
		switch e.Kind {
		case Tool, Text, Retry, End, Limit:
			last, ok = e, true
		}
	}
	return last, ok
}

// Entries returns the entries in a stream, or in the end of one. It leaves out a last line that is still being written.
func Entries(text []byte) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var r Reader
		for line := range bytes.Lines(text) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				return
			}
			for _, e := range r.Line(line) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// ReadTail returns the last 64 KB of a file that may still grow, from the start of a line on, and the time when the
// file last grew.
func ReadTail(files fs.FS, name string) (tail []byte, grown time.Time, err error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, grown, err
	}
	defer func() { _ = file.Close() }() // opened only for reading
	info, err := file.Stat()
	if err != nil {
		return nil, grown, err
	}
	in, ok := file.(io.ReaderAt)
	if !ok {
		return nil, grown, fmt.Errorf("%s is no file", name)
	}
	from := max(info.Size()-tailSize, 0)
	buf := make([]byte, info.Size()-from)
	n, _ := in.ReadAt(buf, from) // a file that was cut meanwhile is read as far as possible
	buf = buf[:n]
	if from > 0 { // the first line is most likely incomplete
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			buf = buf[i+1:]
		}
	}
	return buf, info.ModTime(), nil
}
