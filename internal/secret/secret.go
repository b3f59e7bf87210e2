// Package secret removes secrets from texts before they are kept or shown: the values of
// environment variables with secret names, and keys of common services by their form. It knows
// texts only; cmd decides when to call it. Unrecognised secrets stay, so this is the second line
// of defence. The first one is that a project's secrets do not reach agents and checks at all
// (proc.Environ).
package secret

import (
	"bytes"
	"cmp"
	"slices"
)

// Redactor replaces secrets with a note, as in "[redacted: GITHUB_TOKEN]". It is immutable and
// safe for concurrent use. The nil Redactor changes nothing.
type Redactor struct {
	values []secretValue // longest first
	data   bool          // it leaves forms of keys that also match code
}

// New returns a Redactor for the values of an environment ("NAME=value") and for the keys with a
// known form.
func New(environ []string) *Redactor { return &Redactor{values: secretValues(environ)} }

// Data returns a Redactor for data that wavex or a task reads again. It leaves secrets whose form also matches code,
// such as an assigned password.
func (r *Redactor) Data() *Redactor {
	if r == nil {
		return nil
	}
	return &Redactor{values: r.values, data: true}
}

// find returns the secrets in b in their order, without overlaps.
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
	all = keyPatterns().find(b, r.data, all)
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
			last.to = max(last.to, s.to) // overlapping secrets are replaced together, under the first one's name
		}
	}
	return out
}

// Bytes returns b without its secrets: b itself if it has none, or else a copy.
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
func (r *Redactor) String(s string) string { return string(r.Bytes([]byte(s))) }

// replace appends b to dst, with notes in place of the spans.
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
