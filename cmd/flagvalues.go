package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
)

// This file has the types of flags that refuse wrong values. Binding a flag to a field leaves the field as it is.

// value is a flag that stores into a field.
type value struct {
	kind    string // as the help names it
	takes   string // for errors: "a number from 1"
	choices []string
	get     func() string
	set     func(string) bool
}

func (v *value) Type() string { return v.kind }

func (v *value) String() string {
	if v.get == nil || v.get() == "0s" { // pflag asks zero values
		return ""
	}
	return v.get()
}

// Set stores a value. Its error completes a sentence that begins with the flag.
func (v *value) Set(s string) error {
	if v.set(s) {
		return nil
	}
	return errors.New("takes " + v.takes + ", not " + strconv.Quote(s))
}

// parsed takes what parse accepts.
func parsed[T any](to *T, kind, takes string, parse func(string) (T, bool)) *value {
	return &value{kind: kind, takes: takes, get: func() string { return fmt.Sprint(*to) }, set: func(s string) bool {
		v, ok := parse(s)
		if ok {
			*to = v
		}
		return ok
	}}
}

// choice takes one of the words.
func choice[T ~string](to *T, words ...string) *value {
	v := parsed(to, "word", "one of "+strings.Join(words, ", "), func(s string) (T, bool) {
		return T(s), slices.Contains(words, s)
	})
	v.choices = words
	return v
}

// onOff takes on or off.
func onOff(to *bool) *value {
	word := map[bool]string{true: "on", false: "off"}
	v := choice(new(string), "on", "off")
	v.get = func() string { return word[*to] }
	v.set = func(s string) bool {
		*to = s == "on" || *to && s != "off"
		return s == word[*to]
	}
	return v
}

// number takes a whole number of at least least.
func number(to *int, least int) *value {
	return parsed(to, "int", fmt.Sprintf("a number from %d", least), func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= least
	})
}

// optionalNumber takes a whole number of at least least. Without one it stays nil.
func optionalNumber(to **int, least int) *value {
	v := parsed(to, "int", fmt.Sprintf("a number from %d", least), func(s string) (*int, bool) {
		n, err := strconv.Atoi(s)
		return &n, err == nil && n >= least
	})
	v.get = func() string {
		if *to == nil {
			return ""
		}
		return strconv.Itoa(**to)
	}
	return v
}

// duration takes a duration of at least least.
func duration(to *time.Duration, least time.Duration, like string) *value {
	return parsed(to, "duration", "a duration like "+like, func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= least
	})
}

// limit takes a number from least, +N for N more than the field has, or a word for no limit, which sets the field to 0
// and none, unless that is nil, to true.
func limit[T int | int64 | budget.USD](to *T, none *bool, takes string, least T,
	parse func(string) (T, error)) *value {
	text := ""
	return &value{kind: "string", takes: takes, get: func() string { return text }, set: func(s string) bool {
		more, plus := strings.CutPrefix(s, "+")
		n, err := parse(more)
		lifted := s == "none" || s == "unlimited"
		if !lifted && (err != nil || n < least) {
			return false
		}
		if text = s; lifted {
			n = 0
		} else if plus {
			n += *to
		}
		if *to = n; none != nil {
			*none = lifted
		}
		return true
	}}
}
