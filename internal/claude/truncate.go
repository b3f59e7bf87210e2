package claude

import "bytes"

// stringMax is the number of bytes kept of one string in a slimmed line; tightMax is the number
// after the line has reached half of truncateMax.
const (
	stringMax   = 256 << 10
	tightMax    = 1 << 10
	truncateMax = 4 << 20 // of a slimmed line
)

// truncator reads a JSON line that is too long to hold and cuts its long strings, so that the result
// is JSON if the line was. It parses only strings and escapes. A line that has more than truncateMax bytes
// without them is given up.
type truncator struct {
	out        []byte
	state      stringState
	hex        int // digits of \uXXXX still to come
	stringKept int // bytes kept of the string we are in
	full       bool
	cut        bool // a string was shortened
}

// stringState is the position of a slimmer in the line.
type stringState uint8

const (
	outside     stringState = iota // between strings
	inside                         // in a string
	escaped                        // after the backslash of an escape that is kept
	dropping                       // in the part of a string that is not kept
	dropEscaped                    // after a backslash in that part
)

// feed reads the next piece of the line.
func (s *truncator) feed(b []byte) {
	for len(b) > 0 && !s.full {
		b = b[s.step(b):]
	}
}

// step reads at least one byte of b and returns the number read. It cuts strings only between plain
// bytes and whole escapes; a rune cut in two becomes a replacement character when read.
func (s *truncator) step(b []byte) int {
	switch s.state {
	case outside:
		n := bytes.IndexByte(b, '"') + 1
		if n == 0 {
			n = len(b)
		} else {
			s.state, s.stringKept = inside, 0
		}
		s.emit(b[:n])
		return n
	case escaped:
		s.emit(b[:1])
		switch {
		case s.hex > 0:
			s.hex--
		case b[0] == 'u':
			s.hex = 4
		}
		if s.hex == 0 {
			s.state = inside
		}
		return 1
	case dropEscaped:
		s.state = dropping
		return 1
	case dropping:
		n := bytes.IndexAny(b, `"\`)
		switch {
		case n < 0:
			return len(b)
		case b[n] == '\\':
			s.state = dropEscaped
		default:
			s.state = outside
			s.emit(b[n : n+1])
		}
		return n + 1
	}
	limit := stringMax
	if len(s.out) > truncateMax/2 {
		limit = tightMax
	}
	switch {
	case b[0] == '"':
		s.state = outside
		s.emit(b[:1])
		return 1
	case s.stringKept >= limit:
		s.state, s.cut = dropping, true
		return s.step(b)
	case b[0] == '\\':
		s.state = escaped
		s.stringKept += 6
		s.emit(b[:1])
		return 1
	}
	n := min(len(b), limit-s.stringKept)
	if i := bytes.IndexAny(b[:n], `"\`); i >= 0 {
		n = i
	}
	s.emit(b[:n])
	s.stringKept += n
	return n
}

func (s *truncator) emit(b []byte) {
	s.out = append(s.out, b...)
	s.full = len(s.out) > truncateMax
}

// result returns the slimmed line, or false if it was given up.
func (s *truncator) result() ([]byte, bool) { return s.out, !s.full && len(s.out) > 0 }
