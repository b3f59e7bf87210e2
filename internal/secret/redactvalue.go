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
		return r.parts(v, v.Len(), reflect.Value.Index)
	case reflect.Array:
		return r.parts(v, v.Len(), reflect.Value.Index)
	case reflect.Struct:
		fields := r.fields(v.Type())
		return r.parts(v, len(fields), func(v reflect.Value, i int) reflect.Value { return v.Field(fields[i]) })
	case reflect.Map:
		return r.entries(v)
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
		if !v.IsNil() {
			return r.walk(v.Elem())
		}
	}
	return v, false
}

// entries walks the values of a map.
func (r *Redactor) entries(v reflect.Value) (reflect.Value, bool) {
	out, copied := v, false
	for it := v.MapRange(); it.Next(); {
		if e, changed := r.walk(it.Value()); changed {
			if !copied {
				out, copied = reflect.MakeMapWithSize(v.Type(), v.Len()), true
				for all := v.MapRange(); all.Next(); {
					out.SetMapIndex(all.Key(), all.Value())
				}
			}
			out.SetMapIndex(it.Key(), e)
		}
	}
	return out, copied
}

// parts walks n parts of v. It copies v when the first of them changes.
func (r *Redactor) parts(v reflect.Value, n int,
	part func(v reflect.Value, i int) reflect.Value) (reflect.Value, bool) {
	copied := false
	for i := range n {
		if e, changed := r.walk(part(v, i)); changed {
			if !copied {
				v, copied = settableCopy(v), true
			}
			part(v, i).Set(e)
		}
	}
	return v, copied
}

// settableCopy returns a shallow copy of v whose parts can be set.
func settableCopy(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Slice {
		return reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
	}
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
