package plan

import "wavex/internal/plan/source"

// This file reads the limits of a plan.

func limitFields() []field[Limits] {
	return []field[Limits]{
		{"usd", func(d *decoder, l *Limits, t source.Token) {
			if t.Kind == source.KindString && t.Text == "none" {
				none := NoLimit
				l.USD = &none
			} else if u, ok := d.usd(t); ok {
				l.USD = &u
			}
		}},
		{"iterations", func(d *decoder, l *Limits, t source.Token) {
			n, ok := NoIterations, true
			if t.Kind != source.KindString || t.Text != "unlimited" {
				if t.Kind != source.KindNumber {
					d.wrongType(t, `a number or "unlimited"`)
					return
				}
				n, ok = d.count(t, 0)
			}
			if ok {
				l.Iterations = &n
			}
		}},
		{"wallClock", func(d *decoder, l *Limits, t source.Token) { d.duration(&l.WallClock, t) }},
	}
}
