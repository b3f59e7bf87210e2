package source

// This file converts a YAML value to JSON, for the parts that a plan carries without reading them:
// metadata and rehearse blocks.

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Raw builds JSON from the tokens. The limits of depth and aliases bound it.
func (s *YAML) Raw(t Token) json.RawMessage {
	out := s.appendRaw(nil, t)
	if s.Failure != nil {
		return nil
	}
	return out
}

func (s *YAML) appendRaw(out []byte, t Token) []byte {
	switch t.Kind {
	case KindString:
		text, _ := json.Marshal(t.Text) // encoding a string cannot fail
		return append(out, text...)
	case KindNumber:
		return append(out, jsonNumber(t.Text)...)
	case KindBool, KindNull:
		return append(out, t.Text...)
	case KindArray, KindObject:
		brackets := "[]"
		if t.Kind == KindObject {
			brackets = "{}"
		}
		out = append(out, brackets[0])
		for n := 0; ; n++ {
			e := s.Next()
			if e.Kind == KindEnd || e.Kind == KindBad {
				return append(out, brackets[1])
			}
			if n > 0 {
				out = append(out, ',')
			}
			out = s.appendRaw(out, e)
			if t.Kind == KindObject {
				out = s.appendRaw(append(out, ':'), s.Next())
			}
		}
	}
	return out
}

// jsonNumber writes a number in JSON's notation: without leading zeros, and null for values that
// JSON cannot express.
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
