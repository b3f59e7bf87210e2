package plan

// This file adds the tasks of a list that comes with the run, as the output of another task. They follow the tasks that
// the plan has.

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"wavex/dag"
	"wavex/internal/plan/source"
)

// fileTasks knows the tasks as they stand in the file, for lists that come with the run.
type fileTasks struct {
	graph  *dag.Graph
	places []place            // by task of the file
	late   map[int]*lateGroup // by task of the file; one whose list is known is no longer there
	lists  map[int32]behind   // results of behind, by task of the file
	held   int                // blockers in lists
}

// place is the range of the tasks that stand for a task of the file. An item has a number of steps, at least 1, which
// follow each other.
type place struct{ from, to, steps int }

// lateGroup is a task of the file whose list comes with the run.
type lateGroup struct {
	group    int // in Plan.Groups
	template Task
	foreach  *foreach
	texts    []itemText
	steps    []Task
	values   map[string]any // of the parameters
	missing  map[string]bool
}

// connect makes the edges of the file's tasks edges of the tasks in their places. Tasks that wait for an empty list, or
// one that is not known, wait for its blockers. It returns the task that has too many edges, or -1.
func (f *fileTasks) connect(edges *dag.Builder) int {
	n := 0
	for i, own := range f.places {
		for task := own.from; task < own.to; task++ {
			if (task-own.from)%own.steps > 0 {
				edges.Edge(task, task-1)
			}
		}
		blockers, _ := f.blockers(i)
		if f.held > maxBarriers {
			return i
		}
		for _, b := range blockers {
			at := f.places[b]
			if n += (own.to - own.from) / own.steps * ((at.to - at.from) / at.steps); n > maxBarriers {
				return i
			}
			for task := own.from; task < own.to; task += own.steps {
				for blocker := at.from + at.steps - 1; blocker < at.to; blocker += at.steps {
					edges.Edge(task, blocker)
				}
			}
		}
	}
	return -1
}

// blockers returns the tasks of the file that task i waits for, with the blockers of an empty list in its place. waits
// reports whether one of the lists is not known.
func (f *fileTasks) blockers(i int) (out []int32, waits bool) {
	own := f.graph.Blockers(i)
	if len(own) == 1 && f.isEmpty(own[0]) {
		behind := f.behind(own[0])
		return behind.blockers, behind.waits
	}
	seen := map[int32]bool{}
	add := func(b int32) {
		if !seen[b] {
			seen[b], out = true, append(out, b)
		}
	}
	for _, b := range slices.Backward(own) {
		if !f.isEmpty(b) {
			add(b)
			continue
		}
		behind := f.behind(b)
		waits = waits || behind.waits
		for _, b := range behind.blockers {
			add(b)
		}
	}
	return out, waits
}

func (f *fileTasks) isEmpty(i int32) bool { return f.places[i].from == f.places[i].to }

// behind is what tasks wait for that wait for an empty list, or for one that is not known.
type behind struct {
	blockers []int32
	waits    bool
}

// behind finds out once for each list, since lists may wait for each other in a long chain. connect does it for all,
// so that later calls only read.
func (f *fileTasks) behind(i int32) behind {
	found, known := f.lists[i]
	if known || f.held > maxBarriers {
		return found
	}
	if f.lists == nil {
		f.lists = map[int32]behind{}
	}
	found.blockers, found.waits = f.blockers(int(i))
	found.waits = found.waits || f.late[int(i)] != nil
	if own := f.graph.Blockers(int(i)); len(own) != 1 || !f.isEmpty(own[0]) { // else they are those of another list
		f.held += len(found.blockers)
	}
	f.lists[i] = found
	return found
}

// waiting returns the tasks that wait for a list that is not known.
func (f *fileTasks) waiting() map[int]bool {
	tasks := map[int]bool{}
	for i, at := range f.places {
		if _, waits := f.blockers(i); waits {
			for task := at.from; task < at.to; task++ {
				tasks[task] = true
			}
		}
	}
	return tasks
}

// Items returns the list of a group from the output that its Uses names; from the list of them if that is a group.
func (p *Plan) Items(group int, output json.RawMessage) ([]json.RawMessage, error) {
	for _, l := range p.lateGroups() {
		if l.group == group {
			v, err := decodeJSON(output)
			if err != nil {
				return nil, err
			}
			return l.foreach.listOf(map[string]any{"tasks": map[string]any{
				p.Groups[group].Uses: map[string]any{"output": v, "outputs": v}}})
		}
	}
	return nil, errors.New("the list does not come with the run")
}

// ListBlockers returns the tasks that a group waits for while its list is to come with the run.
func (p *Plan) ListBlockers(group string) (tasks []int) {
	g := p.Group(group)
	for i, l := range p.lateGroups() {
		if g != &p.Groups[l.group] {
			continue
		}
		blockers, _ := p.file.blockers(i)
		for _, b := range blockers {
			for task := p.file.places[b].from; task < p.file.places[b].to; task++ {
				tasks = append(tasks, task)
			}
		}
	}
	return tasks
}

// ListWaiters returns the tasks and the groups that name a group as a blocker while its list is to come with the run.
func (p *Plan) ListWaiters(group string) (tasks []int, groups []string) {
	g, late := p.Group(group), p.lateGroups()
	for at, l := range late {
		if g != &p.Groups[l.group] {
			continue
		}
		for i, own := range p.file.places {
			if !slices.Contains(p.file.graph.Blockers(i), int32(at)) {
				continue
			}
			if waiter := late[i]; waiter != nil {
				groups = append(groups, p.Groups[waiter.group].ID)
			}
			for task := own.from; task < own.to; task += own.steps {
				tasks = append(tasks, task)
			}
		}
	}
	return tasks, groups
}

func (p *Plan) lateGroups() map[int]*lateGroup {
	if p.file == nil {
		return nil
	}
	return p.file.late
}

// listOf returns the items at the list's reference.
func (f *foreach) listOf(values map[string]any) (items []json.RawMessage, err error) {
	v, found := f.ref.Value(values)
	list, isList := v.([]any)
	switch {
	case !found:
		return nil, fmt.Errorf("${%s} has no value", f.ref.Text)
	case !isList:
		return nil, fmt.Errorf("${%s} is no list", f.ref.Text)
	}
	for _, one := range list {
		raw, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		items = append(items, raw)
	}
	return items, nil
}

// WithItems returns the plan with the tasks of a list that comes with the run, after its own. Tasks that wait for the
// group wait for them, and have other keys. It does not change p. The error names the item that cannot become a task.
func (p *Plan) WithItems(group string, items []json.RawMessage) (*Plan, error) {
	at := slices.IndexFunc(p.Groups, func(g Group) bool { return g.ID == group })
	task := -1
	for i, l := range p.lateGroups() {
		if l.group == at {
			task = i
		}
	}
	if task < 0 {
		return nil, fmt.Errorf("the plan waits for no list of %s", source.Quote(group))
	}
	l := p.file.late[task]
	d := newDecoder(Options{}, "")
	d.plan.Tasks, d.taskLocations, d.steps = []Task{l.template}, []source.Location{0}, map[int][]Task{}
	if l.steps != nil {
		d.steps[0] = l.steps
	}
	x := expansion{decoder: d, texts: map[int][]itemText{0: l.texts}, tasks: slices.Clone(p.Tasks), ids: p.ids.clone(),
		locations: make([]source.Location, len(p.Tasks)), late: map[int]*lateGroup{},
		r: &resolver{values: l.values, missing: l.missing, parsed: map[parseKey]parsed{},
			commands: map[parseKey]shellText{}}}
	f := *l.foreach
	f.ref, f.command, f.items = nil, "", items
	x.group(0, &f)
	if d.errors > 0 {
		var wrong []error
		for _, one := range d.DiagnosticList.list {
			wrong = append(wrong, errors.New(one.message))
		}
		return nil, errors.Join(wrong...)
	}
	q := *p
	q.Tasks, q.ids, q.keys = x.tasks, x.ids, new(keys)
	q.Groups = slices.Clone(p.Groups)
	q.Groups[at].Known, q.Groups[at].Tasks = true, d.plan.Groups[0].Tasks
	return &q, q.place(task, len(p.Tasks))
}

// place puts the tasks from number from on in the place of a task of the file.
func (p *Plan) place(task, from int) error {
	file := &fileTasks{graph: p.file.graph, places: slices.Clone(p.file.places), late: map[int]*lateGroup{}}
	for i, l := range p.file.late {
		if i != task {
			file.late[i] = l
		}
	}
	file.places[task] = place{from, len(p.Tasks), p.file.places[task].steps}
	edges := p.Graph.Builder()
	if file.connect(edges) >= 0 {
		return fmt.Errorf("the lists of this plan stand for more than %d edges", maxBarriers)
	}
	if p.taskWaves != nil {
		p.taskWaves = slices.Clone(p.taskWaves)
		for i := from; i < len(p.Tasks); i++ {
			p.taskWaves = append(p.taskWaves, p.Tasks[i].Wave)
		}
	}
	p.Graph = edges.Build(len(p.Tasks))
	p.file, p.waiting = file, file.waiting()
	return nil
}

// AllTasks yields the tasks of the plan, then for each list that comes with the run the tasks of an item, as the file
// has them and with the id of the list.
func (p *Plan) AllTasks() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for i := range p.Tasks {
			if !yield(&p.Tasks[i]) {
				return
			}
		}
		late := p.lateGroups()
		for _, i := range slices.Sorted(maps.Keys(late)) {
			l := late[i]
			steps := l.steps
			if steps == nil {
				steps = []Task{l.template}
			}
			for _, t := range steps {
				t.ID = l.template.ID
				if !yield(&t) {
					return
				}
			}
		}
	}
}

// MostTasks returns the number of tasks if each list that is not known is as long as it may be.
func (p *Plan) MostTasks() int {
	n := len(p.Tasks)
	for _, g := range p.Groups {
		if !g.Known {
			n += g.MaxItems * max(g.Steps, 1)
		}
	}
	return n
}
