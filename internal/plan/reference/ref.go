package reference

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file has one reference and its text for given values.

// Ref is one reference: a path to a value, and functions that are applied to the value.
type Ref struct {
	Text  string // between the braces
	Path  []Step // the first step is the root
	funcs []function
}

// Step is a part of a path: a name, an index from 0, or all entries of a list.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
	All     bool
}

// function is default, join or json. text is the argument of the first two.
type function struct{ name, text string }

// Error is a mistake in a reference.
type Error struct {
	Ref    string // as far as it was read
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("the reference ${%s}: %s", e.Ref, e.Reason) }

// ErrMissing means that there is no value at a path.
var ErrMissing = errors.New("there is no such value")

// Value returns the value at the path, without the functions. found reports whether there is one. Behind [*] it is the
// list of the values that there are.
func (r *Ref) Value(values map[string]any) (v any, found bool) { return valueAt(values, r.Path) }

func valueAt(v any, path []Step) (_ any, found bool) {
	found = true
	for k, s := range path {
		if list, isList := v.([]any); s.All && isList {
			return allAt(list, path[k+1:]), true
		}
		switch in := v.(type) {
		case map[string]any:
			v, found = in[s.Name]
			found = found && !s.IsIndex && !s.All
		case []any:
			if found = s.IsIndex && s.Index < len(in); found {
				v = in[s.Index]
			}
		default:
			found = false
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}

// allAt returns the values at a path in the entries of a list, in order. Lists behind another [*] are joined.
func allAt(list []any, path []Step) []any {
	out := []any{}
	joined := slices.ContainsFunc(path, func(s Step) bool { return s.All })
	for _, one := range list {
		v, found := valueAt(one, path)
		more, isList := v.([]any)
		switch {
		case joined && isList:
			out = append(out, more...)
		case found:
			out = append(out, v)
		}
	}
	return out
}

// IsPlain reports whether the reference has no functions.
func (r *Ref) IsPlain() bool { return len(r.funcs) == 0 }

// Eval returns the text of the reference. values is decoded JSON with the roots as its fields. The error is an *Error
// or wraps one; it also wraps ErrMissing if there is no value and no default.
func (r *Ref) Eval(values map[string]any) (string, error) {
	v, found := r.Value(values)
	for _, f := range r.funcs {
		switch list, isList := v.([]any); f.name {
		case "default":
			if v == nil {
				v, found = f.text, true
			}
		case "json":
			text, err := json.Marshal(v)
			if err != nil || !found {
				return "", &Error{r.Text, ErrMissing.Error()}
			}
			v = string(text)
		case "join":
			if !isList {
				return "", &Error{r.Text, "join needs a list"}
			}
			texts := make([]string, len(list))
			for i, one := range list {
				var err error
				if texts[i], err = r.text(one); err != nil {
					return "", err
				}
			}
			v = strings.Join(texts, f.text)
		}
	}
	if !found {
		return "", fmt.Errorf("%w: %w", &Error{r.Text, "it has no value"}, ErrMissing)
	}
	return r.text(v)
}

// text returns a value as text.
func (r *Ref) text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	case nil:
		return "", &Error{r.Text, "the value is null; add | default(\"...\")"}
	case []any:
		return "", &Error{r.Text, misfits["array"]}
	}
	return "", &Error{r.Text, misfits["object"]}
}

// Misfit says why no value of a type of JSON Schema has a text by the reference; "" if one may. kind "" is an unknown
// type.
func (r *Ref) Misfit(kind string) string {
	for _, f := range r.funcs {
		switch {
		case f.name == "json":
			return ""
		case f.name == "join" && kind != "" && kind != "array":
			return "join needs a list"
		case f.name == "join":
			kind = "string"
		}
	}
	return misfits[kind]
}

// misfits are the reasons why values of a type have no text.
var misfits = map[string]string{
	"array":  `the value is a list; add | join(", ") or | json`,
	"object": "the value is an object; name a field of it, or add | json",
}
