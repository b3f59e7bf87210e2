package rehearse

// This file defines the format and the rules of blocks: instructions for the agent, one for each
// attempt of a task. It executes nothing.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"wavex/budget"
)

// Block describes one user turn of the agent. A nil or empty field was not given and has the
// default of docs/rehearsal.md.
type Block struct {
	Duration   *Duration      `json:"duration,omitzero"`   // of the whole turn, without commands
	Cost       *Dollars       `json:"cost,omitzero"`       // of the whole turn
	Turns      *Count         `json:"turns,omitzero"`      // API responses that share time, cost and edits
	Report     *string        `json:"report,omitzero"`     // the last message
	Model      string         `json:"model,omitzero"`      // the model it reports; takes precedence over --model
	Writes     []Write        `json:"writes,omitzero"`     // made in order, after Deletes
	Deletes    []LocalPath    `json:"deletes,omitzero"`    //
	Runs       []string       `json:"runs,omitzero"`       // shell commands, after Writes
	Outcome    Outcome        `json:"outcome,omitzero"`    // "" is ok
	Usage      *Tokens        `json:"usage,omitzero"`      // of the whole turn; default: computed from Cost
	Structured jsontext.Value `json:"structured,omitzero"` // the answer for --json-schema
	After      *Count         `json:"after,omitzero"`      // responses before the outcome takes effect
	ResetIn    *Duration      `json:"reset_in,omitzero"`   // limited, warning: time until the limit resets
	Linger     *Duration      `json:"linger,omitzero"`     // maximum time of hangs and orphans
	Attempts   []Block        `json:"attempts,omitzero"`   // one for each attempt; the last one repeats
}

// Write is one file that the agent creates or changes. Exactly one of Content, Append, From, Replace
// and Fill is set.
type Write struct {
	Path    LocalPath `json:"path"`
	Content *string   `json:"content,omitzero"`
	Append  *string   `json:"append,omitzero"`
	From    string    `json:"from,omitzero"` // a file to copy, relative to the working directory
	Replace *Replace  `json:"replace,omitzero"`
	Fill    []string  `json:"fill,omitzero"` // lines that the file shall have; see filled
	Mode    Mode      `json:"mode,omitzero"`
}

// Replace changes the only occurrence of Old.
type Replace struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Tokens holds the reported token counts.
type Tokens struct {
	Input      Count `json:"input,omitzero"`
	Output     Count `json:"output,omitzero"`
	CacheRead  Count `json:"cache_read,omitzero"`
	CacheWrite Count `json:"cache_write,omitzero"`
}

// Duration is a time in Go's notation, "1.5s". WAVEX_REHEARSE_SPEED divides it.
type Duration time.Duration

// Dollars is an amount in micro-dollars, written as a decimal number of dollars.
type Dollars budget.USD

// Count is a number that is not negative.
type Count int64

// LocalPath is a relative path, separated by slashes, that stays inside the working directory.
type LocalPath string

// Mode is a file's permission bits, written in octal, "0755". 0 means 0644, or the mode of an
// existing file.
type Mode uint32

const maxTurns = 10_000

// ParseBlock reads a block strictly: an unknown key, a wrong type, an unknown outcome or a path
// that leaves the working directory is a *BlockError. Empty input and null are an empty block.
func ParseBlock(raw json.RawMessage) (*Block, error) {
	b := new(Block)
	if len(raw) == 0 {
		return b, nil
	}
	if err := decode(raw, b); err != nil {
		return nil, err
	}
	return b, nil
}

// ForAttempt returns the block of attempt n, from 1: the entry of Attempts, completed with values
// of the outer block.
func (b *Block) ForAttempt(n int) *Block {
	out := *b
	out.Attempts = nil
	if len(b.Attempts) == 0 {
		return &out
	}
	in := reflect.ValueOf(b.Attempts[min(max(n, 1), len(b.Attempts))-1])
	for i := range in.NumField() {
		if given := in.Field(i); !given.IsZero() {
			reflect.ValueOf(&out).Elem().Field(i).Set(given)
		}
	}
	return &out
}

// valueOr returns the value of an optional field.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// UnmarshalJSONFrom also refuses nested attempts.
func (b *Block) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Block
	if err := jsonv2.UnmarshalDecode(dec, (*plain)(b)); err != nil {
		return err
	}
	for i := range b.Attempts {
		if b.Attempts[i].Attempts != nil {
			return errors.New("an attempt cannot have attempts of its own")
		}
	}
	if b.Turns != nil && (*b.Turns < 1 || *b.Turns > maxTurns) {
		return fmt.Errorf("turns must be from 1 to %d", maxTurns)
	}
	return nil
}

// UnmarshalJSONFrom also requires exactly one kind of write.
func (w *Write) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Write
	if err := jsonv2.UnmarshalDecode(dec, (*plain)(w)); err != nil {
		return err
	}
	ways := 0
	for _, given := range []bool{w.Content != nil, w.Append != nil, w.From != "", w.Replace != nil, w.Fill != nil} {
		if given {
			ways++
		}
	}
	switch {
	case w.Path == "":
		return errors.New("a write needs a path")
	case ways != 1:
		return fmt.Errorf("the write of %q needs exactly one of content, append, from, replace and fill", w.Path)
	case w.Replace != nil && w.Replace.Old == "":
		return fmt.Errorf("the write of %q replaces nothing: old is empty", w.Path)
	}
	return nil
}

// UnmarshalText parses a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration; write it like \"1.5s\"", text)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalJSON parses dollars.
func (d *Dollars) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || v < 0 || v > 1e6 {
		return fmt.Errorf("%s is not an amount in dollars; write a number like 0.02", raw)
	}
	*d = Dollars(budget.FromFloat(v))
	return nil
}

// UnmarshalJSON parses a count.
func (c *Count) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || v < 0 || v > 1<<40 || v != math.Trunc(v) {
		return fmt.Errorf("%s is not a whole number of zero or more", raw)
	}
	*c = Count(v)
	return nil
}

// UnmarshalText parses a path.
func (p *LocalPath) UnmarshalText(text []byte) error {
	s := string(text)
	if !filepath.IsLocal(filepath.FromSlash(s)) || filepath.Clean(s) == "." {
		return fmt.Errorf("path %q must be relative and stay inside the working directory", s)
	}
	*p = LocalPath(s)
	return nil
}

// UnmarshalText parses an octal mode.
func (m *Mode) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil || v == 0 || v > 0o777 {
		return fmt.Errorf("mode %q is not octal permission bits; write it like \"0755\"", text)
	}
	*m = Mode(v)
	return nil
}

// UnmarshalText parses an outcome.
func (o *Outcome) UnmarshalText(text []byte) error {
	if !slices.Contains(Outcomes[:], Outcome(text)) {
		names := make([]string, len(Outcomes))
		for i, known := range Outcomes {
			names[i] = string(known)
		}
		if slices.Contains([]string{"split-utf8", "big-line"}, string(text)) {
			return fmt.Errorf("the outcome %q was removed: take ok", text)
		}
		return fmt.Errorf("unknown outcome %q; known are %s", text, strings.Join(names, ", "))
	}
	*o = Outcome(text)
	return nil
}
