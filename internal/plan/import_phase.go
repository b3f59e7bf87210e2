package plan

// This file reads phase plans in markdown: front matter, must-haves, headings of waves,
// and <task> blocks (LEDGER S4-01 to S4-12). The blocks only look like XML: their text
// holds bare <, tags, fences and headings, so they are cut out by their own lines, and
// an action is opaque.

import (
	"html"
	"regexp"
	"strings"
)

type phaseReader struct {
	*foreign
	src     string
	lines   []line
	wave    *regexp.Regexp
	mode    *regexp.Regexp
	open    *regexp.Regexp
	current int // wave of the heading above
	title   phrase
	number  string // of the phase
}

func (f *foreign) readPhase(src string) {
	r := &phaseReader{foreign: f, src: src,
		mode: regexp.MustCompile(`(?i)^(parallel|sequential)\b\s*(?:[-–—:,]\s*|$)`),
		wave: regexp.MustCompile(`(?i)^wave\s+(\d{1,9})\b\s*(.*)$`),
		open: regexp.MustCompile(`^<([A-Za-z_][\w-]*)((?:\s[^<>]*)?)>`)}
	for l := range markdownLines(src) {
		r.lines = append(r.lines, l)
	}
	i := r.frontMatter()
	for i < len(r.lines) {
		l := r.lines[i]
		level, text := l.heading()
		switch {
		case !l.code && taskTag(l.text) > 0:
			i = r.task(i)
		case level > 0:
			i = r.section(i, level, text)
		default:
			if s := strings.TrimSpace(l.text); s != "" && s != "---" && !l.code {
				f.notCarried(l.at, "the text "+quote(s))
			}
			i++
		}
	}
	if r.number != "" {
		f.name = phrase{strings.TrimSuffix("Phase "+r.number+": "+r.title.text, ": "), r.title.at}
	} else {
		f.name = r.title
	}
}

// frontMatter reads the lines between --- at the top, and returns the first line after.
func (r *phaseReader) frontMatter() int {
	if len(r.lines) == 0 || strings.TrimSpace(r.lines[0].text) != "---" {
		return 0
	}
	for i := 1; i < len(r.lines); i++ {
		l := r.lines[i]
		if strings.TrimSpace(l.text) == "---" {
			return i + 1
		}
		name, value, ok := strings.Cut(l.text, ":")
		if !ok || strings.TrimSpace(name) != name || name == "" {
			if s := strings.TrimSpace(l.text); s != "" && s[0] != '#' {
				r.notCarried(l.at, "the line "+quote(s)+" of the front matter")
			}
			continue
		}
		if c := strings.Index(value, " #"); c >= 0 {
			value = value[:c]
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch at := l.at; name {
		case "phase":
			r.number = value
		case "title":
			r.title = phrase{value, at}
		case "goal":
			r.request = append(r.request, phrase{value, at})
		case "wave_count":
			r.waveCount = textNode(value, at)
		case "task_count":
			r.taskCount = textNode(value, at)
		default:
			if value != "" && value != "[]" && value != "{}" && value != "null" {
				r.notCarried(at, quote(name)+" of the front matter")
			}
		}
	}
	r.errorf(0, CodeSyntax, "the front matter is not closed; end it with a line ---")
	return len(r.lines)
}

// section reads what follows a heading, and returns the line that is none of it.
func (r *phaseReader) section(i, level int, text string) int {
	head := r.lines[i]
	end := i + 1
	for end < len(r.lines) {
		l := r.lines[end]
		if n, _ := l.heading(); n > 0 || !l.code && taskTag(l.text) > 0 {
			break
		}
		end++
	}
	low := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(text))
	body := dedent(strings.Trim(strings.TrimSpace(r.src[head.end:r.from(end)]), "-"))
	switch m := r.wave.FindStringSubmatch(text); {
	case m != nil:
		r.heading(head, m)
	case strings.HasPrefix(low, "must have"):
		for _, l := range r.lines[i+1 : end] {
			if p, _, _, ok := l.item(); ok {
				r.criteria = append(r.criteria, p)
			} else if s := strings.TrimSpace(l.text); s != "" && s != "---" {
				r.notCarried(l.at, "the text "+quote(s))
			}
		}
		return end
	case strings.HasPrefix(low, "key link"):
		if body = strings.TrimSpace(body); body != "" {
			r.request = append(r.request, phrase{text + ":\n" + body, head.at})
			r.warnf(head.at, CodeNotCarried, "the key links became words of the request; nothing checks them")
		}
		return end
	case strings.HasPrefix(low, "goal"), strings.HasPrefix(low, "objective"):
		if body = strings.TrimSpace(body); body != "" {
			r.request = append(r.request, phrase{body, head.at})
		}
		return end
	case level == 1:
		if r.title.text == "" {
			r.title = phrase{text, head.at}
		}
	case strings.TrimSpace(body) != "":
		r.notCarried(head.at, "the section "+quote(text))
		return end
	}
	return i + 1 // the text below is looked at line by line
}

// from is where a line begins; the end of the file for the one after the last.
func (r *phaseReader) from(i int) place {
	if i < len(r.lines) {
		return r.lines[i].at
	}
	return place(len(r.src))
}

// heading reads "Wave 2 (Sequential - label)".
func (r *phaseReader) heading(l line, m []string) {
	n := atoi(m[1])
	if n < 1 || n > maxWave {
		r.errorf(l.at, CodeBadNumber, "wave %s is out of range; waves count from 1 to %d", m[1], maxWave)
		return
	}
	r.current = n
	label := strings.TrimSuffix(strings.TrimLeft(m[2], " (:-–—"), ")")
	w := foreignWave{number: n, at: l.at}
	if mode := r.mode.FindStringSubmatch(label); mode != nil {
		w.sequential = strings.EqualFold(mode[1], "sequential")
		label = label[len(mode[0]):]
	} else {
		w.sequential = strings.Contains(" "+strings.ToLower(strings.Trim(label, "()"))+" ", "sequential")
	}
	w.title = clipped(strings.TrimSpace(label), 200)
	r.foreign.wave(w)
}

func atoi(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > maxCount {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// task reads the block that begins at a line, and returns the line after it. It ends
// at the first </task> that is indented no further than it begins.
func (r *phaseReader) task(i int) int {
	first := r.lines[i]
	indent := len(first.text) - len(strings.TrimLeft(first.text, " "))
	tag := taskTag(first.text)
	t := &foreignTask{at: first.at + place(indent)}
	r.attributes(t, first.text[indent+len("<task"):tag-1], first.at+place(indent+len("<task")))
	if t.wave == 0 {
		t.wave, t.waveAt = r.current, first.at
	} else if r.current != 0 && t.wave != r.current {
		r.warnf(t.waveAt, CodeGuessed, "task %s says wave %d and stands under the heading of wave %d; its own word counts", quote(t.id.text), t.wave, r.current)
	}
	r.tasks = append(r.tasks, t)
	from := first.at + place(tag)
	if body, ok := strings.CutSuffix(strings.TrimRight(first.text[tag:], " \t"), "</task>"); ok {
		r.body(t, body, from)
		return i + 1
	}
	for end := i + 1; end < len(r.lines); end++ {
		l := r.lines[end]
		text := strings.TrimLeft(l.text, " ")
		if len(l.text)-len(text) > indent {
			continue
		}
		if strings.TrimRight(text, " \t") == "</task>" {
			r.body(t, r.src[from:l.at], from)
			return end + 1
		}
		if taskTag(text) > 0 {
			r.errorf(t.at, CodeSyntax, "task %s is not closed before the next one begins; end it with </task> on a line of its own", quote(t.id.text))
			return end
		}
	}
	r.errorf(t.at, CodeSyntax, "task %s is not closed; end it with </task> on a line of its own", quote(t.id.text))
	return len(r.lines)
}

func (r *phaseReader) attributes(t *foreignTask, text string, at place) {
	eachAttribute(text, func(name, value string, n int) {
		value = strings.TrimSpace(value)
		p := phrase{value, at + place(n)}
		switch name {
		case "id":
			t.id = p
		case "title", "name":
			t.subject = p
		case "wave":
			if t.wave = atoi(value); value == "" || t.wave < 1 || t.wave > maxWave {
				r.errorf(p.at, CodeBadNumber, "wave %s is no number from 1 to %d", quote(value), maxWave)
				t.wave = 0
			}
			t.waveAt = p.at
		case "depends", "depends_on", "dependsOn", "blockedBy", "needs":
			t.blockers = append(t.blockers, ids(p)...)
		case "parallel":
			t.alone = value == "false"
		default:
			if value != "" {
				r.keep(t, name, textNode(value, p.at))
			}
		}
	})
}

// eachAttribute goes through name="value", name='value' and name=value; at is where a
// value begins. What is none of these is skipped.
func eachAttribute(s string, f func(name, value string, at int)) {
	const blank = " \t\r\n"
	for i := 0; i < len(s); {
		if !plainName(s[i : i+1]) {
			i++
			continue
		}
		start := i
		for i < len(s) && (plainName(s[i:i+1]) || s[i] == '.') {
			i++
		}
		name := s[start:i]
		eq := i + len(s[i:]) - len(strings.TrimLeft(s[i:], blank))
		if eq >= len(s) || s[eq] != '=' {
			continue
		}
		i = eq + 1
		i += len(s[i:]) - len(strings.TrimLeft(s[i:], blank))
		if i < len(s) && (s[i] == '"' || s[i] == '\'') {
			n := strings.IndexByte(s[i+1:], s[i])
			if n < 0 {
				return
			}
			f(name, html.UnescapeString(s[i+1:i+1+n]), i+1)
			i += n + 2
			continue
		}
		start = i
		for i < len(s) && strings.IndexByte(blank+"\"'>", s[i]) < 0 {
			i++
		}
		if i > start {
			f(name, html.UnescapeString(s[start:i]), start)
		}
	}
}

// ids are the ids of a list like "01, 02"; "none" is an empty one.
func ids(p phrase) []phrase {
	var list []phrase
	for at := 0; at < len(p.text); {
		n := strings.IndexAny(p.text[at:], ",; \t[]\"'")
		if n < 0 {
			n = len(p.text) - at
		}
		if word := p.text[at : at+n]; word != "" && !strings.EqualFold(word, "none") && word != "-" {
			list = append(list, phrase{word, p.at + place(at)})
		}
		at += n + 1
	}
	return list
}

// body reads the sections of a task.
func (r *phaseReader) body(t *foreignTask, body string, at place) {
	for i := 0; i < len(body); {
		if strings.IndexByte(" \t\r\n", body[i]) >= 0 {
			i++
			continue
		}
		m := r.open.FindStringSubmatchIndex(body[i:])
		if m == nil {
			n := strings.IndexByte(body[i:], '\n')
			if n < 0 {
				n = len(body) - i
			}
			r.notCarried(at+place(i), "task "+quote(t.id.text)+": the text "+quote(strings.TrimSpace(body[i:i+n])))
			i += n
			continue
		}
		name := body[i+m[2] : i+m[3]]
		from := i + m[1]
		if strings.HasSuffix(body[i+m[4]:i+m[5]], "/") {
			i = from
			continue
		}
		n := r.close(body[from:], name)
		if n < 0 {
			r.errorf(at+place(i), CodeSyntax, "task %s: <%s> is not closed", quote(t.id.text), clipped(name, 40))
			return
		}
		r.part(t, strings.ToLower(name), body[from:from+n], at+place(from))
		i = from + n + len("</"+name+">")
	}
}

// close finds the end of a section. An action is opaque and may hold its own tag: its
// end is the last that another section, or nothing, follows.
func (r *phaseReader) close(rest, name string) int {
	end := "</" + name + ">"
	if name != "action" {
		return strings.Index(rest, end)
	}
	last := strings.LastIndex(rest, end)
	for n := last; n >= 0; n = strings.LastIndex(rest[:n], end) {
		after := strings.TrimLeft(rest[n+len(end):], " \t\r\n")
		if after == "" || r.open.MatchString(after) {
			return n
		}
	}
	return last
}

// part reads one section.
func (r *phaseReader) part(t *foreignTask, name, text string, at place) {
	clean := strings.Join(strings.Fields(html.UnescapeString(text)), " ")
	if strings.EqualFold(clean, "none") {
		clean = ""
	}
	switch name {
	case "files":
		r.files(t, text, at)
	case "action", "description":
		t.action = phrase{dedent(text), at}
	case "verify", "checks":
		r.checks(t, text, at)
	case "title", "name":
		t.subject = phrase{clean, at}
	case "done":
		t.section("Done when", clean)
	case "libraries":
		t.section("Libraries", clean)
	case "skills":
		t.section("Skills", clean)
	case "user_observable":
		t.section("What the user sees", clean)
	case "depends", "depends_on":
		t.blockers = append(t.blockers, ids(phrase{strings.TrimSpace(text), at})...)
	default:
		if clean != "" {
			t.section(strings.ToUpper(name[:1])+strings.ReplaceAll(name[1:], "_", " "), clean)
		}
	}
}

// elements calls f for each <name ...>text</name>, and gives what stands around them.
func (r *phaseReader) elements(text, name string, f func(attrs map[string]string, text string, at int)) string {
	var around strings.Builder
	for at := 0; ; {
		n := strings.Index(text[at:], "<"+name)
		if n < 0 {
			around.WriteString(text[at:])
			return around.String()
		}
		around.WriteString(text[at : at+n])
		start := at + n
		tag := tagEnd(text[start:])
		if tag < 0 {
			around.WriteString(text[start:])
			return around.String()
		}
		attrs := map[string]string{}
		eachAttribute(text[start+1+len(name):start+tag-1], func(name, value string, _ int) { attrs[name] = value })
		if text[start+tag-2] == '/' {
			f(attrs, "", start)
			at = start + tag
			continue
		}
		end := strings.Index(text[start+tag:], "</"+name+">")
		if end < 0 {
			around.WriteString(text[start:])
			return around.String()
		}
		f(attrs, html.UnescapeString(strings.TrimSpace(text[start+tag:start+tag+end])), start)
		at = start + tag + end + len("</"+name+">")
	}
}

// tagEnd is the length of the tag a text begins with; a > in quotes is none of its end.
func tagEnd(s string) int {
	var in byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case in != 0:
			if c == in {
				in = 0
			}
		case c == '"' || c == '\'':
			in = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

func (r *phaseReader) files(t *foreignTask, text string, at place) {
	around := r.elements(text, "file", func(attrs map[string]string, text string, n int) {
		r.file(t, phrase{text, at + place(n)}, attrs["action"])
	})
	for _, l := range strings.Split(around, "\n") {
		if l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "-*")); l != "" && !strings.EqualFold(l, "none") {
			r.file(t, phrase{l, at}, "")
		}
	}
}

// file enters a declared file; actions have several names.
func (f *foreign) file(t *foreignTask, p phrase, action string) {
	p.text = strings.ReplaceAll(strings.Trim(p.text, "` "), `\`, "/")
	if p.text == "" {
		return
	}
	switch a := strings.ToLower(strings.TrimSpace(action)); a {
	case "", "create", "modify", "create or modify", "delete", "read":
		action = a
	case "new", "add":
		action = "create"
	case "update", "edit", "change", "extend":
		action = "modify"
	case "create/modify", "create_or_modify", "modify or create", "create|modify":
		action = "create or modify"
	case "remove":
		action = "delete"
	case "reference":
		action = "read"
	default:
		f.notCarried(p.at, "the action "+quote(action)+" of a file")
		action = ""
	}
	t.files = append(t.files, foreignFile{p, action})
}

func (r *phaseReader) checks(t *foreignTask, text string, at place) {
	around := r.elements(text, "check", func(attrs map[string]string, text string, n int) {
		kind := strings.ToLower(attrs["type"])
		t.claims = append(t.claims, claim{kind: kind, command: strings.TrimSpace(attrs["cmd"] + attrs["command"]), file: attrs["file"], phrase: phrase{text, at + place(n)}})
	})
	for _, l := range strings.Split(around, "\n") {
		if l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "-*")); l != "" {
			t.claims = append(t.claims, claim{phrase: phrase{html.UnescapeString(l), at}})
		}
	}
}
