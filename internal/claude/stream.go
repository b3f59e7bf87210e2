package claude

import (
	"bytes"
	"io"
	"unsafe"

	"wavex/internal/jsonobject"
)

// chunkSize is the size of a read, in bytes. A line up to chunkSize is parsed in place; a longer one
// is skipped or slimmed, never held whole.
const chunkSize = 256 << 10

// stream reads the CLI's output: one JSON object per line, lines of any length. It finds the lines
// and decides which to keep and which to parse; transcript parses them. It reads to the end of its
// input, whatever the lines hold.
type stream struct {
	raw io.Writer // receives the kept lines, each before it is parsed
	// onRead is called after every read that returned bytes, with their number and whether they
	// belong to a line that may be JSON.
	onRead func(n int, object bool)
	onLine func(line []byte, cut bool)
	// rawErr is the first error of raw. Reading continues without raw, because a full disk must not
	// fail the attempt.
	rawErr error

	long         *truncator // of the long line in progress; nil: it is not parsed
	longMode     longMode   // handling of the rest of the long line in progress
	longIsObject bool       // the long line in progress begins with {
}

// longMode says how the rest of a line is handled that is longer than the buffer.
type longMode uint8

const (
	notLong     longMode = iota // there is no such line
	longKept                    // it is kept
	longDropped                 // it is not kept
)

// run reads to the end. It returns the error of in, except io.EOF.
func (s *stream) run(in io.Reader) error {
	buf := make([]byte, chunkSize)
	held := 0 // bytes of an unfinished line at the front of buf
	for {
		n, err := in.Read(buf[held:])
		if n > 0 && s.onRead != nil {
			s.onRead(n, s.inObject(buf[:held+n]))
		}
		data := s.lines(buf[:held+n], held)
		if len(data) == len(buf) || s.longMode != notLong {
			s.longPart(data)
			data = nil
		}
		held = copy(buf, data)
		if err == nil {
			continue
		}
		s.finish(buf[:held])
		if err == io.EOF {
			return nil
		}
		return err
	}
}

// inObject reports whether data, from the last line end on, belongs to a line that begins like a JSON
// object.
func (s *stream) inObject(data []byte) bool {
	if s.longMode != notLong && s.longIsObject || s.longMode == notLong && data[0] == '{' {
		return true
	}
	return bytes.Contains(data, []byte("\n{"))
}

// lines handles the whole lines at the front of data and returns the rest. The first from bytes
// hold no line end. Adjacent lines are kept with one write.
func (s *stream) lines(data []byte, from int) []byte {
	first, at := 0, 0 // data[first:at] is to be kept
	for {
		i := bytes.IndexByte(data[at+from:], '\n')
		if i < 0 {
			s.tee(data[first:at])
			return data[at:]
		}
		end := at + from + i
		line := data[at:end]
		from = 0
		switch {
		case s.longMode != notLong:
			s.longPart(data[at : end+1])
			s.endLong()
			first = end + 1
		default:
			keep, look := s.filterLine(line)
			if !keep {
				s.tee(data[first:at])
				first = end + 1
			}
			if look {
				s.tee(data[first : end+1])
				first = end + 1
				s.onLine(line, false)
			}
		}
		at = end + 1
	}
}

// longPart handles a part of a line that is longer than the buffer.
func (s *stream) longPart(b []byte) {
	if s.longMode == notLong {
		kind, known := lineType(b)
		s.longMode, s.longIsObject = longKept, b[0] == '{'
		if known && kind == "stream_event" && !hasUsage(b) {
			s.longMode = longDropped
		}
		if s.long = nil; s.longMode == longKept && (!known || isRelevant(kind)) {
			s.long = &truncator{}
		}
	}
	if s.longMode == longKept {
		s.tee(b)
	}
	if s.long != nil {
		s.long.feed(bytes.TrimSuffix(b, []byte("\n")))
	}
}

// endLong parses the long line that has ended.
func (s *stream) endLong() {
	if s.long != nil {
		if line, ok := s.long.result(); ok {
			s.onLine(line, s.long.cut)
		}
	}
	s.long, s.longMode = nil, notLong
}

// finish handles the bytes behind the last line end: a whole line, or the beginning of one.
func (s *stream) finish(b []byte) {
	if s.longMode != notLong {
		s.longPart(b)
		s.endLong()
		return
	}
	keep, look := s.filterLine(b)
	if len(b) == 0 || !keep {
		return
	}
	s.tee(b)
	if _, known := lineType(b); !known && b[0] == '{' && !jsonobject.Value(b).IsValid() {
		return // the beginning of a line has no use
	}
	if look {
		s.onLine(b, false)
	}
}

func (s *stream) tee(b []byte) {
	if len(b) == 0 || s.raw == nil || s.rawErr != nil {
		return
	}
	_, s.rawErr = s.raw.Write(b)
}

// filterLine reports whether a line is kept and whether it is parsed. It keeps all lines but the parts
// of messages, which come again in an assistant line; of the events of a message it keeps those
// with usage.
func (s *stream) filterLine(line []byte) (keep, look bool) {
	kind, known := lineType(line)
	if !known && len(line) > 0 && line[0] == '{' {
		kind = jsonobject.Value(line).Get("type").Text()
	}
	if kind == "stream_event" {
		keep = hasUsage(line)
		return keep, keep
	}
	return true, (kind == "" || isRelevant(kind)) && len(bytes.TrimSpace(line)) > 0
}

// hasUsage reports whether a stream_event line has the usage of a response.
func hasUsage(line []byte) bool {
	const head = `{"type":"stream_event","event":{"type":"`
	if rest, ok := bytes.CutPrefix(line, []byte(head)); ok {
		return bytes.HasPrefix(rest, []byte(`message_start"`)) || bytes.HasPrefix(rest, []byte(`message_delta"`))
	}
	event := jsonobject.Value(line).Get("event.type").Text()
	return event == "message_start" || event == "message_delta"
}

// isRelevant reports whether lines of a type are parsed.
func isRelevant(kind string) bool {
	switch kind {
	case "user", "control_request", "control_cancel_request", "assistant", "result", "system",
		"stream_event", "rate_limit_event", "control_response", sharedType:
		return true
	}
	return false
}

// lineType returns the type of a line if type is its first key, which holds for most lines but not
// for result lines (observed on claude 2.1.258 and 2.1.330). It shares the bytes of the line.
func lineType(line []byte) (kind string, ok bool) {
	const head = `{"type":"`
	if !bytes.HasPrefix(line, []byte(head)) {
		return "", false
	}
	rest := line[len(head):]
	end := bytes.IndexByte(rest[:min(len(rest), 40)], '"')
	if end < 0 {
		return "", false
	}
	return unsafe.String(&rest[0], end), true
}
