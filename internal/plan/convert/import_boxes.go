package convert

// This file reads markdown whose tasks are boxes, "- [ ] text": tasks.md of spec-kit, OpenSpec and Kiro, and
// checklists. It splits the file into boxes with their texts. orderBoxes makes tasks of them.

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

var (
	boxLine = textfmt.Pattern(`^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX✓✔v~/-])\](\*?)[ \t]+(\S.*)$`)
	// boxNumber matches the number of a box or section; a bare "1" is one only in some forms.
	boxNumber  = textfmt.Pattern(`^\**(\d{1,6}(?:\.\d{1,6})*)([.)]?)\**[ \t]+(\S.*)$`)
	taskNumber = textfmt.Pattern("^(?:\\[P\\][ \\t]*)?[\\[`*]*((?:T-?|TASK-)\\d{1,6}[a-z]?(?:\\.\\d{1,6})*)\\b" +
		"[\\]`*]*[:.]?\\**[ \\t]*")
	boxTag     = textfmt.Pattern(`^\[(P|US\d{1,4})\][ \t]*`)
	boxComment = textfmt.Pattern(`<!--.*?-->`)
	// taskNeeds and numberNeeds match "depends on T003, T005-T007" and "(depends on 1.2)".
	taskNeeds = textfmt.Pattern(`(?i)\b(?:depends on|depends|dependencies|after|needs|requires|blocked by):?[ \t]+` +
		"(?:tasks?[ \\t]+)?(`?T-?\\d[\\w.]*`?(?:[ \\t,/&–-]+(?:(?:and|then|to)[ \\t]+)?`?T-?\\d[\\w.]*`?)*)")
	denied      = textfmt.Pattern(`(?i)(?:\bno longer|\bnot|n't|\bnever|\bno)[ \t]+$`)
	numberNeeds = textfmt.Pattern(`(?i)[(_](?:depends on|depends|blocked by):?[ \t]+` +
		`(\d+(?:\.\d+)*(?:[ \t,&]+(?:and[ \t]+)?\d+(?:\.\d+)*)*)`)
	needKey = textfmt.Pattern(`(?i)(?:T-?)?\d[\w.]*\b|[–-]|\bto\b`)
	// requirement matches `_Requirements: 1.1_` in any language, and **Validates: Requirements 1.1**.
	requirement = textfmt.Pattern(`^(?:_([^_:：]+[:：][ \t]*\d[\d., \t–-]*)_|_(Requirements[:：].*)_|` +
		`\*\*(Validates:.*)\*\*)$`)
	filesLine   = textfmt.Pattern(`^\**_?Files?\**:\**[ \t]*(.*?)_?$`)
	pathInText  = textfmt.Pattern("(?:^|[\\s`(])([\\w.@-]+(?:/[\\w.@-]+)+\\.\\w{1,8})(?:[\\s`),;:.]|$)")
	personLooks = textfmt.Pattern(`(?i)\bmanual verification\b|\bmanually verif|` +
		`\bmanual.*\bby (?:the|a) (?:user|person|human)\b`)
)

// readBoxes reads a file with boxes.
func (f *importedPlan) readBoxes(src string, form Form) {
	r := &boxReader{importedPlan: f, of: form, keys: map[string]*box{}, ids: map[string]int{}}
	for l := range markdownLines(src) {
		r.number++
		r.line(l)
	}
	r.endSection()
	if len(r.noID) > 0 {
		r.Warn(r.at, plan.CodeNotCarried, "boxes without an id like T001 are no tasks: %s", someOf(r.noID))
	}
	r.orderBoxes()
}

// line reads one line.
func (r *boxReader) line(l markdownLine) {
	text := strings.TrimRight(strings.ReplaceAll(boxComment().ReplaceAllString(l.text, ""), "\t", "    "), " ")
	trimmed := strings.TrimLeft(text, " ")
	width := len(text) - len(trimmed)
	if level, title := l.heading(); level > 0 {
		r.section(level, phrase{title, l.at})
		return
	}
	code := l.code || r.fence != "" && width > 0
	switch mark := fenceMark(trimmed); {
	case width == 0 && trimmed != "" || r.fence != "" && strings.HasPrefix(mark, r.fence):
		r.fence = ""
	case r.fence == "" && width > 3:
		r.fence, code = mark, code || mark != ""
	}
	if m := boxLine().FindStringSubmatchIndex(text); m != nil && !code && r.box(l, text, m, width) {
		return
	}
	_, item := l.listItem()
	lazy := !r.blank && !item && !code && !strings.ContainsAny(trimmed[:min(1, len(trimmed))], "|>")
	for r.top != nil && trimmed != "" && width < r.top.width+2 && !lazy {
		r.top = r.top.parent
	}
	if width == 0 && trimmed != "" {
		r.list = item || lazy && r.top != nil
	}
	r.blank = trimmed == ""
	switch {
	case l.code && strings.HasPrefix(strings.TrimSpace(l.text), "<!--"):
	case r.top != nil:
		r.text(r.top, text, l.at, code)
	case strings.Trim(trimmed, "-*_ ") != "":
		r.addProse(l, text, item)
	}
}

// section begins the section of a heading. The first one of level 1 is the name of the plan.
func (r *boxReader) section(level int, title phrase) {
	r.endSection()
	r.heading, r.top, r.fence = title, nil, ""
	r.list, r.blank = false, false
	if strings.Contains(strings.ToLower(title.text), "phase") {
		r.phases++
	}
	if level == 1 && r.name.text == "" {
		r.name, r.heading = title, phrase{}
	}
}

// addProse adds a line outside the boxes to the section. Items below "Acceptance:" are criteria of the plan.
func (r *boxReader) addProse(l markdownLine, text string, item bool) {
	if p, ok := l.listItem(); ok && r.accept {
		r.criteria = append(r.criteria, p)
		return
	}
	label := strings.ToLower(strings.Trim(text, "*: \t"))
	if r.accept = !item && (label == "acceptance" || label == "acceptance criteria"); r.accept {
		return
	}
	if r.from == 0 {
		r.from, r.proseAt = r.number, l.at
	}
	r.to = r.number
	r.prose = append(r.prose, text)
}

// endSection puts the text of a section into the request if it stands beside or before the tasks, and else reports it.
func (r *boxReader) endSection() {
	if r.from > 0 && (r.held > 0 || len(r.boxes) == 0) {
		title := ""
		if r.heading.text != "" {
			title = r.heading.text + ":\n"
		}
		r.request = append(r.request, phrase{title + dedent(strings.Join(r.prose, "\n")), r.proseAt})
	} else if r.from > 0 {
		why := ""
		if strings.Contains(strings.ToLower(r.heading.text), "depend") {
			why = "; it is not read: write (depends on ID) into a task for each edge that the phases do not give"
		}
		r.Warn(r.proseAt, plan.CodeNotCarried, "the text below %s, lines %d to %d, is no task and was left out%s",
			source.Quote(cmp.Or(r.heading.text, "the tasks")), r.from, r.to, why)
	}
	r.prose, r.accept = nil, false
	r.from, r.held = 0, 0
}

// box reads the line of a box. It returns false if the line is text.
func (r *boxReader) box(l markdownLine, line string, m []int, width int) bool {
	text := line[m[6]:m[7]]
	numbered := taskNumber().FindStringSubmatchIndex(text)
	for r.top != nil && width < r.top.width+2 {
		r.top = r.top.parent
	}
	if r.top == nil && (width > 3 && !r.list || r.of == FormSpecKit && numbered == nil ||
		strings.EqualFold(r.heading.text, "Notes")) {
		if r.of == FormSpecKit && line[m[2]] == ' ' {
			r.noID = append(r.noID, source.Quote(clipText(text, 60)))
		}
		return false
	}
	b := &box{mark: line[m[2]], optional: m[4] < m[5], width: width, parent: r.top, phase: r.phases}
	if strings.Contains("✓✔v", line[m[2]:m[3]]) {
		b.mark = 'x'
	}
	b.task.at = l.at + source.Location(len(l.text)-len(strings.TrimLeft(l.text, " \t")))
	id := ""
	if n := boxNumber().FindStringSubmatch(text); numbered != nil {
		b.beside = strings.HasPrefix(text, "[P]")
		r.beside = r.beside || b.beside
		id, text = text[numbered[2]:numbered[3]], text[numbered[1]:]
	} else if n != nil && (n[2] != "" || strings.Contains(n[1], ".") || r.of == FormKiro) {
		id, text = n[1], n[3]
	}
	for tag := boxTag().FindStringSubmatch(text); tag != nil; tag = boxTag().FindStringSubmatch(text) {
		if text = text[len(tag[0]):]; tag[1] == "P" {
			b.beside, r.beside = true, true
		} else {
			b.task.section("Story", tag[1])
		}
	}
	r.setID(b, id)
	if b.task.subject = (phrase{text, b.task.at}); len(text) > maxWaveTitle {
		b.task.subject.text = clipText(text, maxWaveTitle)
		b.lines = append(b.lines, text)
	}
	if r.of == FormSpecKit {
		if found := pathInText().FindAllStringSubmatch(text, 2); len(found) == 1 && projectPath(found[0][1]) != "" {
			r.file(&b.task, phrase{found[0][1], b.task.at}, "")
		}
	}
	b.task.section("Section", clipText(r.heading.text, maxWaveTitle))
	b.gate = personLooks().MatchString(clipText(text, 2*maxWaveTitle))
	b.readNeeds(text, r.of)
	if b.optional {
		b.task.section("Optional", "the file marks this task with *")
	}
	if b.parent != nil {
		b.parent.children = append(b.parent.children, b)
	}
	r.boxes = append(r.boxes, b)
	r.held++
	r.top, r.list, r.blank = b, true, false
	return true
}

// setID gives a box its id: that of the file, with a suffix if it is taken, or one from the position.
func (r *boxReader) setID(b *box, id string) {
	if id != "" && r.keys[normalizeID(id)] == nil {
		r.keys[normalizeID(id)] = b
	}
	own := cmp.Or(id, fmt.Sprintf("T-%03d", len(r.boxes)+1))
	key := strings.ToLower(normalizeID(own))
	if r.ids[key]++; r.ids[key] > 1 {
		own += fmt.Sprintf("_%d", r.ids[key])
		if id != "" {
			r.Warn(b.task.at, plan.CodeGuessed, "the id %s is given twice; the second one is %s", source.Quote(id), own)
		}
	}
	b.task.id = phrase{own, b.task.at}
}

// text adds a line below a box to it.
func (r *boxReader) text(b *box, line string, at source.Location, code bool) {
	words := strings.TrimSpace(line)
	if len(words) > 2 && strings.Contains("-*+", words[:1]) && words[1] == ' ' {
		words = strings.TrimSpace(words[2:])
	}
	m, files := requirement().FindStringSubmatch(words), filesLine().FindStringSubmatch(words)
	switch {
	case code:
	case strings.HasPrefix(words, "_Depends"):
		b.readNeeds(words, r.of)
	case m != nil:
		b.task.manual = append(b.task.manual, phrase{m[1] + m[2] + m[3], at})
		return
	case files != nil:
		for _, name := range strings.Split(files[1], ",") {
			if path := projectPath(name); path != "" {
				r.file(&b.task, phrase{path, at}, "")
			}
		}
	}
	b.lines = append(b.lines, line)
}

// readNeeds reads the ids that a text says the box waits for.
func (b *box) readNeeds(text string, form Form) {
	words := numberNeeds()
	if form == FormSpecKit {
		words = taskNeeds()
	}
	for _, m := range words.FindAllStringSubmatchIndex(text, -1) {
		from, through := uint64(0), false
		if denied().MatchString(text[:m[0]]) {
			continue
		}
		for _, key := range needKey().FindAllString(text[m[2]:m[3]], -1) {
			n, ok := plan.NumericID(key)
			for from++; ok && through && from < n && len(b.needs) < 1000; from++ {
				b.needs = append(b.needs, phrase{fmt.Sprint(from), b.task.at})
			}
			if through = strings.Contains("-–to", strings.ToLower(key)); !through {
				b.needs, from = append(b.needs, phrase{key, b.task.at}), n
			} else {
				from--
			}
		}
	}
}
