package plan

// This file reads JSON as tokens with offsets. It knows nothing of plans.
//
// jsontext was chosen by measurement: it delivers the tokens of a 25 MB plan at about
// 500 MB/s with strict UTF-8 and grammar checks (BenchmarkJSONTokens), a quarter of the
// time a check takes, and it holds no tree. Strings without escapes are cut out of the
// source and share its memory, so most of a plan is held once.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

type jsonSource struct {
	src   string
	dec   *jsontext.Decoder
	end   int // offset at which the token read last ended
	depth int
	wrong *problem
	at    cursor
}

func newJSONSource(src string) *jsonSource {
	return &jsonSource{
		src: src,
		// Repeated names are the decoder's to report, with its own words and without
		// a set of names for each object.
		dec: jsontext.NewDecoder(strings.NewReader(src), jsontext.AllowDuplicateNames(true)),
		at:  cursor{src: src, line: 1},
	}
}

func (s *jsonSource) next() token {
	if s.wrong != nil {
		return token{at: place(s.end)}
	}
	tok, err := s.dec.ReadToken()
	start := s.start()
	if err != nil {
		s.fail(err)
		return token{at: place(start)}
	}
	s.end = int(s.dec.InputOffset())
	switch tok.Kind() {
	case '{':
		return s.open(token{kind: kindObject, at: place(start)})
	case '[':
		return s.open(token{kind: kindArray, at: place(start)})
	case '}', ']':
		s.depth--
		return token{kind: kindEnd, at: place(start)}
	case '"':
		text := s.src[start+1 : s.end-1]
		if strings.IndexByte(text, '\\') >= 0 {
			text = tok.String()
		}
		return token{kind: kindString, text: text, at: place(start)}
	case '0':
		return token{kind: kindNumber, text: s.src[start:s.end], at: place(start)}
	case 't', 'f':
		return token{kind: kindBool, text: s.src[start:s.end], at: place(start)}
	default:
		return token{kind: kindNull, text: "null", at: place(start)}
	}
}

func (s *jsonSource) open(t token) token {
	if s.depth++; s.depth > maxDepth {
		s.wrong = tooDeep(t.at)
		return token{at: t.at}
	}
	return t
}

func tooDeep(at place) *problem {
	return &problem{at, CodeTooDeep, fmt.Sprintf("values are nested more than %d deep; a plan needs 6 levels", maxDepth)}
}

// start is where the token after the last one begins: white space and the separators
// are all that can lie between.
func (s *jsonSource) start() int {
	for i := s.end; i < len(s.src); i++ {
		switch s.src[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return i
		}
	}
	return len(s.src)
}

func (s *jsonSource) skip(t token) {
	if t.kind != kindObject && t.kind != kindArray {
		return
	}
	for inside := s.depth; s.depth >= inside; {
		if s.next().kind == kindBad {
			return
		}
	}
}

func (s *jsonSource) raw(t token) json.RawMessage {
	switch t.kind {
	case kindBad, kindEnd:
		return nil
	}
	s.skip(t)
	if s.wrong != nil {
		return nil
	}
	return json.RawMessage(s.src[t.at:s.end])
}

// finish reports what follows the plan, if anything does.
func (s *jsonSource) finish() {
	if s.wrong != nil {
		return
	}
	if _, err := s.dec.ReadToken(); errors.Is(err, io.EOF) && s.start() == len(s.src) {
		return
	}
	at := s.start()
	if p := s.misread(at); p != nil {
		s.wrong = p
		return
	}
	s.wrong = &problem{place(at), CodeSyntax, "something follows the plan; a file holds one plan, so remove it"}
}

func (s *jsonSource) fail(err error) {
	at := s.start()
	if len(strings.TrimLeft(s.src, " \t\r\n")) == 0 {
		s.wrong = &problem{0, CodeEmptyPlan, `the file is empty; a plan needs at least {"tasks": [{"id": "T-001", "subject": "..."}]}`}
		return
	}
	if word := bareWord(s.src[at:]); word != "" {
		s.wrong = &problem{place(at), CodeSyntax, "names and strings stand in double quotes: " + quote(word)}
		return
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && int(se.ByteOffset) > at && int(se.ByteOffset) <= len(s.src) {
		at = int(se.ByteOffset)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.wrong = &problem{place(len(s.src)), CodeSyntax, "the file ends in the middle of a value; close what is open, or restore the rest of the file"}
		return
	}
	if p := s.misread(at); p != nil {
		s.wrong = p
		return
	}
	reason := err.Error()
	if se != nil {
		reason = se.Err.Error()
	}
	if strings.Contains(reason, "UTF-8") {
		s.wrong = &problem{place(at), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
		return
	}
	s.wrong = &problem{place(at), CodeSyntax, "not valid JSON: " + reason}
}

// bareWord is the word that text begins with, unless JSON knows it.
func bareWord(text string) string {
	n := 0
	for n < len(text) && (text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' || text[n] == '_' || n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	switch word := text[:n]; word {
	case "true", "false", "null":
		return ""
	default:
		return word
	}
}

// misread recognises what people and other tools write that JSON does not have.
func (s *jsonSource) misread(at int) *problem {
	if at >= len(s.src) {
		return nil
	}
	syntax := func(message string) *problem { return &problem{place(at), CodeSyntax, message} }
	switch c := s.src[at]; {
	case c == 0:
		return &problem{place(at), CodeEncoding, "a NUL character; save the file as UTF-8 text"}
	case c == '#', c == '/' && at+1 < len(s.src) && (s.src[at+1] == '/' || s.src[at+1] == '*'):
		return syntax("JSON has no comments; remove it, or write the plan in YAML")
	case c >= 0x80:
		if r, n := utf8.DecodeRuneInString(s.src[at:]); r == utf8.RuneError && n == 1 {
			return &problem{place(at), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
		}
	case c == '\'':
		return syntax("JSON strings stand in double quotes")
	case c == ']' || c == '}':
		if strings.HasSuffix(strings.TrimRight(s.src[:at], " \t\r\n"), ",") {
			return syntax("a comma before the closing bracket; remove the comma")
		}
	}
	return nil
}

func (s *jsonSource) pos(p place) Pos   { return s.at.pos(int(p)) }
func (s *jsonSource) problem() *problem { return s.wrong }

// cursor turns offsets into lines and columns. It counts on from the last answer, so
// asking in the order of the file reads the file once.
type cursor struct {
	src   string
	off   int // where it stands
	line  int
	begin int // offset at which the line begins
}

func (c *cursor) pos(off int) Pos {
	off = min(max(off, 0), len(c.src))
	if off < c.begin {
		c.off, c.line, c.begin = 0, 1, 0
	}
	if off > c.off {
		between := c.src[c.off:off]
		if n := strings.Count(between, "\n"); n > 0 {
			c.line += n
			c.begin = c.off + strings.LastIndexByte(between, '\n') + 1
		}
		c.off = off
	}
	return Pos{Line: c.line, Column: off - c.begin + 1}
}

// line1 is the offset at which a line begins.
func (c *cursor) line1(line int) int {
	if line < c.line {
		c.off, c.line, c.begin = 0, 1, 0
	}
	for c.line < line {
		i := strings.IndexByte(c.src[c.begin:], '\n')
		if i < 0 {
			break
		}
		c.line, c.begin = c.line+1, c.begin+i+1
		c.off = c.begin
	}
	return c.begin
}
