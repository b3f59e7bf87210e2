package source

// This file reads JSON as tokens with offsets. It knows nothing of plans.
//
// jsontext was chosen by measurement: it delivers the tokens of a 25 MB plan at about 500 MB/s with
// strict UTF-8 and grammar checks (BenchmarkJSONTokens), which is a quarter of the time of a whole
// check, and it builds no tree. Strings without escapes are slices of the source and share its
// memory, so most of a plan is held once.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON reads JSON as tokens.
type JSON struct {
	src   string
	dec   *jsontext.Decoder
	end   int // offset of the end of the last token
	depth int
	wrong *Problem
	at    Cursor
}

// NewJSON starts to read a text. Problem returns its mistake.
func NewJSON(src string) *JSON {
	return &JSON{
		src: src,
		// The decoder reports repeated names itself, with a better message and without a set of
		// names for each object.
		dec: jsontext.NewDecoder(strings.NewReader(src), jsontext.AllowDuplicateNames(true)),
		at:  Cursor{src: src, line: 1},
	}
}

// Next implements Tokens.
func (s *JSON) Next() Token {
	if s.wrong != nil {
		return Token{At: Place(s.end)}
	}
	tok, err := s.dec.ReadToken()
	start := s.start()
	if err != nil {
		s.fail(err)
		return Token{At: Place(start)}
	}
	s.end = int(s.dec.InputOffset())
	switch tok.Kind() {
	case '{':
		return s.open(Token{Kind: KindObject, At: Place(start)})
	case '[':
		return s.open(Token{Kind: KindArray, At: Place(start)})
	case '}', ']':
		s.depth--
		return Token{Kind: KindEnd, At: Place(start)}
	case '"':
		text := s.src[start+1 : s.end-1]
		if strings.IndexByte(text, '\\') >= 0 {
			text = tok.String()
		}
		return Token{Kind: KindString, Text: text, At: Place(start)}
	case '0':
		return Token{Kind: KindNumber, Text: s.src[start:s.end], At: Place(start)}
	case 't', 'f':
		return Token{Kind: KindBool, Text: s.src[start:s.end], At: Place(start)}
	default:
		return Token{Kind: KindNull, Text: "null", At: Place(start)}
	}
}

func (s *JSON) open(t Token) Token {
	if s.depth++; s.depth > maxDepth {
		s.wrong = tooDeep(t.At)
		return Token{At: t.At}
	}
	return t
}

func tooDeep(at Place) *Problem {
	return &Problem{at, CodeTooDeep, fmt.Sprintf("values are nested more than %d deep; a plan needs 6 levels", maxDepth)}
}

// start returns the offset of the next token: between two tokens there are only white space and
// separators.
func (s *JSON) start() int {
	for i := s.end; i < len(s.src); i++ {
		switch s.src[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return i
		}
	}
	return len(s.src)
}

// Skip implements Tokens.
func (s *JSON) Skip(t Token) {
	if t.Kind != KindObject && t.Kind != KindArray {
		return
	}
	for inside := s.depth; s.depth >= inside; {
		if s.Next().Kind == KindBad {
			return
		}
	}
}

// Raw implements Tokens.
func (s *JSON) Raw(t Token) json.RawMessage {
	switch t.Kind {
	case KindBad, KindEnd:
		return nil
	}
	s.Skip(t)
	if s.wrong != nil {
		return nil
	}
	return json.RawMessage(s.src[t.At:s.end])
}

// Finish reports any text after the plan.
func (s *JSON) Finish() {
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
	s.wrong = &Problem{Place(at), CodeSyntax, "something follows the plan; a file holds one plan, so remove it"}
}

func (s *JSON) fail(err error) {
	at := s.start()
	if len(strings.TrimLeft(s.src, " \t\r\n")) == 0 {
		s.wrong = &Problem{0, CodeEmptyPlan, `the file is empty; a plan needs at least {"tasks": [{"id": "T-001", "subject": "..."}]}`}
		return
	}
	if word := bareWord(s.src[at:]); word != "" {
		s.wrong = &Problem{Place(at), CodeSyntax, "names and strings stand in double quotes: " + Quote(word)}
		return
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && int(se.ByteOffset) > at && int(se.ByteOffset) <= len(s.src) {
		at = int(se.ByteOffset)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.wrong = &Problem{Place(len(s.src)), CodeSyntax,
			"the file ends in the middle of a value; close what is open, or restore the rest of the file"}
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
		s.wrong = &Problem{Place(at), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
		return
	}
	s.wrong = &Problem{Place(at), CodeSyntax, "not valid JSON: " + reason}
}

// bareWord returns the word at the start of text, unless it is a JSON word.
func bareWord(text string) string {
	n := 0
	for n < len(text) && (text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' || text[n] == '_' || n > 0 && text[n] >= '0' &&
		text[n] <= '9') {
		n++
	}
	switch word := text[:n]; word {
	case "true", "false", "null":
		return ""
	default:
		return word
	}
}

// misread recognises syntax of people and other tools that JSON does not have.
func (s *JSON) misread(at int) *Problem {
	if at >= len(s.src) {
		return nil
	}
	syntax := func(message string) *Problem { return &Problem{Place(at), CodeSyntax, message} }
	switch c := s.src[at]; {
	case c == 0:
		return &Problem{Place(at), CodeEncoding, "a NUL character; save the file as UTF-8 text"}
	case c == '#', c == '/' && at+1 < len(s.src) && (s.src[at+1] == '/' || s.src[at+1] == '*'):
		return syntax("JSON has no comments; remove it, or write the plan in YAML")
	case c >= 0x80:
		if r, n := utf8.DecodeRuneInString(s.src[at:]); r == utf8.RuneError && n == 1 {
			return &Problem{Place(at), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
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

// Pos implements Tokens.
func (s *JSON) Pos(p Place) Pos { return s.at.Pos(int(p)) }

// Problem implements Tokens.
func (s *JSON) Problem() *Problem { return s.wrong }

// Cursor converts offsets to lines and columns. It continues from the last answer, so asking in the
// order of the file reads the file once.
type Cursor struct {
	src   string
	off   int // current offset
	line  int
	begin int // offset of the start of the line
}

// Pos returns the position of an offset.
func (c *Cursor) Pos(off int) Pos {
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

// NewCursor returns a cursor at the start of a text.
func NewCursor(src string) *Cursor { return &Cursor{src: src, line: 1} }

// line1 returns the offset of the start of a line.
func (c *Cursor) line1(line int) int {
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
