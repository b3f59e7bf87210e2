package transcript

import (
	"bytes"
	"io"
)

// tailSize is how much of a stream's end is looked at for its last sign of life.
const tailSize = 64 << 10

// Tail gives the last thing that an agent did or said in a stream of size bytes that
// may still grow: a tool call, words, a retry. ok is false when there is none among
// the last 64 KB.
func Tail(in io.ReaderAt, size int64) (last Entry, ok bool) {
	from := max(size-tailSize, 0)
	buf := make([]byte, size-from)
	n, _ := in.ReadAt(buf, from) // a stream that was cut meanwhile is read as far as it goes
	buf = buf[:n]
	if from > 0 { // the first line is most likely not whole
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			buf = buf[i+1:]
		}
	}
	var r Reader
	for line := range bytes.Lines(buf) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written
		}
		for _, e := range r.Line(line) {
			switch e.Kind {
			case Tool, Text, Retry, End, Limit:
				last, ok = e, true
			}
		}
	}
	return last, ok
}
