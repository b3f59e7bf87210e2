package runner

import (
	"bytes"
	"io"
)

// Sizes of the stream reader, in bytes. A line up to chunkSize is looked at in
// place; a longer one is skipped or slimmed, never held whole.
const (
	chunkSize = 256 << 10
	slimMax   = 4 << 20 // of a slimmed line
)

// stream reads what the CLI prints: one JSON object a line, lines of any length. It
// knows where lines begin and end and which of them need looking at; what they say is
// digest's matter. It never stops before the end of its input, whatever the lines hold.
type stream struct {
	raw   io.Writer // receives every byte, before the line is looked at
	alive func()    // called after every read that brought something
	line  func(line []byte, cut bool)
	// rawErr is the first error of raw. Reading goes on without it: the attempt must
	// not fail for a full disk.
	rawErr error
}

// run reads to the end. Its error is the input's, io.EOF excepted.
func (s *stream) run(in io.Reader) error {
	buf := make([]byte, chunkSize)
	held := 0 // bytes of an unfinished line at the front of buf
	var long *slimmer
	skipping := false
	for {
		n, err := in.Read(buf[held:])
		if n > 0 {
			s.tee(buf[held : held+n])
			if s.alive != nil {
				s.alive()
			}
		}
		data := buf[:held+n]
		from := held // the bytes before it hold no line end
		for {
			i := bytes.IndexByte(data[from:], '\n')
			if i < 0 {
				break
			}
			line := data[:from+i]
			switch {
			case skipping:
				skipping = false
			case long != nil:
				long.feed(line)
				s.long(long)
				long = nil
			default:
				s.whole(line)
			}
			data, from = data[from+i+1:], 0
		}
		switch {
		case skipping:
			data = data[:0]
		case long != nil:
			long.feed(data)
			data = data[:0]
		case len(data) == len(buf): // a line longer than the buffer begins
			if kind, ok := sniff(data); ok && !wanted(kind) {
				skipping = true
			} else {
				long = &slimmer{}
				long.feed(data)
			}
			data = data[:0]
		}
		held = copy(buf, data)
		if err != nil {
			if long != nil {
				s.long(long)
			} else if held > 0 {
				s.whole(buf[:held])
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

func (s *stream) tee(b []byte) {
	if s.raw == nil || s.rawErr != nil {
		return
	}
	_, s.rawErr = s.raw.Write(b)
}

func (s *stream) whole(line []byte) {
	if kind, ok := sniff(line); ok && !wanted(kind) {
		return
	}
	if len(bytes.TrimSpace(line)) > 0 {
		s.line(line, false)
	}
}

func (s *stream) long(l *slimmer) {
	if line, ok := l.take(); ok {
		s.line(line, true)
	}
}

// wanted tells whether lines of a type are looked at. User lines (tool results) are
// the bulk of a stream and say nothing that is needed.
func wanted(kind string) bool {
	switch kind {
	case "assistant", "result", "system", "rate_limit_event", "control_response", beforeType:
		return true
	}
	return false
}

// sniff tells the type of a line where the line begins with it, as all lines of
// claude 2.1.197 do. Nothing promises that, so "not ok" means that the line has to be
// looked at.
func sniff(line []byte) (kind string, ok bool) {
	const head = `{"type":"`
	if len(line) < len(head) || string(line[:len(head)]) != head {
		return "", false
	}
	rest := line[len(head):]
	end := bytes.IndexByte(rest[:min(len(rest), 40)], '"')
	if end < 0 {
		return "", false
	}
	switch string(rest[:end]) { // no allocation for the types that are known
	case "user":
		return "user", true
	case "assistant":
		return "assistant", true
	case "stream_event":
		return "stream_event", true
	case "system":
		return "system", true
	case "result":
		return "result", true
	}
	return string(rest[:end]), true
}
