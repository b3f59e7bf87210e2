package cmd

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"wavex/budget"
	"wavex/internal/plan"
)

// This file has the types of flags that refuse wrong values. Binding a flag to a field leaves the field as it is.

// value is a flag that stores into a field.
type value struct {
	kind    string // as the help names it
	takes   string // for errors: "a number from 1"
	choices []string
	get     func() string
	set     func(string) bool
	to      any               // the pointer to the field
	copy    func(from *value) // stores the value of another one of its setting
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
	}, to: to, copy: func(from *value) { *to = *from.to.(*T) }}
}

// text takes any text.
func text(to *string) *value {
	return parsed(to, "string", "a text", func(s string) (string, bool) { return s, true })
}

// truth takes true or false.
func truth(to *bool) *value {
	return parsed(to, "bool", "true or false", func(s string) (bool, bool) {
		is, err := strconv.ParseBool(s)
		return is, err == nil
	})
}

// list takes texts: the first replaces those of the field, the others are added.
func list(to *[]string) pflag.Value {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.StringArrayVar(to, "list", *to, "")
	return f.Lookup("list").Value
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
	v := parsed(to, "word", "one of on, off", func(s string) (bool, bool) { return s == "on", s == "on" || s == "off" })
	v.choices = []string{"on", "off"}
	v.get = func() string { return map[bool]string{true: "on", false: "off"}[*to] }
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

// limit takes a number from least, +N for N more than the field of the run has, or a word for no limit, which sets the
// field to 0 and none, unless that is nil, to true.
func limit[T int | int64 | budget.USD](to *T, none *bool, takes string, least T,
	parse func(string) (T, error)) *value {
	text := ""
	v := parsed(to, "string", takes, func(s string) (T, bool) {
		n, err := parse(strings.TrimPrefix(s, "+"))
		lifted := isLifted(s)
		if !lifted && (err != nil || n < least) {
			return 0, false
		}
		text = s
		set(lifted, &n, 0)
		if none != nil {
			*none = lifted
		}
		return n, true
	})
	v.get = func() string { return text }
	v.copy = func(from *value) {
		if n := *from.to.(*T); strings.HasPrefix(from.get(), "+") {
			*to += n
		} else {
			*to = n
		}
		if none != nil {
			*none = isLifted(from.get())
		}
	}
	return v
}

// isLifted reports whether a limit is a word for none.
func isLifted(limit string) bool { return limit == "none" || limit == "unlimited" }

// planText returns a value of a plan for people, or "" if the plan has none.
func planText(v any) string {
	of := reflect.ValueOf(v)
	if of.IsZero() {
		return ""
	}
	switch v := reflect.Indirect(of).Interface().(type) {
	case budget.USD:
		if v == plan.NoLimit {
			return "none"
		}
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v)
	}
}
