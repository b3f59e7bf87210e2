// Package source reads JSON and YAML as tokens with their places, and holds them as
// trees where that is needed. It knows the words of plans in its messages, and no field.
package source

// This file is the seam between the formats and the decoder: a stream of tokens with
// places. It knows no format and no field.

import "encoding/json"

// Kind is what a value is.
type Kind uint8

// The kinds.
const (
	KindBad Kind = iota // the source is broken or at its end; it stays so
	KindObject
	KindArray
	KindEnd // of an object or an array
	KindString
	KindNumber
	KindBool
	KindNull
)

// String names a kind the way messages do, with its article.
func (k Kind) String() string {
	return [...]string{"nothing", "an object", "a list", "the end", "a string", "a number", "true or false", "null"}[k]
}

// Place is where a token starts, in the source's own measure (bytes for JSON, line
// and column for YAML); it grows with the file.
type Place int64

// Token is the beginning or the end of a value, or a whole one.
type Token struct {
	Kind Kind
	Text string // of a scalar: a string's value, otherwise as it is written
	At   Place
}

// Tokens is a source the decoder pulls from. Within an object names (KindString) and
// values alternate until KindEnd. After KindBad nothing else comes.
type Tokens interface {
	Next() Token
	// skip drops what is left of the value that began with t.
	Skip(t Token)
	// raw is skip, and gives the whole value as JSON; nil when the source broke.
	Raw(t Token) json.RawMessage
	// pos is the line and the column of a place; cheap when places are asked for in order.
	Pos(Place) Pos
	// finish tells the source that the plan was read; what follows it is a problem.
	Finish()
	// problem is why the source broke, or nil.
	Problem() *Problem
}

// Problem is a mistake in the format itself; there is one at most, the first.
type Problem struct {
	At      Place
	Code    string
	Message string
}

// maxDepth is how deeply values may nest. Plans need 6; what a rehearse or metadata
// block needs is its author's choice. Bounded so that hostile files cost no stack.
const maxDepth = 200
