package plan

// This file is the seam between the formats and the decoder: a stream of tokens with
// places. It knows no format and no field.

import "encoding/json"

type kind uint8

const (
	kindBad kind = iota // the source is broken or at its end; it stays so
	kindObject
	kindArray
	kindEnd // of an object or an array
	kindString
	kindNumber
	kindBool
	kindNull
)

// String names a kind the way messages do, with its article.
func (k kind) String() string {
	return [...]string{"nothing", "an object", "a list", "the end", "a string", "a number", "true or false", "null"}[k]
}

// place is where a token starts, in the source's own measure (bytes for JSON, line
// and column for YAML); it grows with the file.
type place int64

type token struct {
	kind kind
	text string // of a scalar: a string's value, otherwise as it is written
	at   place
}

// tokens is a source the decoder pulls from. Within an object names (kindString) and
// values alternate until kindEnd. After kindBad nothing else comes.
type tokens interface {
	next() token
	// skip drops what is left of the value that began with t.
	skip(t token)
	// raw is skip, and gives the whole value as JSON; nil when the source broke.
	raw(t token) json.RawMessage
	// pos is the line and the column of a place; cheap when places are asked for in order.
	pos(place) Pos
	// finish tells the source that the plan was read; what follows it is a problem.
	finish()
	// problem is why the source broke, or nil.
	problem() *problem
}

// problem is a mistake in the format itself; there is one at most, the first.
type problem struct {
	at      place
	code    string
	message string
}

// maxDepth is how deeply values may nest. Plans need 6; what a rehearse or metadata
// block needs is its author's choice. Bounded so that hostile files cost no stack.
const maxDepth = 200
