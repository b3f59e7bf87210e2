package plan

// This file has the references whose values are known only during a run: outputs of tasks, and the run's id. A
// reference to a task is an edge, so the output is there when the task begins.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wavex/internal/plan/reference"
	"wavex/internal/textfmt"
)

// Late holds the references of a task whose values come with the run.
type Late struct {
	description, prompt *reference.Template       // nil: none
	env                 map[string]*reference.Ref // of the command, by the variable
	numbers             map[string]bool           // variables that are a part of an expression
	item                string                    // the id of the item whose steps it refers to
}

// refs returns all references, sorted by their texts.
func (l *Late) refs() (refs []*reference.Ref) {
	for _, t := range []*reference.Template{l.description, l.prompt} {
		if t != nil {
			refs = append(refs, t.Refs()...)
		}
	}
	refs = slices.AppendSeq(refs, maps.Values(l.env))
	slices.SortFunc(refs, func(a, b *reference.Ref) int { return strings.Compare(a.Text, b.Text) })
	return refs
}

// Uses returns the tasks and groups whose outputs the task refers to, as the plan spells them in references, sorted.
func (t *Task) Uses() (ids []string) {
	if t.Late == nil {
		return nil
	}
	for _, r := range t.Late.refs() {
		switch r.Path[0].Name {
		case "tasks":
			ids = append(ids, r.Path[1].Name)
		case "steps":
			ids = append(ids, t.Late.item+"."+r.Path[1].Name)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Outputs returns the tasks with the output of an id: the task, or those of a group in the order of its items.
func (p *Plan) Outputs(id string) (tasks []int, isGroup bool) {
	if g := p.Group(id); g != nil {
		return g.Tasks, true
	}
	if i, ok := p.Lookup(id); ok {
		return []int{i}, false
	}
	return nil, false
}

// maxInline bounds the outputs of a group that stand in a prompt, in bytes. More are a file that the prompt names.
const maxInline = 8 << 10

// Resolve returns the task with the values of its late references: outputs by the ids of Uses, a list of them for a
// group, and the id of the run. file returns the path of a file with a value. The error names the reference without a
// value, or with one that does not fit.
func (t *Task) Resolve(run string, outputs map[string]json.RawMessage,
	file func(json.RawMessage) (string, error)) (*Task, error) {
	if t.Late == nil {
		return t, nil
	}
	tasks, steps := map[string]any{}, map[string]any{}
	for id, raw := range outputs {
		v, err := decodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("the output of task %s: %w", id, err)
		}
		tasks[id] = map[string]any{"output": v, "outputs": v}
		if name, ofItem := strings.CutPrefix(id, t.Late.item+"."); ofItem && t.Step > 1 {
			steps[name] = tasks[id]
		}
	}
	values := map[string]any{"run": map[string]any{"id": run}, "tasks": tasks, "steps": steps}
	value := func(r *reference.Ref) (string, error) {
		if !isCollection(r) {
			return r.Eval(values)
		}
		raw := outputs[r.Path[1].Name]
		if len(raw) <= maxInline {
			return string(raw), nil
		}
		path, err := file(raw)
		return "the file " + path, err
	}
	out, err := *t, error(nil)
	if l := t.Late.description; l != nil {
		if out.Description, err = l.Expand(value); err != nil {
			return nil, err
		}
	}
	if l := t.Late.prompt; l != nil {
		if out.Prompt, err = l.Expand(value); err != nil {
			return nil, err
		}
	}
	out.Env = maps.Clone(t.Env)
	for name, r := range t.Late.env {
		text, err := "", error(nil)
		if isCollection(r) {
			text, err = file(outputs[r.Path[1].Name])
		} else {
			text, err = r.Eval(values)
		}
		if err == nil {
			err = fitsVariable(r, text, t.Late.numbers[name])
		}
		if err != nil {
			return nil, err
		}
		if out.Env == nil {
			out.Env = map[string]string{}
		}
		out.Env[name] = text
	}
	return &out, nil
}

// isCollection reports whether a reference is to all outputs of a group as they are.
func isCollection(r *reference.Ref) bool {
	return len(r.Path) == 3 && r.Path[0].Name == "tasks" && r.Path[2].Name == "outputs" && r.IsPlain()
}

// fitsVariable reports a value that no command can get, or that is not a number where a shell reads it as a part of an
// expression: some shells execute names and indices in it.
func fitsVariable(r *reference.Ref, value string, number bool) error {
	switch {
	case strings.IndexByte(value, 0) >= 0:
		return fmt.Errorf("the reference ${%s}: no command can get the value, which has a NUL character", r.Text)
	case len(value) > maxVariable:
		return fmt.Errorf("the reference ${%s}: no command can get a value of %d bytes; at most %d fit a variable", r.Text,
			len(value), maxVariable)
	case number && !numbers().MatchString(value):
		return fmt.Errorf("the reference ${%s}: it is in arithmetic of the shell, and its value is no number", r.Text)
	}
	return nil
}

// numbers matches an expression of numbers, without names.
var numbers = textfmt.Pattern(`^(?:[-+*/%(). \t]|\b(?:0[xX][0-9a-fA-F]+|[0-9]+)\b)*$`)

// isLate reports whether the value of a reference comes with the run.
func isLate(r *reference.Ref) bool {
	return slices.Contains([]string{"tasks", "steps", "run"}, r.Path[0].Name)
}

// lateField matches the fields with late references.
var lateField = textfmt.Pattern(`^tasks\[\d+\](?:\.steps\[\d+\])?\.(?:description|prompt|command)$`)

// checkLate returns the mistake of a late reference in a field; nil: none.
func (d *decoder) checkLate(r *reference.Ref, path string) error {
	wrong := func(format string, args ...any) error {
		return &reference.Error{Ref: r.Text, Reason: fmt.Sprintf(format, args...)}
	}
	switch root := r.Path[0].Name; {
	case root == "run" && (len(r.Path) != 2 || r.Path[1].Name != "id"):
		return wrong("of the run there is only ${run.id}")
	case root == "run":
	case root == "steps":
		if err := d.checkStep(r, path); err != nil {
			return wrong("%s", err)
		}
	default:
		if err := d.checkOutput(r, taskOf(path), ""); err != nil {
			return wrong("%s", err)
		}
	}
	if !lateField().MatchString(path) {
		return wrong("its value comes with the run, and only description, prompt and command can have it")
	}
	return nil
}

// checkOutput returns the mistake of a task's reference to an output; nil: none. kind is the type that the value must
// have; "" means any type with a text form.
func (d *decoder) checkOutput(r *reference.Ref, task int, kind string) error {
	if len(r.Path) < 3 || r.Path[1].IsIndex || r.Path[2].Name != "output" && r.Path[2].Name != "outputs" {
		return errors.New("write ${tasks.ID.output}, or outputs for a group, and a path behind it")
	}
	id, group := r.Path[1].Name, r.Path[2].Name == "outputs"
	i, known := d.ids.get(id)
	switch {
	case known && group && d.foreach[int(i)] == nil:
		return fmt.Errorf("task %s has no list, so it has an output and no outputs", id)
	case !known:
		return fmt.Errorf("there is no task %s%s", id, d.suggestID(id))
	case !group && d.foreach[int(i)] != nil:
		return fmt.Errorf("%s stands for the tasks of a list, and has outputs", id)
	case d.plan.Tasks[i].Output == nil:
		return fmt.Errorf("task %s has no output", id)
	case int(i) == task:
		return errors.New("a task cannot use its own output")
	}
	got, err := kindOf(r, d.plan.Tasks[i].Output)
	if isCollection(r) && kind == "" {
		return nil
	}
	switch reason := r.Misfit(got); {
	case err != nil:
		return err
	case kind != "" && got != "" && got != kind:
		return fmt.Errorf("the value is of type %s; a list is needed", got)
	case kind == "" && reason != "":
		return errors.New(reason)
	}
	return nil
}

// taskOf returns the index of the task in a path of a diagnostic; -1: none.
func taskOf(path string) int {
	i := -1
	if n, err := fmt.Sscanf(path, "tasks[%d]", &i); n != 1 || err != nil {
		return -1
	}
	return i
}

// kindOf returns the type of the value at a reference by an output's schema; "": unknown. The error says why a value
// cannot exist.
func kindOf(r *reference.Ref, text json.RawMessage) (string, error) {
	v, err := decodeJSON(text)
	if err != nil {
		return "", nil
	}
	root, node, all := v, v, false
	if r.Path[2].Name == "outputs" {
		node = map[string]any{"type": "array", "items": v}
	}
	for _, s := range r.Path[3:] {
		schema := deref(root, node)
		kind, _ := schema["type"].(string)
		switch {
		case s.All && kind != "" && kind != "array":
			return "", fmt.Errorf("there is no [*] in a value of type %s", kind)
		case s.All:
			node, all = schema["items"], true
		case s.IsIndex && kind != "" && kind != "array":
			return "", fmt.Errorf("there is no index in a value of type %s", kind)
		case s.IsIndex:
			node = schema["items"]
		case kind != "" && kind != "object":
			return "", fmt.Errorf("a value of type %s has no field %s", kind, s.Name)
		default:
			properties, _ := schema["properties"].(map[string]any)
			field, named := properties[s.Name]
			if !named && schema["additionalProperties"] == false {
				return "", errors.New("the schema of the output has no field " + s.Name)
			}
			node = field
		}
	}
	kind, _ := deref(root, node)["type"].(string)
	if all {
		kind = "array"
	}
	return kind, nil
}

// deref returns the schema behind a node.
func deref(root, node any) map[string]any {
	s, _ := node.(map[string]any)
	for range 100 {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		var at any = root
		for _, name := range strings.Split(ref, "/")[1:] {
			in, _ := at.(map[string]any)
			at = in[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
		s, _ = at.(map[string]any)
	}
	return s
}

// addReferenceEdges makes each reference to a task an edge, where the plan has none.
func (d *decoder) addReferenceEdges() {
	type edge struct{ task, blocker int }
	added := map[edge]bool{}
	add := func(i int, r *reference.Ref) {
		if r == nil || r.Path[0].Name != "tasks" || len(r.Path) < 2 {
			return
		}
		j, known := d.ids.get(r.Path[1].Name)
		if e := (edge{i, int(j)}); known && e.task != e.blocker && !added[e] &&
			!slices.Contains(d.plan.Graph.Blockers(i), j) {
			added[e] = true
			d.edges.Edge(e.task, e.blocker)
		}
	}
	for i, f := range d.foreach {
		add(i, f.ref)
	}
	for _, t := range d.referenceTexts {
		p, err := reference.Parse(t.text)
		i := taskOf(t.path)
		if err != nil || i < 0 || !d.readsReferences() {
			continue
		}
		for _, r := range p.Refs() {
			add(i, r)
		}
	}
	if len(added) > 0 {
		d.plan.Graph = d.edges.Build(len(d.plan.Tasks))
	}
}

// readsReferences reports whether the plan has fields that only plans with references have.
func (d *decoder) readsReferences() bool {
	return len(d.plan.Params) > 0 || len(d.foreach) > 0 ||
		slices.ContainsFunc(d.plan.Tasks, func(t Task) bool { return t.Output != nil })
}
