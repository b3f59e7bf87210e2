package secret

import (
	"reflect"
	"slices"
)

// Value returns v with the secrets removed from every string in it, at any depth: fields,
// elements, map values, raw bytes. Parts without secrets are shared with v, and parts with
// secrets are copied; v itself never changes. Keys of maps and unexported fields stay.
func (r *Redactor) Value(v any) any {
	if r == nil || v == nil {
		return v
	}
	if out, changed := r.walk(reflect.ValueOf(v)); changed {
		return out.Interface()
	}
	return v
}

// walk returns v, or a changed copy of it.
func (r *Redactor) walk(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if clean := r.String(s); clean != s {
			return reflect.ValueOf(clean).Convert(v.Type()), true
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b := v.Bytes()
			if found := r.find(b); len(found) > 0 {
				return reflect.ValueOf(replace(nil, b, found)).Convert(v.Type()), true
			}
			return v, false
		}
		return r.elements(v, v.Len(), func() reflect.Value {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			return c
		})
	case reflect.Array:
		return r.elements(v, v.Len(), func() reflect.Value { return settableCopy(v) })
	case reflect.Map:
		return r.entries(v)
	case reflect.Struct:
		var out reflect.Value
		for _, i := range r.fields(v.Type()) {
			if e, changed := r.walk(v.Field(i)); changed {
				if !out.IsValid() {
					out = settableCopy(v)
				}
				out.Field(i).Set(e)
			}
		}
		if out.IsValid() {
			return out, true
		}
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		if e, changed := r.walk(v.Elem()); changed {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(e)
			return p, true
		}
	case reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		if e, changed := r.walk(v.Elem()); changed {
			return e, true
		}
	}
	return v, false
}

// entries walks the values of a map.
func (r *Redactor) entries(v reflect.Value) (reflect.Value, bool) {
	var out reflect.Value
	for it := v.MapRange(); it.Next(); {
		if e, changed := r.walk(it.Value()); changed {
			if !out.IsValid() {
				out = reflect.MakeMapWithSize(v.Type(), v.Len())
				for all := v.MapRange(); all.Next(); {
					out.SetMapIndex(all.Key(), all.Value())
				}
			}
			out.SetMapIndex(it.Key(), e)
		}
	}
	if out.IsValid() {
		return out, true
	}
	return v, false
}

// elements walks n elements of v. It calls duplicate for the copy when the first one changes.
func (r *Redactor) elements(v reflect.Value, n int, duplicate func() reflect.Value) (reflect.Value, bool) {
	var out reflect.Value
	for i := range n {
		if e, changed := r.walk(v.Index(i)); changed {
			if !out.IsValid() {
				out = duplicate()
			}
			out.Index(i).Set(e)
		}
	}
	if out.IsValid() {
		return out, true
	}
	return v, false
}

// settableCopy returns a copy of v that can be changed.
func settableCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// fields returns the indexes of the fields of a struct that may hold a text. It caches them,
// because a large run asks thousands of times for the same few types.
func (r *Redactor) fields(t reflect.Type) []int {
	if known, ok := r.types.Load(t); ok {
		return known.([]int)
	}
	var out []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && mayHoldText(f.Type, nil) {
			out = append(out, i)
		}
	}
	r.types.Store(t, out)
	return out
}

// mayHoldText reports whether a value of a type may hold a text where walk looks. within holds the
// types of the callers: a recursive type holds a text only if another part of it does.
func mayHoldText(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) {
		return false
	}
	within = append(within[:len(within):len(within)], t)
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || mayHoldText(t.Elem(), within)
	case reflect.Array, reflect.Map, reflect.Pointer:
		return mayHoldText(t.Elem(), within)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && mayHoldText(f.Type, within) {
				return true
			}
		}
	}
	return false
}
