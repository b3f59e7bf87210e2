package plan

// This file reads declared waves and applies them: as lower bounds beside the edges, as barriers in
// a plan without edges, and as an order of single tasks in a sequential wave. It does not know how
// tasks are started.

import "wavex/internal/plan/source"

// MaxWave bounds declared waves. Code that uses waves allocates memory for every number below it.
const MaxWave = 100_000

// maxBarriers bounds the edges that declared waves stand for.
const maxBarriers = 4 << 20

// Wave is a plan's data about one of its waves.
type Wave struct {
	Number     int    // from 1
	Title      string // for people
	Sequential bool   // its tasks run one after the other, in plan order
}

// Waves returns the wave of each task, from 1, and the number of waves. A task with a declared wave
// is in that one. A wave below total may have no tasks. All steps of an item are in one wave.
func (p *Plan) Waves() (wave []int, total int) {
	return p.Graph.WavesWith(p.taskWaves, func(i int) bool { return p.Tasks[i].Step > 1 })
}

// TasksByWave returns the tasks of each wave, in plan order. The tasks of wave 1 are at 0.
func (p *Plan) TasksByWave() [][]int {
	wave, total := p.Waves()
	out := make([][]int, total)
	for i, w := range wave {
		out[w-1] = append(out[w-1], i)
	}
	return out
}

// Sequential reports whether the tasks of a wave run one after the other, in plan order.
func (p *Plan) Sequential(wave int) bool { return p.sequential[wave] }

func waveFields() []field[Wave] {
	return []field[Wave]{
		{"wave", func(d *decoder, w *Wave, t source.Token) { d.wave(&w.Number, t) }},
		{"title", func(d *decoder, w *Wave, t source.Token) { d.singleLine(&w.Title, t) }},
		{"parallel", func(d *decoder, w *Wave, t source.Token) {
			if parallel, ok := d.boolean(t); ok {
				w.Sequential = !parallel
			}
		}},
	}
}

func (d *decoder) wave(dst *int, t source.Token) {
	n, ok := d.count(t, 1)
	if ok && n > MaxWave {
		d.errorf(t.At, CodeBadNumber, "wave %d is too high; the most is %d", n, MaxWave)
		return
	}
	*dst = n
}

func (d *decoder) waves(t source.Token) {
	known := map[int]bool{}
	d.list(t, "a list of waves", func(_ int, e source.Token) {
		var w Wave
		set, ok := d.waveType.decode(d, &w, e)
		switch {
		case !ok:
			return
		case !d.waveType.has(set, "wave"):
			d.errorf(e.At, CodeMissingField, `a wave needs its number, like {"wave": 2, "parallel": false}`)
			return
		case known[w.Number]:
			d.errorf(e.At, CodeConflict, "wave %d is described twice; keep one", w.Number)
			return
		}
		known[w.Number] = w.Number != 0
		d.plan.declare(w)
	})
}

// declare adds the data of a wave.
func (p *Plan) declare(w Wave) {
	p.Declared = append(p.Declared, w)
	if w.Sequential {
		if p.sequential == nil {
			p.sequential = map[int]bool{}
		}
		p.sequential[w.Number] = true
	}
}

// applyDeclaredWaves applies declared waves, once the graph is known to be valid.
func (d *decoder) applyDeclaredWaves() {
	p := d.plan
	var floor []int
	for i := range p.Tasks {
		if w := p.Tasks[i].Wave; w > 0 {
			if floor == nil {
				floor = make([]int, len(p.Tasks))
			}
			floor[i] = w
		}
	}
	if floor == nil {
		return
	}
	p.taskWaves = floor
	if p.Graph.Edges() == 0 {
		d.barriers()
		return
	}
	wave, _ := p.Waves()
	for i, declared := range floor {
		if declared == 0 || wave[i] == declared {
			continue
		}
		last := -1
		for _, b := range p.Graph.Blockers(i) {
			if last < 0 || wave[b] > wave[last] {
				last = int(b)
			}
		}
		path := []step{{name: "tasks"}, {index: i, element: true}, {name: "wave"}}
		d.addDiagnostic(d.taskLocations[i], SeverityError, CodeWaveOrder, path,
			"task %s is declared for wave %d, but its blocker %s runs in wave %d; declare a wave behind that, or none",
			source.Quote(p.Tasks[i].ID), declared, source.Quote(p.Tasks[last].ID), wave[last])
	}
}

// barriers blocks the tasks of each declared wave by all tasks of the wave before. They are edges
// like others: a failed task blocks its dependents, and the eager schedule obeys them.
func (d *decoder) barriers() {
	p := d.plan
	members := map[int][]int{}
	last := 0
	for i, w := range p.taskWaves {
		if w > 0 {
			members[w] = append(members[w], i)
			last = max(last, w)
		}
	}
	var before []int
	edges := 0
	for w := 1; w <= last; w++ {
		if len(members[w]) == 0 {
			continue
		}
		if edges += len(before) * len(members[w]); edges > maxBarriers {
			d.addDiagnostic(d.taskLocations[members[w][0]], SeverityError, CodeTooLarge, nil,
				"the waves of this plan stand for more than %d edges; give its tasks blockedBy", maxBarriers)
			return
		}
		for _, i := range members[w] {
			for _, b := range before {
				d.edges.Edge(i, b)
			}
		}
		before = members[w]
	}
	p.Graph = d.edges.Build(len(p.Tasks))
}
