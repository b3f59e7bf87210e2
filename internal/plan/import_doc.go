package plan

// This file reads phase plans in JSON, in the three layouts there are: a flat list of
// tasks with their waves, waves that hold their tasks, and waves that hold ids of tasks
// listed apart.

import "strings"

func (f *foreign) readPhaseDoc(root *node) {
	var number, title phrase
	root.each(func(name, v *node) {
		switch name.text {
		case "phase":
			number = f.scalar(v)
		case "title", "name":
			title = f.scalar(v)
		case "goal", "objective", "description":
			if p := f.scalar(v); p.text != "" {
				f.request = append(f.request, p)
			}
		case "must_haves", "mustHaves":
			f.mustHaves(v)
		case "wave_count", "waveCount":
			f.waveCount = v
		case "task_count", "taskCount":
			f.taskCount = v
		case "links", "key_links", "keyLinks":
			var lines []string
			for _, e := range v.elements() {
				lines = append(lines, "- "+f.oneLine(e))
			}
			if len(lines) > 0 {
				f.request = append(f.request, phrase{"Key links:\n" + strings.Join(lines, "\n"), v.at})
				f.warnf(v.at, CodeNotCarried, "the key links became words of the request; nothing checks them")
			}
		case "waves", "tasks":
		default:
			f.unused(name, v)
		}
	})
	switch {
	case number.text != "":
		f.name = phrase{strings.TrimSuffix("Phase "+number.text+": "+title.text, ": "), number.at}
	default:
		f.name = title
	}
	f.name.text = clipped(strings.Join(strings.Fields(f.name.text), " "), 300)
	byID := map[string]*foreignTask{}
	for _, e := range root.get("tasks").elements() {
		if t := f.task(e); t != nil {
			byID[spelled(t.id.text)] = t
		}
	}
	for i, e := range root.get("waves").elements() {
		f.docWave(i, e, byID)
	}
}

// unused says that a field of the whole file is not carried over, unless it is empty.
func (f *foreign) unused(name, v *node) {
	switch {
	case v.kind == kindNull, v.kind == kindString && v.text == "", v.kind == kindBool && v.text == "false":
	case (v.kind == kindArray || v.kind == kindObject) && len(v.items) == 0:
	default:
		f.notCarried(name.at, "the field "+quote(name.text))
	}
}

// scalar is a text, a number, or nothing.
func (f *foreign) scalar(v *node) phrase {
	switch v.kind {
	case kindString, kindNumber, kindBool:
		return phrase{strings.TrimSpace(strings.ReplaceAll(v.text, "\r\n", "\n")), v.at}
	case kindNull:
		return phrase{}
	}
	f.d.wrongType(token{kind: v.kind, at: v.at}, "a string")
	return phrase{}
}

// oneLine shows any value in one line.
func (f *foreign) oneLine(v *node) string {
	if v.kind == kindObject || v.kind == kindArray {
		return string(v.appendJSON(nil))
	}
	return strings.Join(strings.Fields(v.text), " ")
}

func (f *foreign) number(v *node) int {
	n := atoi(v.text)
	if v.kind != kindNumber && v.kind != kindString || v.text == "" || n < 1 || n > maxWave {
		f.errorf(v.at, CodeBadNumber, "a wave is a whole number from 1 to %d", maxWave)
		return 0
	}
	return n
}

// mustHaves are strings, objects with a text, or an object of such lists.
func (f *foreign) mustHaves(v *node) {
	if v.kind == kindObject {
		v.each(func(name, list *node) {
			if name.text == "truths" || name.text == "criteria" {
				f.mustHaves(list)
				return
			}
			f.unused(name, list)
		})
		return
	}
	for _, e := range v.elements() {
		text := e
		for _, name := range []string{"text", "description", "truth"} {
			if t := e.get(name); t != nil {
				text = t
			}
		}
		if p := f.scalar(text); p.text != "" {
			f.criteria = append(f.criteria, p)
		}
	}
}

func (f *foreign) docWave(i int, e *node, byID map[string]*foreignTask) {
	if e.kind != kindObject {
		f.d.wrongType(token{kind: e.kind, at: e.at}, "a wave with its tasks")
		return
	}
	w := foreignWave{number: i + 1, at: e.at}
	if n := e.get("wave"); n != nil {
		if w.number = f.number(n); w.number == 0 {
			return
		}
	}
	e.each(func(name, v *node) {
		switch name.text {
		case "wave", "tasks":
		case "parallel":
			w.sequential = v.text == "false"
		case "mode":
			w.sequential = strings.EqualFold(v.text, "sequential")
		case "title", "name", "label", "description":
			w.title = clipped(strings.Join(strings.Fields(f.scalar(v).text), " "), 200)
		default:
			f.unused(name, v)
		}
	})
	f.wave(w)
	for _, v := range e.get("tasks").elements() {
		var t *foreignTask
		if v.kind == kindObject {
			if t = f.task(v); t == nil {
				continue
			}
		} else {
			id := f.scalar(v)
			if t = byID[spelled(id.text)]; t == nil {
				f.errorf(v.at, CodeUnknownTask, "wave %d names task %s, which is not among the tasks", w.number, quote(id.text))
				continue
			}
		}
		if t.wave != 0 && t.wave != w.number {
			f.errorf(v.at, CodeConflict, "task %s is in wave %d and in wave %d; keep one", quote(t.id.text), t.wave, w.number)
			continue
		}
		t.wave, t.waveAt = w.number, v.at
	}
}

// task reads one task of a JSON form.
func (f *foreign) task(e *node) *foreignTask {
	if e.kind != kindObject {
		f.d.wrongType(token{kind: e.kind, at: e.at}, "a task")
		return nil
	}
	t := &foreignTask{at: e.at}
	if id := e.get("id"); id != nil {
		t.id = f.scalar(id)
	}
	e.each(func(name, v *node) {
		switch name.text {
		case "id":
		case "title", "subject", "name":
			t.subject = f.scalar(v)
			t.subject.text = strings.Join(strings.Fields(t.subject.text), " ")
		case "action", "description", "prompt", "details":
			p := f.scalar(v)
			if p.text != "" { // as it is: its first line may be indented
				p.text = strings.Trim(strings.ReplaceAll(v.text, "\r\n", "\n"), "\n")
			}
			if t.action.text != "" && p.text != "" {
				p.text = t.action.text + "\n\n" + p.text
			}
			t.action = p
		case "wave":
			t.wave, t.waveAt = f.number(v), v.at
		case "depends", "depends_on", "dependsOn", "dependencies", "blockedBy", "blocked_by", "addBlockedBy":
			for _, b := range v.elements() {
				t.blockers = append(t.blockers, ids(f.scalar(b))...)
			}
		case "files":
			f.docFiles(t, v)
		case "verify", "checks", "verification", "acceptanceCriteria", "acceptance_criteria", "acceptance", "criteria":
			for _, c := range v.elements() {
				f.docCheck(t, c)
			}
		case "done", "done_when":
			t.section("Done when", f.oneLine(v))
		case "user_observable":
			t.section("What the user sees", f.oneLine(v))
		case "notes":
			t.section("Notes", f.oneLine(v))
		case "libraries", "skills":
			var list []string
			for _, s := range v.elements() {
				if text := f.oneLine(s); !strings.EqualFold(text, "none") {
					list = append(list, text)
				}
			}
			t.section(strings.ToUpper(name.text[:1])+name.text[1:], strings.Join(list, ", "))
		case "parallel":
			t.alone = v.text == "false"
		case "status":
			if s := f.oneLine(v); s != "" && s != "pending" && s != "todo" && s != "open" {
				f.notCarried(v.at, "task "+quote(t.id.text)+": its status "+quote(s))
			}
		default:
			f.keep(t, name.text, v)
		}
	})
	f.tasks = append(f.tasks, t)
	return t
}

// docFiles reads paths, objects with a path, or lists of them by their action.
func (f *foreign) docFiles(t *foreignTask, v *node) {
	if v.kind == kindObject && v.get("path") == nil {
		v.each(func(action, list *node) {
			for _, e := range list.elements() {
				f.file(t, f.scalar(e), action.text)
			}
		})
		return
	}
	for _, e := range v.elements() {
		if e.kind != kindObject {
			f.file(t, f.scalar(e), "")
			continue
		}
		action, p := "", phrase{}
		e.each(func(name, v *node) {
			switch name.text {
			case "path", "file":
				p = f.scalar(v)
			case "action":
				action = f.scalar(v).text
			default:
				f.unused(name, v)
			}
		})
		if p.text == "" {
			f.errorf(e.at, CodeMissingField, "a file needs path")
			continue
		}
		f.file(t, p, action)
	}
}

// docCheck reads one check: words, or an object with a type and words or a command.
func (f *foreign) docCheck(t *foreignTask, v *node) {
	if v.kind != kindObject {
		t.claims = append(t.claims, claim{phrase: f.scalar(v)})
		return
	}
	c := claim{phrase: phrase{at: v.at}}
	v.each(func(name, v *node) {
		switch p := f.scalar(v); name.text {
		case "type", "kind":
			c.kind = strings.ToLower(p.text)
		case "check", "text", "description", "criterion", "expect", "expected":
			if c.text != "" && p.text != "" {
				p.text = c.text + "; " + p.text
			}
			c.text = p.text
		case "cmd", "command", "run":
			c.command = p.text
		case "file", "path":
			c.file = p.text
		default:
			f.unused(name, v)
		}
	})
	t.claims = append(t.claims, c)
}
