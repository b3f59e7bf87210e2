package convert

// This file reads phase plans in JSON in their three layouts: a flat list of tasks with their
// waves, waves that contain their tasks, and waves that contain ids of a separate list of tasks.

import (
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

func (f *importedPlan) readPhaseDoc(root *source.Node) {
	root.Each(func(name, v *source.Node) {
		if name.Text != "waves" && name.Text != "tasks" {
			f.phaseField(name, v)
		}
	})
	f.namePhase()
	byID := map[string]*importedTask{}
	for _, e := range root.Get("tasks").Elements() {
		if t := f.task(e); t != nil {
			byID[normalizeID(t.id.text)] = t
		}
	}
	for i, e := range root.Get("waves").Elements() {
		f.docWave(i, e, byID)
	}
}

// phaseField reads a field of the whole phase plan, in JSON or in front matter.
func (f *importedPlan) phaseField(name, v *source.Node) {
	switch name.Text {
	case "phase":
		f.setOnce(&f.phase, f.scalar(v), "phase")
	case "title", "name":
		f.setOnce(&f.title, f.scalar(v), "title")
	case "goal", "objective", "description":
		if p := f.scalar(v); p.text != "" {
			f.request = append(f.request, p)
		}
	case "estimated_tokens", "estimatedTokens":
		f.addTokens(f.scalar(v))
	case "context_budget", "contextBudget":
		f.request = append(f.request, phrase{"Context Budget: " + f.inlineText(v), v.At})
	case "wave_count", "waveCount":
		f.waveCount = v
	case "task_count", "taskCount":
		f.taskCount = v
	case "links", "key_links", "keyLinks":
		var lines []string
		loose := 0
		for _, e := range v.Elements() {
			line := f.inlineText(e)
			lines = append(lines, "- "+line)
			if from, to := e.Get("from"), e.Get("to"); from != nil && to != nil {
				line = from.Text + " -> " + to.Text
			}
			if found, ok := parseLinks(e.At, line); ok {
				f.links = append(f.links, found...)
			} else {
				loose++
			}
		}
		if len(lines) > 0 {
			f.request = append(f.request, phrase{"Key links:\n" + strings.Join(lines, "\n"), v.At})
			f.warnLooseLinks(v.At, loose)
		}
	default:
		f.warnUnused(name, v)
	}
}

// namePhase names the plan by its phase and title.
func (f *importedPlan) namePhase() {
	f.name = f.title
	if f.phase.text != "" {
		f.name = phrase{strings.TrimSuffix("Phase "+f.phase.text+": "+f.title.text, ": "), f.phase.at}
	}
}

// warnUnused reports that a field of the whole file is not carried over, unless it is empty. It carries limits over.
func (f *importedPlan) warnUnused(name, v *source.Node) {
	switch {
	case v.Kind == source.KindNull, v.Kind == source.KindString && v.Text == "", v.Kind == source.KindBool &&
		v.Text == "false":
	case (v.Kind == source.KindArray || v.Kind == source.KindObject) && len(v.Items) == 0:
	case f.carryLimit(name, v):
	default:
		f.notCarried(name.At, "the field "+source.Quote(name.Text))
	}
}

// scalar returns a text or a number as a phrase; other values are empty.
func (f *importedPlan) scalar(v *source.Node) phrase {
	switch v.Kind {
	case source.KindString, source.KindNumber, source.KindBool:
		return phrase{strings.TrimSpace(strings.ReplaceAll(v.Text, "\r\n", "\n")), v.At}
	case source.KindNull:
		return phrase{}
	}
	f.WrongType(source.Token{Kind: v.Kind, At: v.At}, "a string")
	return phrase{}
}

// field returns a text field of an object; it is empty if there is none.
func (f *importedPlan) field(e *source.Node, name string) phrase {
	if v := e.Get(name); v != nil {
		return f.scalar(v)
	}
	return phrase{at: e.At}
}

// without returns an object without some of its fields.
func without(e *source.Node, names ...string) *source.Node {
	rest := &source.Node{Kind: e.Kind, Text: e.Text, At: e.At}
	e.Each(func(name, v *source.Node) {
		if !slices.Contains(names, name.Text) {
			rest.Items = append(rest.Items, name, v)
		}
	})
	return rest
}

// inlineText returns any value on one line.
func (f *importedPlan) inlineText(v *source.Node) string {
	if v.Kind == source.KindObject || v.Kind == source.KindArray {
		return string(v.AppendJSON(nil))
	}
	return strings.Join(strings.Fields(v.Text), " ")
}

func (f *importedPlan) number(v *source.Node) int {
	n := waveNumber(v.Text)
	if v.Kind != source.KindNumber && v.Kind != source.KindString || n == 0 {
		f.Error(v.At, plan.CodeBadNumber, "a wave is a whole number from 1 to %d", plan.MaxWave)
		return 0
	}
	return n
}

// mustHaves reads strings, objects with a text, or an object of such lists.
func (f *importedPlan) mustHaves(v *source.Node) {
	if v.Kind == source.KindObject {
		v.Each(func(name, list *source.Node) {
			if name.Text == "truths" || name.Text == "criteria" {
				f.mustHaves(list)
				return
			}
			for _, e := range list.Elements() {
				f.addCriterion(phrase{name.Text + ": " + f.inlineText(e), e.At})
			}
		})
		return
	}
	for _, e := range v.Elements() {
		if e.Kind != source.KindObject {
			f.addCriterion(f.scalar(e))
			continue
		}
		var texts []string
		e.Each(func(name, v *source.Node) {
			switch name.Text {
			case "text", "description", "truth":
				texts = append(texts, f.scalar(v).text)
			default:
				if text := f.inlineText(v); text != "" {
					texts = append(texts, name.Text+" "+text)
				}
			}
		})
		f.addCriterion(phrase{strings.Join(texts, ": "), e.At})
	}
}

func (f *importedPlan) addCriterion(p phrase) {
	if p.text != "" {
		f.criteria = append(f.criteria, p)
	}
}

func (f *importedPlan) docWave(i int, e *source.Node, byID map[string]*importedTask) {
	if e.Kind != source.KindObject {
		f.WrongType(source.Token{Kind: e.Kind, At: e.At}, "a wave with its tasks")
		return
	}
	w := importedWave{number: i + 1, at: e.At}
	if n := e.Get("wave"); n != nil {
		if w.number = f.number(n); w.number == 0 {
			return
		}
	}
	var title phrase
	e.Each(func(name, v *source.Node) {
		switch name.Text {
		case "wave", "tasks":
		case "parallel":
			w.sequential = f.isFalse(v)
		case "mode":
			if w.sequential = strings.EqualFold(v.Text, "sequential"); !w.sequential && !strings.EqualFold(v.Text, "parallel") {
				f.notCarried(v.At, "the mode "+source.Quote(f.inlineText(v)))
			}
		case "title", "name", "label", "description":
			p := f.scalar(v)
			f.setOnce(&title, phrase{strings.Join(strings.Fields(p.text), " "), p.at}, "title of the wave")
		default:
			f.warnUnused(name, v)
		}
	})
	w.title = title.text
	if title.text != "" {
		w.at = title.at
	}
	f.wave(w)
	for _, v := range e.Get("tasks").Elements() {
		var t *importedTask
		if v.Kind == source.KindObject {
			if t = f.task(v); t == nil {
				continue
			}
		} else {
			id := f.scalar(v)
			if t = byID[normalizeID(id.text)]; t == nil {
				f.Error(v.At, plan.CodeUnknownTask, "wave %d names task %s, which is not among the tasks", w.number,
					source.Quote(id.text))
				continue
			}
		}
		if t.wave != 0 && t.wave != w.number {
			f.Error(v.At, plan.CodeConflict, "task %s is in wave %d and in wave %d; keep one", source.Quote(t.id.text),
				t.wave, w.number)
			continue
		}
		t.wave, t.waveAt = w.number, v.At
	}
}

// isFalse reads whether something runs in parallel, and reports a value that is neither yes nor no.
func (f *importedPlan) isFalse(v *source.Node) bool {
	if v.Text != "true" && v.Text != "false" {
		f.notCarried(v.At, "the value "+source.Quote(f.inlineText(v))+" of parallel")
	}
	return v.Text == "false"
}

// task reads one task of a JSON form.
func (f *importedPlan) task(e *source.Node) *importedTask {
	if e.Kind != source.KindObject {
		f.WrongType(source.Token{Kind: e.Kind, At: e.At}, "a task")
		return nil
	}
	t := &importedTask{at: e.At}
	if id := e.Get("id"); id != nil {
		t.id = f.scalar(id)
	}
	e.Each(func(name, v *source.Node) {
		switch name.Text {
		case "id":
		case "title", "subject", "name":
			p := f.scalar(v)
			f.setOnce(&t.subject, phrase{strings.Join(strings.Fields(p.text), " "), p.at}, "title")
		case "action", "description", "prompt", "details":
			p := f.scalar(v)
			if p.text != "" { // unchanged: its first line may be indented
				p.text = strings.Trim(strings.ReplaceAll(v.Text, "\r\n", "\n"), "\n")
			}
			t.addAction(p)
		case "wave":
			t.wave, t.waveAt = f.number(v), v.At
		case "depends", "depends_on", "dependsOn", "dependencies", "blockedBy", "blocked_by", "addBlockedBy", "needs":
			for _, b := range v.Elements() {
				t.blockers = append(t.blockers, splitIDs(f.scalar(b))...)
			}
		case "files":
			f.docFiles(t, v)
		case "done", "done_when":
			t.section("Done when", f.inlineText(v))
		case "user_observable":
			t.section("What the user sees", f.inlineText(v))
		case "notes":
			t.section("Notes", f.inlineText(v))
		case "libraries", "skills":
			t.section(strings.ToUpper(name.Text[:1])+name.Text[1:], f.inlineList(v))
		case "parallel":
			t.alone = v
		case "status":
			if s := f.inlineText(v); s != "" && s != "pending" && s != "todo" && s != "open" {
				f.notCarried(v.At, "task "+source.Quote(t.id.text)+": its status "+source.Quote(s))
			}
		default:
			if name.Text != "passes" || f.form != string(FormStories) {
				f.addMetadata(t, name.Text, v)
			}
		}
	})
	f.tasks = append(f.tasks, t)
	return t
}

// inlineList returns the elements of a list in one line, without those that say "none".
func (f *importedPlan) inlineList(v *source.Node) string {
	var list []string
	for _, s := range v.Elements() {
		if text := f.inlineText(s); !strings.EqualFold(text, "none") {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

// docFiles reads paths, objects with a path, or lists of them by action.
func (f *importedPlan) docFiles(t *importedTask, v *source.Node) {
	if v.Kind == source.KindObject && v.Get("path") == nil {
		v.Each(func(action, list *source.Node) {
			for _, e := range list.Elements() {
				f.file(t, f.scalar(e), action.Text)
			}
		})
		return
	}
	for _, e := range v.Elements() {
		if e.Kind != source.KindObject {
			f.file(t, f.scalar(e), "")
			continue
		}
		action, p := "", phrase{}
		e.Each(func(name, v *source.Node) {
			switch name.Text {
			case "path", "file":
				f.setOnce(&p, f.scalar(v), "path")
			case "action":
				action = f.scalar(v).text
			default:
				f.warnUnused(name, v)
			}
		})
		if p.text == "" {
			f.Error(e.At, plan.CodeMissingField, "a file needs path")
			continue
		}
		f.file(t, p, action)
	}
}

// docCheck reads one check: words, or an object with a type and words or a command.
func (f *importedPlan) docCheck(t *importedTask, v *source.Node) {
	if v.Kind != source.KindObject {
		t.claims = append(t.claims, claim{phrase: f.scalar(v)})
		return
	}
	c := claim{phrase: phrase{at: v.At}}
	var more []claim
	v.Each(func(name, v *source.Node) {
		switch name.Text {
		case "type", "kind":
			c.kind = strings.ToLower(f.scalar(v).text)
		case "check", "text", "description", "criterion", "expect", "expected":
			p := f.scalar(v)
			if c.text != "" && p.text != "" {
				p.text = c.text + "; " + p.text
			}
			c.text = p.text
		case "cmd", "command", "run":
			p := f.scalar(v)
			if c.command == "" {
				c.command = p.text
			} else if p.text != c.command {
				more = append(more, claim{command: p.text, phrase: phrase{at: p.at}})
			}
		default:
			if p := f.words(v); p.text != "" {
				more = append(more, claim{kind: "manual", phrase: phrase{name.Text + ": " + p.text, p.at}})
			}
		}
	})
	t.claims = append(append(t.claims, c), more...)
}
