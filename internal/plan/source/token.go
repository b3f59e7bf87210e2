// Package source reads JSON and YAML as tokens with their positions, and holds them as trees if
// needed. Its messages use the words of plans, but it knows no field.
package source

// This file is the interface between the formats and the decoder: a stream of tokens with
// positions. It knows no format and no field.

import "encoding/json"

// Kind is the kind of a token.
type Kind uint8

// The kinds.
const (
	KindBad Kind = iota // the source is broken or at its end; all later tokens are KindBad too
	KindObject
	KindArray
	KindEnd // of an object or an array
	KindString
	KindNumber
	KindBool
	KindNull
)

// String returns the name of a kind for messages, with its article.
func (k Kind) String() string {
	return [...]string{"nothing", "an object", "a list", "the end", "a string", "a number", "true or false", "null"}[k]
}

// Location is the start of a token in the source's own measure (bytes for JSON, line and column for
// YAML). It grows with the file.
type Location int64

// Token is the start or the end of a value, or a whole value.
type Token struct {
	Kind Kind
	Text string // of a scalar: a string's value, otherwise the source text
	At   Location
}

// Tokens is a source from which the decoder pulls. In an object, names (KindString) and values
// alternate until KindEnd. After KindBad no other kind comes.
type Tokens interface {
	Next() Token
	// Skip drops the rest of the value that began with t.
	Skip(t Token)
	// Raw is like Skip, and returns the whole value as JSON; nil if the source broke.
	Raw(t Token) json.RawMessage
	// Pos returns the line and the column of a place. It is cheap if places are asked for in order.
	Pos(Location) Pos
	// Finish tells the source that the plan was read; any text after it is a problem.
	Finish()
	// Restart goes back to the start of a source that was read without a problem.
	Restart()
	// Problem returns the reason why the source broke, or nil.
	Problem() *Problem
}

// Problem is a mistake in the format itself. There is at most one, the first.
type Problem struct {
	At      Location
	Code    string
	Message string
}

// maxDepth is the maximum nesting of values. Plans need 6; the authors of rehearse and metadata
// blocks choose their own depth. The bound protects the stack from hostile files.
const maxDepth = 200
