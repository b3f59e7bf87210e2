package runner

import (
	"encoding/json"
	"maps"
	"path/filepath"

	"wavex/internal/wary"
)

// This file tells what attempts change of the files that they must leave alone from what
// others change between two attempts at a task: a person who mends a test or the plan before
// a resume. It remembers how an attempt left those files. What is changed while an attempt
// runs counts as its work, and after a kill nobody knows how the files were left.

// left is how an attempt left the guarded and protected files. It is kept beside the base,
// and holds only what differs.
type left struct {
	Attempt int `json:"attempt"`
	// Guards and Protected are what attempts are held against where that is not the base any
	// more; AfterGuards and AfterProtected what was there at the end where it was not that.
	Guards         map[string]string `json:"guards,omitempty"`
	Protected      map[string]string `json:"protected,omitempty"`
	AfterGuards    map[string]string `json:"after_guards,omitempty"`
	AfterProtected map[string]string `json:"after_protected,omitempty"`
}

func leftPath(base string) string { return filepath.Join(filepath.Dir(base), "left.json") }

// mended is the base with what others have changed since the attempt before. Without a
// record of that attempt it is the base.
func (b base) mended(req Request) base {
	data, err := wary.Read(leftPath(req.Base), maxBase)
	if err != nil {
		return b
	}
	var l left
	if json.Unmarshal(data, &l) != nil { // cut off: nobody knows
		return b
	}
	b.Guards, b.Protected = overlaid(b.Guards, l.Guards), overlaid(b.Protected, l.Protected)
	if l.Attempt != req.Attempt-1 {
		return b
	}
	b.Guards = adopted(b.Guards, overlaid(b.Guards, l.AfterGuards), b.guardsNow(req))
	if b.Protected != nil {
		b.Protected = adopted(b.Protected, overlaid(b.Protected, l.AfterProtected), req.Protect.digests(req.Dir))
	}
	return b
}

// keepLeft writes how the attempt leaves the files; first is the base as it was taken. Not
// to know it only means that a later attempt is held against the base.
func (b base) keepLeft(first base, req Request) {
	if req.Base == "" || req.Shell != "" || len(b.Guards) == 0 && len(b.Protected) == 0 {
		return
	}
	l := left{Attempt: req.Attempt, Guards: unlike(first.Guards, b.Guards), Protected: unlike(first.Protected, b.Protected),
		AfterGuards: unlike(b.Guards, b.guardsNow(req))}
	if len(b.Protected) > 0 {
		l.AfterProtected = unlike(b.Protected, req.Protect.digests(req.Dir))
	}
	data, err := json.Marshal(l)
	if err == nil {
		_ = wary.Write(leftPath(req.Base), append(data, '\n'), 0o600)
	}
}

// guardsNow is what there is now of the guarded files that the base knows. Which files are
// guarded may change with the plan.
func (b base) guardsNow(req Request) map[string]string {
	out := maps.Clone(b.Guards)
	for path, d := range guardDigests(req.Dir, req.Guards) {
		if _, known := out[path]; known {
			out[path] = d
		}
	}
	return out
}

// overlaid is a with what over says otherwise.
func overlaid(a, over map[string]string) map[string]string {
	if len(over) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}

// unlike is what b says otherwise than a; "" for what it lacks.
func unlike(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for path, d := range b {
		if was, known := a[path]; !known || was != d {
			out[path] = d
		}
	}
	for path, was := range a {
		if _, there := b[path]; !there && was != "" {
			out[path] = ""
		}
	}
	return out
}

// adopted is a with what is otherwise now than it was left.
func adopted(a, left, now map[string]string) map[string]string {
	return overlaid(a, unlike(left, now))
}
