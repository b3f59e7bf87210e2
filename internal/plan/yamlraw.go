package plan

// This file turns a YAML value into JSON, for what a plan carries without reading it:
// metadata and rehearse blocks.

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// raw builds JSON from the tokens; it is bounded by the depth and the aliases allowed.
func (s *yamlSource) raw(t token) json.RawMessage {
	out := s.appendRaw(nil, t)
	if s.wrong != nil {
		return nil
	}
	return out
}

func (s *yamlSource) appendRaw(out []byte, t token) []byte {
	switch t.kind {
	case kindString:
		text, _ := json.Marshal(t.text) // a string cannot fail
		return append(out, text...)
	case kindNumber:
		return append(out, jsonNumber(t.text)...)
	case kindBool, kindNull:
		return append(out, t.text...)
	case kindArray, kindObject:
		brackets := "[]"
		if t.kind == kindObject {
			brackets = "{}"
		}
		out = append(out, brackets[0])
		for n := 0; ; n++ {
			e := s.next()
			if e.kind == kindEnd || e.kind == kindBad {
				return append(out, brackets[1])
			}
			if n > 0 {
				out = append(out, ',')
			}
			out = s.appendRaw(out, e)
			if t.kind == kindObject {
				out = s.appendRaw(append(out, ':'), s.next())
			}
		}
	}
	return out
}

// jsonNumber writes a number as JSON has it: no zeros in front, and null for what JSON
// cannot say.
func jsonNumber(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil, math.IsInf(f, 0), math.IsNaN(f):
		return "null"
	case strings.Trim(text, "0123456789") == "":
		if text = strings.TrimLeft(text, "0"); text == "" {
			return "0"
		}
		return text
	case json.Valid([]byte(text)):
		return text
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
