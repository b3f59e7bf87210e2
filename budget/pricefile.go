package budget

// This file parses a price table token by token, so that each error has its position.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"time"
)

// PriceError is an error in a price table. Line and Column count from 1, Column in bytes.
type PriceError struct {
	Line, Column int
	Text         string
}

func (e *PriceError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Text) }

// priceReader parses one table.
type priceReader struct {
	data []byte
	dec  *json.Decoder
	at   int64 // offset of the last token
	p    *Prices
}

// read overlays p with a table. On an error p is unchanged.
func (p *Prices) read(data []byte) error {
	next := Prices{maps.Clone(p.models), p.hour, p.search, maps.Clone(p.geo)}
	r := &priceReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), p: &next}
	r.dec.UseNumber()
	factors := []field{{"cache_hour", &next.hour, 1, true}, {"search", &next.search, 0, true}}
	if err := r.numbers("", factors, r.top); err != nil {
		return err
	}
	if _, err := r.token(); !errors.Is(err, io.EOF) {
		return r.mistake("something follows the object")
	}
	*p = next
	return nil
}

func (r *priceReader) mistake(format string, args ...any) error {
	at := min(r.at, int64(len(r.data)))
	before := r.data[:at]
	return &PriceError{Line: 1 + bytes.Count(before, []byte("\n")),
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Text:   fmt.Sprintf(format, args...)}
}

// token returns the next token. Its error is io.EOF at the end of the data, or a syntax error of
// encoding/json; wrong formats it for the user.
func (r *priceReader) token() (json.Token, error) {
	r.at = r.dec.InputOffset()
	for r.at < int64(len(r.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[r.at]) >= 0 {
		r.at++
	}
	return r.dec.Token()
}

func (r *priceReader) wrong(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.at = int64(len(r.data))
		return r.mistake("unexpected EOF: the object is not closed")
	case errors.As(err, &syntax) && syntax.Offset > 0:
		r.at = max(r.at, syntax.Offset-1)
	}
	return r.mistake("%s", err)
}

// object parses an object and calls member for each key. Its error messages have the prefix who.
func (r *priceReader) object(who string, member func(name string) error) error {
	t, err := r.token()
	if err != nil {
		return r.wrong(err)
	}
	if t != json.Delim('{') {
		return r.mistake("%swant an object, not %s", who, tokenText(t))
	}
	seen := map[string]bool{}
	for {
		t, err := r.token()
		if err != nil {
			return r.wrong(err)
		}
		name, ok := t.(string)
		if !ok {
			return nil // the closing brace
		}
		if seen[name] {
			return r.mistake("%s%q comes twice", who, name)
		}
		seen[name] = true
		if err := member(name); err != nil {
			return err
		}
	}
}

func (r *priceReader) top(name string) (known bool, err error) {
	switch name {
	case "unit":
		s, err := r.text(name)
		if err == nil && s != "" && s != priceUnit {
			err = r.mistake("the unit is %q; it must be %q", s, priceUnit)
		}
		return true, err
	case "geo":
		return true, r.object("geo: ", func(where string) (err error) {
			r.p.geo[where], err = r.number("geo: "+where, 1)
			return err
		})
	case "models":
		return true, r.object("models: ", r.model)
	}
	return r.origin(name)
}

// origin parses the date or the source of a table or of a row.
func (r *priceReader) origin(name string) (known bool, err error) {
	if name != "date" && name != "source" {
		return false, nil
	}
	s, err := r.text(name)
	if err == nil && s != "" && name == "date" {
		if _, wrong := time.Parse(time.DateOnly, s); wrong != nil {
			err = r.mistake("the date %q is not YYYY-MM-DD", s)
		}
	}
	return true, err
}

func (r *priceReader) model(name string) error {
	if name == "" {
		return r.mistake("a model has no name")
	}
	who := fmt.Sprintf("model %q", name)
	m := price{fast: 1}
	err := r.numbers(who+": ", append(m.rates.fields(), field{"fast", &m.fast, 1, true}), func(name string) (bool, error) {
		if name == "long" {
			return true, r.numbers(who+", long: ", append(m.long.fields(), field{"above", &m.above, 1, false}), r.origin)
		}
		return r.origin(name)
	})
	if err == nil {
		r.p.models[name] = m
	}
	return err
}

// field is a number in an object.
type field struct {
	name     string
	to       *int64
	least    int64
	optional bool
}

func (r *Rates) fields() []field {
	return []field{{"input", (*int64)(&r.Input), 0, false}, {"output", (*int64)(&r.Output), 0, false},
		{"cache_read", (*int64)(&r.CacheRead), 0, false}, {"cache_write", (*int64)(&r.CacheWrite), 0, false}}
}

// numbers parses an object with the fields. other parses further members and reports whether it knows the name.
func (r *priceReader) numbers(who string, fields []field, other func(name string) (bool, error)) error {
	begins, given := r.at, map[string]bool{}
	err := r.object(who, func(name string) (err error) {
		for _, f := range fields {
			if f.name == name {
				given[name] = true
				*f.to, err = r.number(who+name, f.least)
				return err
			}
		}
		known, err := other(name)
		if err == nil && !known {
			err = r.mistake("%sunknown field %q", who, name)
		}
		return err
	})
	for _, f := range fields {
		if err == nil && !f.optional && !given[f.name] {
			r.at = begins
			err = r.mistake("%s%s is missing", who, f.name)
		}
	}
	return err
}

func (r *priceReader) text(name string) (string, error) {
	t, err := r.token()
	if err != nil {
		return "", r.wrong(err)
	}
	s, ok := t.(string)
	if !ok {
		return "", r.mistake("%s: want a text, not %s", name, tokenText(t))
	}
	return s, nil
}

func (r *priceReader) number(who string, least int64) (int64, error) {
	t, err := r.token()
	if err != nil {
		return 0, r.wrong(err)
	}
	s, ok := t.(json.Number)
	if !ok {
		return 0, r.mistake("%s: want a whole number, not %s", who, tokenText(t))
	}
	n, err := strconv.ParseInt(s.String(), 10, 64)
	if err != nil {
		return 0, r.mistake("%s: want a whole number, not %s", who, s)
	}
	if n < least {
		return 0, r.mistake("%s: must be at least %d", who, least)
	}
	return n, nil
}

func tokenText(t json.Token) string {
	switch v := t.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(t)
}
