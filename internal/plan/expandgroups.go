package plan

// This file puts the tasks of the items in the place of each task with foreach, when the plan is read and its
// parameters have values. What follows sees ordinary tasks.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"wavex/dag"
	"wavex/internal/plan/reference"
	"wavex/internal/plan/source"
)

// maxItem bounds an item, in bytes of JSON: most become variables of commands.
const maxItem = 64 << 10

// maxGroupID bounds the id of a task with foreach, so that there is room for the keys.
const maxGroupID = maxID - 24

// Lists returns the lists that do not follow from the plan and its parameters, for a later reading of the plan.
func (p *Plan) Lists() map[string]json.RawMessage {
	lists := map[string]json.RawMessage{}
	for _, g := range p.Groups {
		if g.found != nil {
			lists[g.ID+": "+g.List] = g.found
		}
	}
	if len(lists) == 0 {
		return nil
	}
	return lists
}

// expansion replaces the tasks of a file by those of the plan.
type expansion struct {
	*decoder
	r         *resolver
	texts     map[int][]itemText // of the tasks with foreach
	tasks     []Task
	locations []source.Location
	places    []place // by task of the file
	ids       index
	late      map[int]*lateGroup // by task of the file
}

// itemText is a text of a task with foreach, or of one of its steps.
type itemText struct {
	referenceText
	step int      // from 1; 0: none
	kind []string // groups of referenceField
}

// expandGroups expands the tasks with foreach. The other tasks keep their order.
func (d *decoder) expandGroups(r *resolver) {
	if len(d.foreach) == 0 || d.errors > 0 {
		return
	}
	x := expansion{decoder: d, r: r, texts: map[int][]itemText{}, ids: newIndex(len(d.plan.Tasks)),
		late: map[int]*lateGroup{}}
	for _, t := range d.referenceTexts {
		if i := taskOf(t.path); d.foreach[i] != nil {
			x.texts[i] = append(x.texts[i], itemText{t, stepOf(t.path), referenceField().FindStringSubmatch(t.path)})
		}
	}
	for i := range d.plan.Tasks {
		from := len(x.tasks)
		if f := d.foreach[i]; f != nil {
			x.group(i, f)
		} else {
			t := d.plan.Tasks[i]
			if x.add(i, t) >= 0 {
				x.addDiagnostic(x.taskLocations[i], SeverityError, CodeDuplicateID, []step{{name: "tasks"},
					{index: i, element: true}}, "task id %s is that of an item of a list; rename one", source.Quote(t.ID))
			}
		}
		x.places = append(x.places, place{from, len(x.tasks), max(len(x.steps[i]), 1)})
	}
	x.connect(x.lists())
	d.plan.Tasks, d.taskLocations, d.ids = x.tasks, x.locations, x.ids
}

// add adds a task that comes from task i of the file. It returns the task that has its id already, or -1.
func (x *expansion) add(i int, t Task) (other int) {
	other, ok := x.ids.add(t.ID, len(x.tasks))
	if !ok {
		return other
	}
	x.tasks, x.locations = append(x.tasks, t), append(x.locations, x.taskLocations[i])
	return -1
}

// group adds the tasks of a list.
func (x *expansion) group(i int, f *foreach) {
	template := &x.plan.Tasks[i]
	g := Group{ID: template.ID, List: f.String(), MaxItems: f.maxItems, Parallel: f.parallel, AllowFailures: f.allow,
		Tasks: []int{}, Steps: len(x.steps[i]), Estimate: template.Estimate}
	for k := range x.steps[i] {
		g.Estimate.Seconds += x.steps[i][k].Estimate.Seconds
		g.Estimate.USD += x.steps[i][k].Estimate.USD
	}
	wrong := func(format string, args ...any) {
		x.addDiagnostic(f.at, SeverityError, CodeBadItem, []step{{name: "tasks"}, {index: i, element: true},
			{name: "foreach"}}, "the list of task %s: %s", source.Quote(g.ID), fmt.Sprintf(format, args...))
	}
	items, err := x.items(template, f, &g)
	if g.Uses != "" {
		x.late[i] = &lateGroup{group: len(x.plan.Groups), template: *template, foreach: f, texts: x.texts[i],
			steps:  x.steps[i],
			values: x.r.values, missing: x.r.missing}
	}
	switch {
	case err != nil:
		wrong("%s", err)
	case len(g.ID) > maxGroupID:
		wrong("the id is longer than %d bytes, and its items need room for theirs", maxGroupID)
	case len(items) > f.maxItems:
		wrong("it has %d items; at most %d are allowed: set maxItems to allow more", len(items), f.maxItems)
	default:
		first := len(x.tasks)
		for k, raw := range items {
			if x.full() {
				return
			}
			tasks, err := x.members(i, template, f, k, raw)
			for _, t := range tasks {
				other := x.add(i, t)
				switch {
				case other >= first:
					at := (other - first) / len(tasks)
					err = fmt.Errorf("it has the key of %s; give the foreach a key that tells them apart",
						itemName(at, items[at]))
				case other >= 0:
					err = fmt.Errorf("there is a task %s already", source.Quote(t.ID))
				}
				if err != nil {
					break
				}
			}
			if err != nil {
				wrong("%s: %s", itemName(k, raw), err)
				continue
			}
			g.Tasks = append(g.Tasks, len(x.tasks)-1) // the last step
		}
	}
	x.plan.Groups = append(x.plan.Groups, g)
}

// items returns the list of a task and says in g whether it is known.
func (x *expansion) items(template *Task, f *foreach, g *Group) (items []json.RawMessage, err error) {
	g.Known = true
	switch {
	case f.glob != "":
		return x.globbed(template, f, g)
	case f.command != "":
		g.Known, g.Uses = false, listTask(g.ID)
		f.ref = &reference.Ref{Text: "tasks." + g.Uses + ".output",
			Path: []reference.Step{{Name: "tasks"}, {Name: g.Uses}, {Name: "output"}}}
		return nil, nil
	case f.ref == nil:
		return f.items, nil
	}
	switch {
	case isLate(f.ref):
		g.Known, g.Uses = false, f.ref.Path[1].Name
		return nil, nil
	case x.r.missing[f.ref.Path[1].Name]:
		g.Known = false
		return nil, nil
	}
	return f.listOf(map[string]any{"params": x.r.values})
}

// globbed returns the paths that match, or those that the run has kept.
func (x *expansion) globbed(template *Task, f *foreach, g *Group) (items []json.RawMessage, err error) {
	if g.found = x.opts.Params.Lists[g.ID+": "+g.List]; g.found != nil {
		return items, json.Unmarshal(g.found, &items)
	}
	root, dir := ".", template.SubDir()
	if x.plan.Defaults.Dir != "" {
		root = filepath.Join(x.opts.Dir, filepath.FromSlash(x.plan.Defaults.Dir))
	}
	switch {
	case x.opts.Dir == "":
		return nil, errors.New("the plan has no directory in which a glob could look")
	case reference.Has(dir):
		return nil, errors.New("a glob needs a dir without references")
	}
	paths, err := glob(filepath.Join(root, filepath.FromSlash(dir)), f.glob)
	if err != nil {
		return nil, err
	}
	if items, err = pathItems(paths); err != nil {
		return nil, err
	}
	if len(items) == 0 {
		hint := "its folder and its spelling"
		if hasBraces(f.glob) {
			hint = "the braces, which have no meaning in a pattern: write one foreach for each word in them"
		}
		x.addDiagnostic(f.at, SeverityWarning, CodeNoMatch, nil, "the glob %s of task %s finds nothing; look at %s",
			source.Quote(f.glob), source.Quote(g.ID), hint)
	}
	g.found, err = json.Marshal(items)
	return items, err
}

// pathItems returns the items of paths. A path that is not UTF-8 would be another one in JSON.
func pathItems(paths []string) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	for _, p := range paths {
		if !utf8.ValidString(p) {
			return nil, fmt.Errorf("the name %q is not UTF-8; rename the file, or let a command give its own list", p)
		}
		raw, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		items = append(items, raw)
	}
	return items, nil
}

// members returns the tasks of item k of a list: one, or one for each step.
func (x *expansion) members(i int, template *Task, f *foreach, k int, raw json.RawMessage) (tasks []Task, err error) {
	if len(raw) > maxItem {
		return nil, fmt.Errorf("it has %d bytes; at most %d are allowed", len(raw), maxItem)
	}
	item, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	if item == nil || hasNUL(raw, item) {
		return nil, errors.New("it is null, or has a NUL character")
	}
	x.r.item, x.r.inGroup = item, true
	defer func() { x.r.item, x.r.inGroup = nil, false }()
	key, err := x.r.itemKey(f, raw)
	if err != nil {
		return nil, err
	}
	steps := x.steps[i]
	if steps == nil {
		steps = []Task{*template}
	}
	for _, text := range x.texts[i] {
		if err := x.checkItem(&steps[max(text.step-1, 0)], text, k, raw); err != nil {
			return nil, err
		}
	}
	for s := range steps {
		t := steps[s].clone()
		t.ID, t.Group = memberID(template.ID, key), template.ID
		if item := t.ID; t.Step > 0 {
			t.ID, t.Wave = item+"."+steps[s].ID, template.Wave
		}
		x.r.task(&t)
		if t.Rehearse, err = x.r.rehearsal(t.Rehearse); err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// checkItem reports that a reference to the item has no value that fits a text. A rule of the text's field that the
// value breaks is reported with the name of the item.
func (x *expansion) checkItem(task *Task, t itemText, k int, raw json.RawMessage) error {
	p, err := x.r.parse(t.text)
	if err != nil {
		return err // reported for the task
	}
	uses, sh := false, x.r.shellOf(task, t.referenceText, t.kind)
	for _, ref := range p.Refs() {
		if ref.Path[0].Name != "item" {
			continue
		}
		uses = true
		value, err := x.r.value(ref)
		if err == nil {
			err = sh.fits(ref, value)
		}
		if err != nil {
			return err
		}
	}
	if before := x.errors; uses {
		x.checkExpanded(x.r, task, t.referenceText, t.kind)
		if x.errors > before && len(x.DiagnosticList.list) > 0 {
			x.DiagnosticList.list[len(x.DiagnosticList.list)-1].message += " (" + itemName(k, raw) + ")"
		}
	}
	return nil
}

// itemName names an item in a message.
func itemName(k int, raw json.RawMessage) string {
	text := string(raw[:min(len(raw), 200)])
	var s *string
	if json.Unmarshal(raw, &s) == nil && s != nil {
		text = (*s)[:min(len(*s), 200)]
	}
	return fmt.Sprintf("item %d, %s", k+1, source.Quote(strings.ToValidUTF8(text, "?")))
}

// hasNUL reports whether a text in a value has a NUL character.
func hasNUL(raw json.RawMessage, v any) bool {
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return false
	}
	switch v := v.(type) {
	case string:
		return strings.IndexByte(v, 0) >= 0
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return hasNUL(raw, one) })
	case map[string]any:
		for name, one := range v {
			if strings.IndexByte(name, 0) >= 0 || hasNUL(raw, one) {
				return true
			}
		}
	}
	return false
}

// itemKey returns the key of the current item: by the list's own rule, else the item, or a digest of an object.
func (r *resolver) itemKey(f *foreach, raw json.RawMessage) (key string, err error) {
	switch r.item.(type) {
	default:
		if f.key == "" {
			sum := sha256.Sum256([]byte(canonicalJSON(raw)))
			return hex.EncodeToString(sum[:4]), nil
		}
	case string, bool, json.Number:
	}
	p, err := r.parse(cmp.Or(f.key, "${item}"))
	if err != nil {
		return "", err
	}
	if key, err = p.Expand(r.value); err == nil && strings.TrimSpace(key) == "" {
		err = errors.New("its key is empty")
	}
	return key, err
}

// rehearsal returns a rehearse block with the references in its texts resolved.
func (r *resolver) rehearsal(raw json.RawMessage) (json.RawMessage, error) {
	if !reference.Has(string(raw)) {
		return raw, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r.texts(v))
}

func (r *resolver) texts(v any) any {
	switch v := v.(type) {
	case string:
		return r.words(v)
	case []any:
		for i := range v {
			v[i] = r.texts(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = r.texts(v[name])
		}
	}
	return v
}

// clone returns a copy whose texts may change.
func (t *Task) clone() Task {
	c := *t
	c.Files, c.Verify, c.Criteria = slices.Clone(t.Files), slices.Clone(t.Verify), slices.Clone(t.Criteria)
	for i := range c.Criteria {
		if check := c.Criteria[i].Check; check != nil {
			own := *check
			c.Criteria[i].Check = &own
		}
	}
	if t.Settings != nil {
		own := *t.Settings
		c.Settings = &own
	}
	return c
}

// listTask returns the id of the task that runs the command of a list.
func listTask(group string) string { return group + ".list" }

// Lists reports whether the task with an id is that of the plan which runs the command of the list.
func (g *Group) Lists(id string) bool { return id == g.Uses && id == listTask(g.ID) }

// lists adds the tasks that run the commands of lists. It returns the graph of the file's tasks with them: they follow
// those, and wait for none.
func (x *expansion) lists() *dag.Graph {
	var commands []int
	for i := range x.plan.Tasks {
		if f := x.foreach[i]; f != nil && f.command != "" {
			commands = append(commands, i)
		}
	}
	if commands == nil {
		return x.plan.Graph
	}
	all := len(x.plan.Tasks)
	edges := x.plan.Graph.Builder()
	for k, i := range commands {
		template := &x.plan.Tasks[i]
		t := Task{ID: listTask(template.ID), Command: x.foreach[i].command, Lines: true, Reversibility: "2A",
			Output: json.RawMessage(`{"type":"array"}`), Pos: template.Pos, Settings: &Settings{Dir: template.SubDir()}}
		x.r.task(&t)
		from := len(x.tasks)
		if x.add(i, t) >= 0 {
			x.errorf(x.foreach[i].at, CodeDuplicateID, "task id %s is that of the command of a list; rename one",
				source.Quote(t.ID))
		}
		x.places = append(x.places, place{from, len(x.tasks), 1})
		edges.Edge(i, all+k)
	}
	return edges.Build(all + len(commands))
}

// connect makes the edges of the tasks in the places, by the graph of the tasks of the file.
func (x *expansion) connect(graph *dag.Graph) {
	file := &fileTasks{graph: graph, places: x.places, late: x.late}
	edges := dag.NewBuilder(x.plan.Graph.Edges())
	if i := file.connect(edges); i >= 0 {
		path := []step{{name: "tasks"}, {index: i, element: true}}
		x.addDiagnostic(x.taskLocations[i], SeverityError, CodeTooLarge, path,
			"the lists of this plan stand for more than %d edges; let fewer tasks wait for whole lists", maxBarriers)
		return
	}
	x.edges = edges
	x.plan.Graph = edges.Build(len(x.tasks))
	if len(file.late) > 0 {
		x.plan.file, x.plan.waiting = file, file.waiting()
	}
}
