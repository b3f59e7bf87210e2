package plan

// This file reads the list of a task that is repeated for each of its items. expandgroups.go makes the tasks.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/plan/reference"
	"wavex/internal/plan/source"
)

// foreach is the list of a task, as it stands in the file. It has items, a reference, a glob or a command.
type foreach struct {
	at       source.Location
	items    []json.RawMessage
	ref      *reference.Ref
	glob     string
	command  string // its output is the list
	key      string // with references; "": the item itself
	maxItems int
	parallel int // most of its tasks at once; 0: no limit of its own
	allow    string
}

func foreachFields() []field[foreach] {
	return []field[foreach]{
		{"items", func(d *decoder, f *foreach, t source.Token) { d.foreachItems(f, t) }},
		{"glob", func(d *decoder, f *foreach, t source.Token) {
			d.pattern(&f.glob, t, d.relativePath)
			if f.glob != "" && t.Text[len(t.Text)-1] == '/' {
				f.glob += "/" // directories
			}
		}},
		{"command", func(d *decoder, f *foreach, t source.Token) { d.nonEmptyString(&f.command, t) }},
		{"key", func(d *decoder, f *foreach, t source.Token) {
			switch { // its references are not those of a text
			case t.Kind != source.KindString:
				d.wrongType(t, source.KindString.String())
			case strings.TrimSpace(t.Text) == "":
				d.errorf(t.At, CodeBadValue, "must not be empty; leave the field out for the item itself")
			default:
				f.key = t.Text
			}
		}},
		{"parallel", func(d *decoder, f *foreach, t source.Token) { f.parallel, _ = d.count(t, 1) }},
		{"allowFailures", func(d *decoder, f *foreach, t source.Token) { d.allowFailures(f, t) }},
		{"maxItems", func(d *decoder, f *foreach, t source.Token) {
			if n, ok := d.count(t, 1); ok {
				f.maxItems = n
			}
		}},
	}
}

// readForeach reads the list of the current task: a list, a reference, or an object.
func (d *decoder) readForeach(t source.Token) {
	f := &foreach{at: t.At, maxItems: DefaultMaxItems}
	if t.Kind != source.KindObject {
		d.foreachItems(f, t)
	} else {
		set, _ := d.foreachType.decode(d, f, t)
		sources := 0
		for _, name := range []string{"items", "glob", "command"} {
			if d.foreachType.has(set, name) {
				sources++
			}
		}
		switch {
		case sources > 1:
			d.errorf(t.At, CodeConflict, "a foreach has one of items, glob and command")
		case sources == 0:
			d.errorf(t.At, CodeMissingField, `a foreach needs items, glob or command, like {"glob": "src/*.go"}`)
		}
	}
	if d.foreach == nil {
		d.foreach = map[int]*foreach{}
	}
	d.foreach[d.task] = f
}

// allowFailures reads a number of items.
func (d *decoder) allowFailures(f *foreach, t source.Token) {
	if t.Kind == source.KindString && strings.HasSuffix(t.Text, "%") {
		d.errorf(t.At, CodeBadValue, "a share of the items was removed: write a number of items, like 3")
	} else if n, ok := d.count(t, 0); ok {
		f.allow = strconv.Itoa(n)
	}
}

// AllowedFailures returns how many items of a group may fail: the group is complete nevertheless. The plan of an older
// run may have a share of the items.
func (g *Group) AllowedFailures() int {
	number, isShare := strings.CutSuffix(g.AllowFailures, "%")
	n, _ := strconv.Atoi(number) // 0 if the field is not given
	if isShare {
		return n * len(g.Tasks) / 100
	}
	return n
}

// foreachItems reads items as they are, or a reference to them.
func (d *decoder) foreachItems(f *foreach, t source.Token) {
	switch t.Kind {
	case source.KindArray:
		f.items = []json.RawMessage{}
		d.longList(t, "a list of items", func(_ int, e source.Token) { f.items = append(f.items, d.src.Raw(e)) })
	case source.KindString:
		p, err := reference.Parse(t.Text)
		if err != nil {
			d.errorf(t.At, CodeBadReference, "%s", err)
			return
		}
		if refs := p.Refs(); len(refs) == 1 && refs[0].IsPlain() && t.Text == "${"+refs[0].Text+"}" {
			f.ref = refs[0]
			return
		}
		d.errorf(t.At, CodeBadValue, "a list comes from one reference without functions, like ${params.files}")
	default:
		d.wrongType(t, "a list, or a reference to one like ${params.files}")
	}
}

// String says where the list comes from.
func (f *foreach) String() string {
	switch {
	case f.glob != "":
		return "glob " + f.glob
	case f.command != "":
		return "command " + f.command
	case f.ref != nil:
		return "${" + f.ref.Text + "}"
	}
	return "the plan"
}

// checkForeach reports the mistakes of references in the list of a task.
func (d *decoder) checkForeach(task int, f *foreach) {
	if f.ref == nil {
		return
	}
	wrong := func(format string, args ...any) {
		d.add(f.at, SeverityError, CodeBadReference, "", "the reference ${%s}: %s", f.ref.Text, fmt.Sprintf(format, args...))
	}
	switch f.ref.Path[0].Name {
	case "params":
	case "tasks":
		if err := d.checkOutput(f.ref, task, "array"); err != nil {
			wrong("%s", err)
		}
		return
	default:
		wrong("a list comes from a parameter, or the output of a task")
		return
	}
	name := f.ref.Path[1].Name
	if !slices.Contains(paramNames(d.plan.Params), name) {
		wrong("the plan has no parameter %s%s", source.Quote(name), suggestName(name, paramNames(d.plan.Params)))
	}
}
