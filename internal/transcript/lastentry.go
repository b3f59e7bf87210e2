package transcript

import (
	"bytes"
	"io"
)

// tailSize is the number of bytes at a stream's end that Tail reads.
const tailSize = 64 << 10

// LastEntry returns the last action or words of an agent in a stream of size bytes that may still grow:
// a tool call, words, a retry. ok is false if the last 64 KB have none.
func LastEntry(in io.ReaderAt, size int64) (last Entry, ok bool) {
	for _, e := range Tail(in, size) {
		switch e.Kind {
		case Tool, Text, Retry, End, Limit:
			last, ok = e, true
		}
	}
	return last, ok
}

// Tail returns the entries in the last 64 KB of a stream of size bytes that may still grow.
func Tail(in io.ReaderAt, size int64) (out []Entry) {
	var r Reader
	for line := range bytes.Lines(TailLines(in, size)) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		out = append(out, r.Line(line)...)
	}
	return out
}

// TailLines returns the last 64 KB of a file of size bytes, from the start of a line on.
func TailLines(in io.ReaderAt, size int64) []byte {
	from := max(size-tailSize, 0)
	buf := make([]byte, size-from)
	n, _ := in.ReadAt(buf, from) // a file that was cut meanwhile is read as far as possible
	buf = buf[:n]
	if from > 0 { // the first line is most likely incomplete
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			buf = buf[i+1:]
		}
	}
	return buf
}
