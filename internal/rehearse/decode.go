package rehearse

// This file decodes strictly and reports the position of a mistake with a suggestion. It knows
// JSON, not blocks.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// BlockError is a mistake in a block or a scenario.
type BlockError struct {
	File         string // "" if the text is not from a file
	Line, Column int    // from 1; Column in bytes
	Path         string // JSON Pointer of the value, "" at the top
	Msg          string // the mistake and how to correct it
}

func (e *BlockError) Error() string {
	where := ""
	if e.File != "" {
		where = fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	}
	if e.Path != "" {
		return fmt.Sprintf("%s%s: %s", where, e.Path, e.Msg)
	}
	return where + e.Msg
}

// decode reads text into v. Its error is a *BlockError.
func decode(text []byte, v any) error {
	err := jsonv2.Unmarshal(text, v, jsonv2.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	out := &BlockError{Line: 1, Column: 1, Msg: err.Error()}
	var sem *jsonv2.SemanticError
	var syn *jsontext.SyntacticError
	offset := 0
	switch {
	case errors.As(err, &syn):
		offset = int(syn.ByteOffset)
		out.Path, out.Msg = string(syn.JSONPointer), "not valid JSON: "+strings.TrimPrefix(syn.Err.Error(), "jsontext: ")
	case errors.As(err, &sem):
		// The innermost error has the reason, the outermost the whole path.
		out.Path = string(sem.JSONPointer)
		offset = offsetOf(text, sem.JSONPointer)
		out.Msg = decodeReason(sem)
	}
	out.Line = 1 + bytes.Count(text[:offset], []byte("\n"))
	out.Column = offset - bytes.LastIndexByte(text[:offset], '\n')
	return out
}

// decodeReason describes the decoder's error in the terms of the format.
func decodeReason(sem *jsonv2.SemanticError) string {
	inner := sem
	for errors.As(inner.Err, &inner) {
	}
	switch {
	case errors.Is(inner.Err, jsonv2.ErrUnknownName):
		name := sem.JSONPointer.LastToken()
		return fmt.Sprintf("unknown key %q; known are %s", name, strings.Join(knownKeys(inner.GoType), ", "))
	case inner.Err != nil:
		return inner.Err.Error()
	case inner.JSONKind != 0:
		return fmt.Sprintf("%s does not fit here", kindNames[inner.JSONKind])
	}
	return inner.Error()
}

var kindNames = map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number",
	'n': "null", 't': "a boolean", 'f': "a boolean"}

// knownKeys returns the names that an object of type t may have.
func knownKeys(t reflect.Type) []string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// offsetOf returns the offset of the value at ptr, or, for a member, of its name. It returns 0 if
// there is no such value.
func offsetOf(text []byte, ptr jsontext.Pointer) int {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		before := int(dec.InputOffset())
		if _, err := dec.ReadToken(); err != nil {
			return 0
		}
		if dec.StackPointer() == ptr {
			return before + len(text[before:int(dec.InputOffset())]) - len(bytes.TrimLeft(text[before:int(dec.InputOffset())],
				" \t\r\n,:"))
		}
	}
}

// object reads a JSON object into its members, without order; null and empty input have no members.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	m := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return m, true
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil, false
	}
	return m, true
}
