package secret

import "reflect"

// Value returns v with the secrets removed from every string in it, at any depth: fields,
// elements, map values, raw bytes. Parts without secrets are shared with v, and parts with
// secrets are copied; v itself never changes. Keys of maps and unexported fields stay.
//
// Values are data, as Data says, but for fields with the tag `secret:"text"`, which people read.
func (r *Redactor) Value(v any) any {
	if r == nil || v == nil {
		return v
	}
	if out, changed := r.Data().walk(reflect.ValueOf(v)); changed {
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
		return r.parts(v, v.NumField(), reflect.Value.Field)
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
		p := part(v, i)
		if !p.CanInterface() {
			continue // an unexported field
		}
		in := r
		if v.Kind() == reflect.Struct && v.Type().Field(i).Tag.Get("secret") == "text" {
			in = &Redactor{values: r.values}
		}
		if e, changed := in.walk(p); changed {
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
