package runner

import "bytes"

// stringMax is the number of bytes kept of one string in a slimmed line; tightMax is the number
// after the line has reached half of slimMax.
const (
	stringMax = 256 << 10
	tightMax  = 1 << 10
)

// slimmer reads a JSON line that is too long to hold and cuts its long strings, so that the result
// is JSON if the line was. It parses only strings and escapes. It keeps at most slimMax bytes; a
// line that is longer without its strings is given up.
type slimmer struct {
	out  []byte
	at   place
	hex  int // digits of \uXXXX still to come
	kept int // bytes kept of the string we are in
	full bool
}

// place is the position of a slimmer in the line.
type place uint8

const (
	outside     place = iota // between strings
	inside                   // in a string
	escaped                  // after the backslash of an escape that is kept
	dropping                 // in the part of a string that is not kept
	dropEscaped              // after a backslash in that part
)

// feed reads the next piece of the line.
func (s *slimmer) feed(b []byte) {
	for len(b) > 0 && !s.full {
		b = b[s.step(b):]
	}
}

// step reads at least one byte of b and returns the number read. It cuts strings only between plain
// bytes and whole escapes; a rune cut in two becomes a replacement character when read.
func (s *slimmer) step(b []byte) int {
	switch s.at {
	case outside:
		n := bytes.IndexByte(b, '"') + 1
		if n == 0 {
			n = len(b)
		} else {
			s.at, s.kept = inside, 0
		}
		s.keep(b[:n])
		return n
	case escaped:
		s.keep(b[:1])
		switch {
		case s.hex > 0:
			s.hex--
		case b[0] == 'u':
			s.hex = 4
		}
		if s.hex == 0 {
			s.at = inside
		}
		return 1
	case dropEscaped:
		s.at = dropping
		return 1
	case dropping:
		n := bytes.IndexAny(b, `"\`)
		switch {
		case n < 0:
			return len(b)
		case b[n] == '\\':
			s.at = dropEscaped
		default:
			s.at = outside
			s.keep(b[n : n+1])
		}
		return n + 1
	}
	limit := stringMax
	if len(s.out) > slimMax/2 {
		limit = tightMax
	}
	switch {
	case b[0] == '"':
		s.at = outside
		s.keep(b[:1])
		return 1
	case s.kept >= limit:
		s.at = dropping
		return s.step(b)
	case b[0] == '\\':
		s.at = escaped
		s.kept += 6
		s.keep(b[:1])
		return 1
	}
	n := min(len(b), limit-s.kept)
	if i := bytes.IndexAny(b[:n], `"\`); i >= 0 {
		n = i
	}
	s.keep(b[:n])
	s.kept += n
	return n
}

func (s *slimmer) keep(b []byte) {
	if len(s.out)+len(b) > slimMax {
		s.full, s.out = true, nil
		return
	}
	s.out = append(s.out, b...)
}

// take returns the slimmed line, or false if it was given up.
func (s *slimmer) take() ([]byte, bool) { return s.out, !s.full && len(s.out) > 0 }
