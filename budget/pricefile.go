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
	next := Prices{Date: p.Date, models: maps.Clone(p.models)}
	r := &priceReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), p: &next}
	r.dec.UseNumber()
	if err := r.object("", r.top); err != nil {
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

func (r *priceReader) top(name string) error {
	switch name {
	case "date":
		s, err := r.text(name)
		if err != nil || s == "" {
			return err
		}
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return r.mistake("the date %q is not YYYY-MM-DD", s)
		}
		r.p.Date = s
		return nil
	case "source":
		_, err := r.text(name)
		return err
	case "unit":
		s, err := r.text(name)
		if err == nil && s != "" && s != priceUnit {
			return r.mistake("the unit is %q; it must be %q", s, priceUnit)
		}
		return err
	case "models":
		return r.object("models: ", r.model)
	}
	return r.mistake("unknown field %q; a table has date, source, unit and models", name)
}

func (r *priceReader) model(name string) error {
	if name == "" {
		return r.mistake("a model has no name")
	}
	begins := r.at
	who := fmt.Sprintf("model %q", name)
	m := price{fast: 1}
	err := r.rates(who, begins, &m.rates, func(field string) (known bool, err error) {
		if field == "fast" {
			m.fast, err = r.number(who + ": fast")
			if err == nil && m.fast < 1 {
				err = r.mistake("%s: fast must be a factor of 1 or more", who)
			}
			return true, err
		}
		if field != "long" {
			return false, nil
		}
		begins, above := r.at, int64(0)
		err = r.rates(who+", long", begins, &m.long, func(field string) (known bool, err error) {
			if field == "above" {
				above, err = r.number(who + ", long: above")
				return true, err
			}
			return false, nil
		})
		if err == nil && above <= 0 {
			r.at = begins
			return true, r.mistake("%s, long: above must be a number of tokens", who)
		}
		m.above = above
		return true, err
	})
	if err != nil {
		return err
	}
	r.p.models[name] = m
	return nil
}

// rates parses an object with the four prices. other parses further fields and reports whether it
// knows the field. begins is the offset of the error for a missing price.
func (r *priceReader) rates(who string, begins int64, to *Rates, other func(field string) (bool, error)) error {
	fields := [...]struct {
		name string
		to   *USD
	}{{"input", &to.Input}, {"output", &to.Output}, {"cache_read", &to.CacheRead}, {"cache_write", &to.CacheWrite}}
	var given [len(fields)]bool
	err := r.object(who+": ", func(name string) error {
		for i, f := range fields {
			if f.name != name {
				continue
			}
			n, err := r.number(who + ": " + name)
			if err != nil {
				return err
			}
			if n < 0 {
				return r.mistake("%s: %s is negative", who, name)
			}
			*f.to, given[i] = USD(n), true
			return nil
		}
		known, err := other(name)
		if err == nil && !known {
			err = r.mistake("%s: unknown field %q", who, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, f := range fields {
		if !given[i] {
			r.at = begins
			return r.mistake("%s: %s is missing", who, f.name)
		}
	}
	return nil
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

func (r *priceReader) number(who string) (int64, error) {
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
