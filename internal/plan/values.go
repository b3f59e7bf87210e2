package plan

// This file reads single values and lists of strings: type, range, and what to write
// instead. It does not know which field it reads.

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
)

// Upper bounds that no run comes near; beyond them a figure is a slip of the pen.
const (
	maxDuration = 365 * 24 * time.Hour
	maxCount    = 1_000_000_000
	maxUSD      = 1e9
)

// str reads a string; ok is false when a mistake was reported.
func (d *decoder) str(t token) (string, bool) {
	if t.kind != kindString {
		d.wrongType(t, kindString.String())
		d.src.skip(t)
		return "", false
	}
	return t.text, d.clean(t)
}

// clean reports a NUL, which no command line, file name or prompt can carry.
func (d *decoder) clean(t token) bool {
	if strings.IndexByte(t.text, 0) >= 0 {
		d.errorf(t.at, CodeEncoding, "the string contains a NUL character; remove it")
		return false
	}
	return true
}

// text reads a string of any content into dst.
func (d *decoder) text(dst *string, t token) {
	if s, ok := d.str(t); ok {
		*dst = s
	}
}

// word reads a string with at least one visible character into dst.
func (d *decoder) word(dst *string, t token) {
	s, ok := d.str(t)
	if !ok {
		return
	}
	if strings.TrimSpace(s) == "" {
		d.errorf(t.at, CodeBadValue, "must not be empty; leave the field out instead")
		return
	}
	*dst = s
}

// line is word for one line; line ends around it, which YAML's block texts bring, are dropped.
func (d *decoder) line(dst *string, t token) {
	var s string
	d.word(&s, t)
	if s = strings.TrimSpace(s); strings.ContainsAny(s, "\r\n") {
		d.errorf(t.at, CodeBadValue, "must be a single line; put the rest into description")
		return
	}
	*dst = s
}

// words reads a list of non-empty strings; a single string counts as a list of one.
func (d *decoder) words(dst *[]string, t token) {
	if t.kind == kindString {
		var s string
		if d.word(&s, t); s != "" {
			*dst = []string{s}
		}
		return
	}
	list := []string{}
	if d.list(t, "a list of strings", func(_ int, e token) {
		var s string
		if d.word(&s, e); s != "" {
			list = append(list, s)
		}
	}) {
		*dst = list
	}
}

// enum reads one of the allowed strings.
func (d *decoder) enum(dst *string, t token, allowed ...string) {
	s, ok := d.str(t)
	if !ok {
		return
	}
	if !slices.Contains(allowed, s) {
		d.errorf(t.at, CodeBadValue, "%s is not allowed here; use %s", quote(s), either(allowed))
		return
	}
	*dst = s
}

// number reads a finite number that is not negative.
func (d *decoder) number(t token, limit float64) (float64, bool) {
	if t.kind != kindNumber {
		d.wrongType(t, kindNumber.String())
		d.src.skip(t)
		return 0, false
	}
	f, err := strconv.ParseFloat(t.text, 64)
	switch {
	case err != nil && !math.IsInf(f, 0), math.IsNaN(f):
		d.errorf(t.at, CodeBadNumber, "%s is not a number", t.text)
	case f < 0:
		d.errorf(t.at, CodeBadNumber, "%s is negative; it must be at least 0", t.text)
	case f > limit:
		d.errorf(t.at, CodeBadNumber, "%s is too large; the most is %s", t.text, strconv.FormatFloat(limit, 'f', -1, 64))
	default:
		return f, true
	}
	return 0, false
}

// count reads a whole number of at least least.
func (d *decoder) count(t token, least int) (int, bool) {
	f, ok := d.number(t, maxCount)
	if !ok {
		return 0, false
	}
	if f != math.Trunc(f) {
		d.errorf(t.at, CodeBadNumber, "%s is not a whole number", t.text)
		return 0, false
	}
	if int(f) < least {
		d.errorf(t.at, CodeBadNumber, "%s is too small; it must be at least %d", t.text, least)
		return 0, false
	}
	return int(f), true
}

// truth reads true or false.
func (d *decoder) truth(t token) (value, ok bool) {
	if t.kind != kindBool {
		d.wrongType(t, kindBool.String())
		d.src.skip(t)
		return false, false
	}
	return t.text == "true", true
}

// duration reads "90s", "10m", "1h30m", or a number of seconds; it must be positive.
func (d *decoder) duration(dst *time.Duration, t token) {
	var v time.Duration
	switch t.kind {
	case kindNumber:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil || math.IsNaN(f) || math.Abs(f) > maxDuration.Seconds() {
			d.errorf(t.at, CodeBadDuration, "%s seconds is out of range; the most is %d (a year)", t.text, int(maxDuration.Seconds()))
			return
		}
		v = time.Duration(math.Round(f * float64(time.Second)))
	case kindString:
		var err error
		if v, err = time.ParseDuration(strings.TrimSpace(t.text)); err != nil {
			d.errorf(t.at, CodeBadDuration, "%s is not a duration; write it like 90s, 10m or 1h30m, or as a number of seconds", quote(t.text))
			return
		}
	default:
		d.wrongType(t, `a duration like "10m" or a number of seconds`)
		d.src.skip(t)
		return
	}
	switch {
	case v < 0:
		d.errorf(t.at, CodeBadDuration, "%s is negative; a duration must be positive", t.text)
	case v == 0:
		d.errorf(t.at, CodeBadDuration, "a duration must be positive; leave the field out for no limit of its own")
	case v > maxDuration:
		d.errorf(t.at, CodeBadDuration, "%s is more than a year", t.text)
	default:
		*dst = v
	}
}

// usd reads an amount in dollars: a number, or a string like "$2.50".
func (d *decoder) usd(t token) (budget.USD, bool) {
	if t.kind == kindString {
		u, err := budget.ParseUSD(t.text)
		if err != nil {
			d.errorf(t.at, CodeBadNumber, "%s", err)
			return 0, false
		}
		return u, true
	}
	if t.kind != kindNumber {
		d.wrongType(t, "an amount in dollars")
		d.src.skip(t)
		return 0, false
	}
	f, ok := d.number(t, maxUSD)
	return budget.FromFloat(f), ok
}
