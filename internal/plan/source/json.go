package source

// This file reads JSON as tokens with offsets. It knows nothing of plans.
//
// jsontext was chosen by measurement: it delivers the tokens of a 25 MB plan at about 500 MB/s with
// strict UTF-8 and grammar checks (BenchmarkJSONTokens), which is a quarter of the time of a whole
// check, and it builds no tree. Strings without escapes are slices of the source and share its
// memory, so most of a plan is held once.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON reads JSON as tokens.
type JSON struct {
	src     string
	dec     *jsontext.Decoder
	end     int // offset of the end of the last token
	depth   int
	failure *Problem
	at      Cursor
}

// NewJSON starts to read a text. Problem returns its mistake.
func NewJSON(src string) *JSON {
	return &JSON{
		src: src,
		dec: newDecoder(src),
		at:  Cursor{src: src, line: 1},
	}
}

// newDecoder returns a decoder that accepts repeated names: the reader of plans reports them itself, with a better
// message and without a set of names for each object.
func newDecoder(src string) *jsontext.Decoder {
	return jsontext.NewDecoder(inPlace(src), jsontext.AllowDuplicateNames(true))
}

// Restart implements Tokens.
func (s *JSON) Restart() { s.dec, s.end, s.depth = newDecoder(s.src), 0, 0 }

// inPlace returns a buffer that is the text itself: from a *bytes.Buffer the decoder reads without
// a copy and writes nothing into it. From any other reader it copies each token and the blanks
// before it, which a hostile file makes as long as itself.
func inPlace(src string) *bytes.Buffer {
	return bytes.NewBuffer(unsafe.Slice(unsafe.StringData(src), len(src)))
}

// Next implements Tokens.
func (s *JSON) Next() Token {
	if s.failure != nil {
		return Token{At: Location(s.end)}
	}
	tok, err := s.dec.ReadToken()
	start := s.nextOffset()
	if err != nil {
		s.fail(err)
		return Token{At: Location(start)}
	}
	s.end = int(s.dec.InputOffset())
	switch tok.Kind() {
	case '{':
		return s.open(Token{Kind: KindObject, At: Location(start)})
	case '[':
		return s.open(Token{Kind: KindArray, At: Location(start)})
	case '}', ']':
		s.depth--
		return Token{Kind: KindEnd, At: Location(start)}
	case '"':
		text := s.src[start+1 : s.end-1]
		if len(text) > maxString {
			s.failure = &Problem{Location(start), CodeTooLarge,
				fmt.Sprintf("a text is longer than %d MB; name a file that the task reads", maxString>>20)}
			return Token{At: Location(start)}
		}
		if strings.IndexByte(text, '\\') >= 0 {
			text = tok.String()
		}
		return Token{Kind: KindString, Text: text, At: Location(start)}
	case '0':
		return Token{Kind: KindNumber, Text: s.src[start:s.end], At: Location(start)}
	case 't', 'f':
		return Token{Kind: KindBool, Text: s.src[start:s.end], At: Location(start)}
	default:
		return Token{Kind: KindNull, Text: "null", At: Location(start)}
	}
}

func (s *JSON) open(t Token) Token {
	if s.depth++; s.depth > maxDepth {
		s.failure = tooDeep(t.At)
		return Token{At: t.At}
	}
	return t
}

func tooDeep(at Location) *Problem {
	return &Problem{at, CodeTooDeep, fmt.Sprintf("values are nested more than %d deep; a plan needs 6 levels", maxDepth)}
}

// maxString is the maximum length of a string, in bytes: far more than fits into a model's context.
const maxString = 16 << 20

// nextOffset returns the offset of the next token: between two tokens there are only white space and
// separators.
func (s *JSON) nextOffset() int {
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
	if s.failure != nil {
		return nil
	}
	return json.RawMessage(s.src[t.At:s.end])
}

// More reports whether a value follows the one that was read, as in a file with one on each line.
func (s *JSON) More() bool { return s.failure == nil && s.nextOffset() < len(s.src) }

// Finish reports any text after the plan.
func (s *JSON) Finish() {
	if s.failure != nil {
		return
	}
	if _, err := s.dec.ReadToken(); errors.Is(err, io.EOF) && s.nextOffset() == len(s.src) {
		return
	}
	at := s.nextOffset()
	if p := s.explainSyntax(at); p != nil {
		s.failure = p
		return
	}
	s.failure = &Problem{Location(at), CodeSyntax, "something follows the plan; a file holds one plan, so remove it"}
}

func (s *JSON) fail(err error) {
	at := s.nextOffset()
	if len(strings.TrimLeft(s.src, " \t\r\n")) == 0 {
		s.failure = &Problem{0, CodeEmptyPlan, `the file is empty; a plan needs at least {"tasks": [{"id": "T-001", "subject": "..."}]}`}
		return
	}
	if word := bareWord(s.src[at:]); word != "" {
		s.failure = &Problem{Location(at), CodeSyntax, "names and strings stand in double quotes: " + Quote(word)}
		return
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && int(se.ByteOffset) > at && int(se.ByteOffset) <= len(s.src) {
		at = int(se.ByteOffset)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.failure = &Problem{Location(len(s.src)), CodeSyntax,
			"the file ends in the middle of a value; close what is open, or restore the rest of the file"}
		return
	}
	if p := s.explainSyntax(at); p != nil {
		s.failure = p
		return
	}
	reason := err.Error()
	if se != nil {
		reason = se.Err.Error()
	}
	if strings.Contains(reason, "UTF-8") {
		s.failure = &Problem{Location(at), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
		return
	}
	s.failure = &Problem{Location(at), CodeSyntax, "not valid JSON: " + reason}
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

// explainSyntax recognises syntax of people and other tools that JSON does not have.
func (s *JSON) explainSyntax(at int) *Problem {
	if at >= len(s.src) {
		return nil
	}
	syntax := func(message string) *Problem { return &Problem{Location(at), CodeSyntax, message} }
	switch c := s.src[at]; {
	case c == 0:
		return &Problem{Location(at), CodeEncoding, "a NUL character; save the file as UTF-8 text"}
	case c == '#', c == '/' && at+1 < len(s.src) && (s.src[at+1] == '/' || s.src[at+1] == '*'):
		return syntax("JSON has no comments; remove it, or write the plan in YAML")
	case c >= 0x80:
		if r, n := utf8.DecodeRuneInString(s.src[at:]); r == utf8.RuneError && n == 1 {
			return &Problem{Location(at), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
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
func (s *JSON) Pos(p Location) Pos { return s.at.Pos(int(p)) }

// Problem implements Tokens.
func (s *JSON) Problem() *Problem { return s.failure }

// Cursor converts offsets to lines and columns. It continues from the last answer, so asking in the
// order of the file reads the file once.
type Cursor struct {
	src       string
	offset    int // current offset
	line      int
	lineStart int // offset of the start of the line
}

// Pos returns the position of an offset.
func (c *Cursor) Pos(off int) Pos {
	off = min(max(off, 0), len(c.src))
	if off < c.lineStart {
		c.offset, c.line, c.lineStart = 0, 1, 0
	}
	if off > c.offset {
		between := c.src[c.offset:off]
		if n := strings.Count(between, "\n"); n > 0 {
			c.line += n
			c.lineStart = c.offset + strings.LastIndexByte(between, '\n') + 1
		}
		c.offset = off
	}
	return Pos{Line: c.line, Column: off - c.lineStart + 1}
}

// NewCursor returns a cursor at the start of a text.
func NewCursor(src string) *Cursor { return &Cursor{src: src, line: 1} }

// lineOffset returns the offset of the start of a line.
func (c *Cursor) lineOffset(line int) int {
	if line < c.line {
		c.offset, c.line, c.lineStart = 0, 1, 0
	}
	for c.line < line {
		i := strings.IndexByte(c.src[c.lineStart:], '\n')
		if i < 0 {
			break
		}
		c.line, c.lineStart = c.line+1, c.lineStart+i+1
		c.offset = c.lineStart
	}
	return c.lineStart
}
