package plan

import (
	"wavex/internal/plan/source"
)

// This file reads the key links of a plan: files that must be connected in the end. It looks at no
// file; package gaps does.

// Link says that two files must be connected: one of them must name the other. Paths are relative
// to the project, slash-separated and clean.
type Link struct {
	From string
	To   string
	Why  string // for people; "": not given
}

func linkFields() []field[Link] {
	return []field[Link]{
		{"from", func(d *decoder, l *Link, t source.Token) { d.relativePath(&l.From, t) }},
		{"to", func(d *decoder, l *Link, t source.Token) { d.relativePath(&l.To, t) }},
		{"why", func(d *decoder, l *Link, t source.Token) { d.singleLine(&l.Why, t) }},
	}
}

func (d *decoder) links(t source.Token) {
	d.list(t, "a list of links", func(_ int, e source.Token) {
		var l Link
		if e.Kind != source.KindObject {
			d.wrongType(e, "an object with from and to")
			return
		}
		if set, _ := d.linkType.decode(d, &l, e); !d.linkType.has(set, "from") || !d.linkType.has(set, "to") {
			d.errorf(e.At, CodeMissingField, `a link needs from and to, like {"from": "hooks.json", "to": "hooks/stop.sh"}`)
		}
		d.plan.Links = append(d.plan.Links, l)
	})
}
