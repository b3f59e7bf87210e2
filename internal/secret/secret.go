// Package secret takes secrets out of texts before they are kept or shown: the values
// of environment variables whose names say that they are secret, and keys of common
// services by their form. It knows texts only; who calls it, and when, is cmd's
// business. What it does not recognise it leaves alone, so it is the second line:
// the first is that a project's secrets do not reach agents and checks at all
// (proc.Environ).
package secret

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// Redactor replaces secrets by a note of what was there, as in
// "[redacted: GITHUB_TOKEN]". It is not changed by use; its methods may be called
// from many goroutines at once. The nil Redactor changes nothing.
type Redactor struct {
	values []value  // longest first
	types  sync.Map // reflect.Type to []int: what fields has found out
}

// New makes a Redactor for the values of an environment ("NAME=value") and for the
// keys that are known by their form.
func New(environ []string) *Redactor { return &Redactor{values: values(environ)} }

// span is a secret at b[from:to].
type span struct {
	from, to int
	what     string
}

// find gives the secrets in b in their order; none overlaps another.
func (r *Redactor) find(b []byte) []span {
	var all []span
	for _, v := range r.values {
		for at := 0; ; {
			i := bytes.Index(b[at:], v.text)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(v.text), v.name})
			at += i + len(v.text)
		}
	}
	for i := range forms {
		all = forms[i].find(b, all)
	}
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.to, x.to))
	})
	out := all[:1]
	for _, s := range all[1:] {
		if last := &out[len(out)-1]; s.from >= last.to {
			out = append(out, s)
		} else {
			last.to = max(last.to, s.to) // two that overlap go together, under the first one's name
		}
	}
	return out
}

// Bytes returns b without its secrets: b itself where it has none, else a copy.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	if found := r.find(b); len(found) > 0 {
		return replace(nil, b, found)
	}
	return b
}

// String returns s without its secrets.
func (r *Redactor) String(s string) string {
	if r == nil || len(s) < shortest {
		return s
	}
	b := []byte(s)
	if found := r.find(b); len(found) > 0 {
		return string(replace(nil, b, found))
	}
	return s
}

// replace appends b to dst, with notes in the place of the spans.
func replace(dst, b []byte, found []span) []byte {
	at := 0
	for _, s := range found {
		dst = append(dst, b[at:s.from]...)
		dst = append(dst, "[redacted: "...)
		dst = append(dst, s.what...)
		dst = append(dst, ']')
		at = s.to
	}
	return append(dst, b[at:]...)
}
