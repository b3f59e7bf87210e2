package plan

// This file reads single values and lists of strings: type, range, and advice for corrections. It
// does not know which field it reads.

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/plan/source"
)

// Upper bounds far above the needs of any run; a larger figure is a typing error.
const (
	maxDuration = 365 * 24 * time.Hour
	MaxCount    = 1_000_000_000
	maxUSD      = 1e9
)

// str reads a string; ok is false when a mistake was reported.
func (d *decoder) str(t source.Token) (string, bool) {
	if t.Kind != source.KindString {
		d.wrongType(t, source.KindString.String())
		return "", false
	}
	d.noteReferences(t.At, t.Text)
	return t.Text, d.rejectNUL(t)
}

// rejectNUL reports a NUL, which no command line, file name or prompt can contain.
func (d *decoder) rejectNUL(t source.Token) bool {
	if strings.IndexByte(t.Text, 0) >= 0 {
		d.errorf(t.At, CodeEncoding, "the string contains a NUL character; remove it")
		return false
	}
	return true
}

// text reads a string of any content into dst.
func (d *decoder) text(dst *string, t source.Token) {
	if s, ok := d.str(t); ok {
		*dst = s
	}
}

// nonEmptyString reads a string with at least one visible character into dst.
func (d *decoder) nonEmptyString(dst *string, t source.Token) {
	s, ok := d.str(t)
	if !ok {
		return
	}
	if strings.TrimSpace(s) == "" {
		d.errorf(t.At, CodeBadValue, "must not be empty; leave the field out instead")
		return
	}
	*dst = s
}

// singleLine is like word, for one line. It drops line ends around the text, which YAML's block texts
// have.
func (d *decoder) singleLine(dst *string, t source.Token) {
	var s string
	d.nonEmptyString(&s, t)
	if s = strings.TrimSpace(s); strings.ContainsAny(s, "\r\n") {
		d.errorf(t.At, CodeBadValue, "must be a single line; put the rest into description")
		return
	}
	*dst = s
}

// stringList reads a list of non-empty strings. A single string counts as a list of one.
func (d *decoder) stringList(dst *[]string, t source.Token) {
	if t.Kind == source.KindString {
		var s string
		if d.nonEmptyString(&s, t); s != "" {
			*dst = []string{s}
		}
		return
	}
	list := []string{}
	if d.list(t, "a list of strings", func(_ int, e source.Token) {
		var s string
		if d.nonEmptyString(&s, e); s != "" {
			list = append(list, s)
		}
	}) {
		*dst = list
	}
}

// enum reads one of the allowed strings.
func (d *decoder) enum(dst *string, t source.Token, allowed ...string) {
	s, ok := d.str(t)
	if !ok {
		return
	}
	if !slices.Contains(allowed, s) {
		d.errorf(t.At, CodeBadValue, "%s is not allowed here; use %s", source.Quote(s), orList(allowed))
		return
	}
	*dst = s
}

// number reads a finite number that is not negative.
func (d *decoder) number(t source.Token, limit float64) (float64, bool) {
	if t.Kind != source.KindNumber {
		d.wrongType(t, source.KindNumber.String())
		return 0, false
	}
	f, err := strconv.ParseFloat(t.Text, 64)
	switch {
	case err != nil && !math.IsInf(f, 0), math.IsNaN(f):
		d.errorf(t.At, CodeBadNumber, "%s is not a number", t.Text)
	case f < 0:
		d.errorf(t.At, CodeBadNumber, "%s is negative; it must be at least 0", t.Text)
	case f > limit:
		d.errorf(t.At, CodeBadNumber, "%s is too large; the most is %s", t.Text, strconv.FormatFloat(limit, 'f', -1, 64))
	default:
		return f, true
	}
	return 0, false
}

// count reads a whole number of at least least.
func (d *decoder) count(t source.Token, least int) (int, bool) {
	f, ok := d.number(t, MaxCount)
	if !ok {
		return 0, false
	}
	if f != math.Trunc(f) {
		d.errorf(t.At, CodeBadNumber, "%s is not a whole number", t.Text)
		return 0, false
	}
	if int(f) < least {
		d.errorf(t.At, CodeBadNumber, "%s is too small; it must be at least %d", t.Text, least)
		return 0, false
	}
	return int(f), true
}

// boolean reads true or false.
func (d *decoder) boolean(t source.Token) (value, ok bool) {
	if t.Kind != source.KindBool {
		d.wrongType(t, source.KindBool.String())
		return false, false
	}
	return t.Text == "true", true
}

// duration reads "90s", "10m", "1h30m", or a number of seconds. It must be positive.
func (d *decoder) duration(dst *time.Duration, t source.Token) {
	var v time.Duration
	switch t.Kind {
	case source.KindNumber:
		f, err := strconv.ParseFloat(t.Text, 64)
		if err != nil || math.IsNaN(f) || math.Abs(f) > maxDuration.Seconds() {
			d.errorf(t.At, CodeBadDuration, "%s seconds is out of range; the most is %d (a year)", t.Text,
				int(maxDuration.Seconds()))
			return
		}
		v = time.Duration(math.Round(f * float64(time.Second)))
	case source.KindString:
		var err error
		if v, err = time.ParseDuration(strings.TrimSpace(t.Text)); err != nil {
			d.errorf(t.At, CodeBadDuration, "%s is not a duration; write it like 90s, 10m or 1h30m, or as a number of seconds",
				source.Quote(t.Text))
			return
		}
	default:
		d.wrongType(t, `a duration like "10m" or a number of seconds`)
		return
	}
	switch {
	case v < 0:
		d.errorf(t.At, CodeBadDuration, "%s is negative; a duration must be positive", t.Text)
	case v == 0:
		d.errorf(t.At, CodeBadDuration, "a duration must be positive; leave the field out for no limit of its own")
	case v > maxDuration:
		d.errorf(t.At, CodeBadDuration, "%s is more than a year", t.Text)
	default:
		*dst = v
	}
}

// usd reads an amount in dollars: a number, or a string like "$2.50".
func (d *decoder) usd(t source.Token) (budget.USD, bool) {
	if t.Kind == source.KindString {
		u, err := budget.ParseUSD(t.Text)
		if err != nil {
			d.errorf(t.At, CodeBadNumber, "%s", err)
			return 0, false
		}
		return u, true
	}
	if t.Kind != source.KindNumber {
		d.wrongType(t, "an amount in dollars")
		return 0, false
	}
	f, ok := d.number(t, maxUSD)
	return budget.FromFloat(f), ok
}

// rehearse reads a block for the rehearsal agent. A mistake is reported at the start of the block.
func (d *decoder) rehearse(t source.Token) json.RawMessage {
	raw := d.src.Raw(t)
	if check := d.opts.ValidateRehearse; check != nil && raw != nil {
		if err := check(raw); err != nil {
			d.errorf(t.At, CodeBadValue, "in the rehearse block: %s", err)
		}
	}
	return raw
}
