package convert

// This file reads the content of one <task> block of a phase plan: attributes, sections, files and
// checks. It looks for tags only in their expected places, and takes the rest as text.

import (
	"cmp"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

func (r *phaseReader) attributes(t *importedTask, text string, at source.Location) {
	rest := eachAttribute(text, func(name, value string, n int) {
		value = strings.TrimSpace(value)
		p := phrase{value, at + source.Location(n)}
		switch name {
		case "id":
			t.id = p
		case "title", "name":
			r.setOnce(&t.subject, p, "title")
		case "wave":
			if t.wave = waveNumber(value); t.wave == 0 {
				r.Error(p.at, plan.CodeBadNumber, "wave %s is no number from 1 to %d", source.Quote(value), plan.MaxWave)
			}
			t.waveAt = p.at
		case "depends", "depends_on", "dependsOn", "blockedBy", "needs":
			t.blockers = append(t.blockers, splitIDs(p)...)
		case "parallel":
			t.alone = source.Text(value, p.at)
		case "status":
			if s := strings.ToLower(value); isDone(s) || isDropped(s) {
				r.notCarried(p.at, "the status "+source.Quote(value)+" of a task")
			} else if value != "" {
				r.addMetadata(t, name, source.Text(value, p.at))
			}
		default:
			if value != "" {
				r.addMetadata(t, name, source.Text(value, p.at))
			}
		}
	})
	r.warnTag(at, "task", rest)
}

// warnTag reports the text in a tag that is not an attribute.
func (r *phaseReader) warnTag(at source.Location, name, rest string) {
	if rest != "" {
		r.notCarried(at, "the text "+source.Quote(rest)+" in the tag <"+clipText(name, 40)+">")
	}
}

// attribute matches name="value", name='value' and name=value.
var attribute = textfmt.Pattern(`([\w$-][\w$.-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// eachAttribute calls f for each attribute in the text of a tag; at is the offset of the value. It returns all other
// text.
func eachAttribute(s string, f func(name, value string, at int)) (rest string) {
	var other strings.Builder
	from := 0
	for _, m := range attribute().FindAllStringSubmatchIndex(s, -1) {
		value := max(m[4], m[6], m[8])
		f(s[m[2]:m[3]], html.UnescapeString(s[value:max(m[5], m[7], m[9])]), value)
		other.WriteString(s[from:m[0]] + " ")
		from = m[1]
	}
	return strings.Trim(strings.Join(strings.Fields(other.String()+s[from:]), " "), "/ ")
}

// splitIDs returns the ids of a list like "01, 02"; "none" is an empty list.
func splitIDs(p phrase) []phrase {
	var list []phrase
	for at := 0; at < len(p.text); {
		n := strings.IndexAny(p.text[at:], ",; \t[]\"'")
		if n < 0 {
			n = len(p.text) - at
		}
		if word := p.text[at : at+n]; word != "" && !strings.EqualFold(word, "none") && word != "-" {
			list = append(list, phrase{word, p.at + source.Location(at)})
		}
		at += n + 1
	}
	return list
}

// body reads the sections of a task. A text without them is the action, below a heading.
func (r *phaseReader) body(t *importedTask, body string, at source.Location) {
	if text := dedent(body); strings.TrimSpace(text) != "" && strings.TrimSpace(text)[0] != '<' &&
		!r.sections.MatchString(text) {
		line, rest, _ := strings.Cut(text, "\n")
		if level, title := (markdownLine{text: line}).heading(); level > 0 && t.subject.text == "" {
			t.subject, text = phrase{title, at}, strings.Trim(rest, "\n")
		}
		t.addAction(phrase{text, at})
		if m := r.proof.FindStringSubmatch(text); m != nil {
			r.checks(t, m[1], at)
		}
		return
	}
	for i := 0; i < len(body); {
		if strings.IndexByte(" \t\r\n", body[i]) >= 0 {
			i++
			continue
		}
		m := r.taskStart.FindStringSubmatchIndex(body[i:])
		if m == nil {
			line, _, _ := strings.Cut(body[i:], "\n")
			r.notCarried(at+source.Location(i), "task "+source.Quote(t.id.text)+": the text "+
				source.Quote(strings.TrimSpace(line)))
			i += len(line)
			continue
		}
		name := body[i+m[2] : i+m[3]]
		from := i + m[1]
		tag := at + source.Location(i)
		rest := eachAttribute(body[i+m[4]:i+m[5]], func(attribute, value string, _ int) {
			if !r.carryTaskLimit(t, attribute, source.Text(value, tag)) {
				r.notCarried(tag, "the attribute "+attribute+"="+source.Quote(value)+" of <"+clipText(name, 40)+">")
			}
		})
		r.warnTag(tag, name, rest)
		if strings.HasSuffix(body[i+m[4]:i+m[5]], "/") {
			mayBeEmpty := []string{"files", "action", "description", "verify", "checks", "title", "name", "done",
				"user_observable", "depends", "depends_on", "libraries", "skills"}
			if !slices.Contains(mayBeEmpty, strings.ToLower(name)) {
				r.notCarried(tag, "the empty <"+clipText(name, 40)+"/>")
			}
			i = from
			continue
		}
		n := r.sectionEnd(body[from:], name)
		if n < 0 {
			r.Error(at+source.Location(i), plan.CodeSyntax, "task %s: <%s> is not closed", source.Quote(t.id.text),
				clipText(name, 40))
			return
		}
		r.readSection(t, name, body[from:from+n], at+source.Location(from))
		i = from + n + len("</"+name+">")
	}
}

// sectionEnd returns the end of a section. An action is opaque and may contain its own tag: it ends at
// the last end tag that is followed by another section or by nothing.
func (r *phaseReader) sectionEnd(rest, name string) int {
	end := "</" + name + ">"
	if name != "action" {
		return strings.Index(rest, end)
	}
	last := strings.LastIndex(rest, end)
	for n := last; n >= 0; n = strings.LastIndex(rest[:n], end) {
		after := strings.TrimLeft(rest[n+len(end):], " \t\r\n")
		if after == "" || r.taskStart.MatchString(after) {
			return n
		}
	}
	return last
}

// readSection reads one section.
func (r *phaseReader) readSection(t *importedTask, name, text string, at source.Location) {
	clean := strings.Join(strings.Fields(html.UnescapeString(text)), " ")
	if strings.EqualFold(clean, "none") {
		clean = ""
	}
	switch low := strings.ToLower(name); low {
	case "files":
		r.files(t, text, at)
	case "action", "description":
		t.addAction(phrase{dedent(text), at})
	case "title", "name":
		r.setOnce(&t.subject, phrase{clean, at}, "title")
	case "done":
		t.section("Done when", clean)
	case "user_observable":
		t.section("What the user sees", clean)
	case "depends", "depends_on":
		t.blockers = append(t.blockers, splitIDs(phrase{strings.TrimSpace(text), at})...)
	default:
		switch limitOf(name) {
		case checks:
			r.checks(t, text, at)
			return
		case limitsMoney, forbids:
			r.limitLost(at, name)
		}
		t.section(strings.ToUpper(low[:1])+strings.NewReplacer("_", " ", "-", " ").Replace(low[1:]), clean)
	}
}

// fileElement and checkElement match <file ...>text</file>, and <check ...>text</check> or <automated>, or <file .../>
// and <check .../>. The others match a path of a list, and a text that is no command.
var (
	listedFile = textfmt.Pattern(`(?:\{[^}\n]*\}|\([^)\n]*\)|[^,\n])+`)
	oneCommand = textfmt.Pattern(`\\\n|<<|(?m)^\s*(?:for|while|if|case)\b|[|&({]\s*\n`)
	noCommand  = textfmt.Pattern(`^(?:[A-Z][a-z]+|[A-Z]{2,}|N/A)[:,.]?(?:\s|$)|^\W*$|^[(<]|(?i)^(?:manual|none|n/a|tbd|` +
		`pending|see|no|not|check|verify|todo|open)\b`)
	entities     = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&amp;", "&")
	fileElement  = textfmt.Pattern(`(?s)<file` + attributes + `(?:/>|>(.*?)</file>)`)
	checkElement = textfmt.Pattern(`(?s)<(?:check|automated)` + attributes + `(?:/>|>(.*?)</(?:check|automated)>)`)
)

const attributes = `((?:[^>"']|"[^"]*"|'[^']*')*?)`

// eachElement calls f for each element, and returns the text around them. The text in the tag that is not an attribute
// has the name "".
func eachElement(text string, of *regexp.Regexp, f func(attrs map[string]string, text string, at int)) string {
	var around strings.Builder
	from := 0
	for _, m := range of.FindAllStringSubmatchIndex(text, -1) {
		attrs := map[string]string{}
		attrs[""] = eachAttribute(text[m[2]:m[3]], func(name, value string, _ int) { attrs[name] = value })
		f(attrs, entities.Replace(strings.TrimSpace(text[max(m[4], 0):max(m[5], 0)])), m[0])
		around.WriteString(text[from:m[0]])
		from = m[1]
	}
	return around.String() + text[from:]
}

func (r *phaseReader) files(t *importedTask, text string, at source.Location) {
	around := eachElement(text, fileElement(), func(attrs map[string]string, text string, n int) {
		p := phrase{cmp.Or(text, attrs["path"]), at + source.Location(n)}
		r.warnAttributes(p.at, "file", attrs, "action", "path")
		r.file(t, p, attrs["action"])
	})
	for _, l := range listedFile().FindAllString(around, -1) {
		if l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "-*")); l != "" && !strings.EqualFold(l, "none") {
			r.file(t, phrase{l, at}, "")
		}
	}
}

// warnAttributes reports the attributes of a tag that are not known.
func (r *phaseReader) warnAttributes(at source.Location, tag string, attrs map[string]string, known ...string) {
	r.warnTag(at, tag, attrs[""])
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if name != "" && attrs[name] != "" && !slices.Contains(known, name) {
			r.notCarried(at, "the attribute "+name+"="+source.Quote(attrs[name])+" of <"+tag+">")
		}
	}
}

// file adds a declared file. An action may have several names.
func (f *importedPlan) file(t *importedTask, p phrase, action string) {
	p.text = strings.ReplaceAll(strings.Trim(p.text, "` "), `\`, "/")
	if p.text == "" {
		if action != "" {
			f.notCarried(p.at, "the action "+source.Quote(action)+" of a file without a path")
		}
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
		f.notCarried(p.at, "the action "+source.Quote(action)+" of a file")
		action = ""
	}
	t.files = append(t.files, importedFile{p, action})
}

// automated adds the commands of an <automated>, one on each line. A text that is no command, and a command that
// deletes, deploys or does not end, become words.
func (t *importedTask) automated(p phrase) {
	lines := strings.Split(p.text, "\n")
	if oneCommand().MatchString(p.text) {
		lines = []string{p.text}
	}
	for _, l := range lines {
		c := claim{command: strings.Trim(strings.TrimSpace(l), "`"), phrase: phrase{at: p.at}}
		if noCommand().MatchString(c.command) || destroys().MatchString(c.command) || endless().MatchString(c.command) {
			c = claim{kind: "manual", phrase: phrase{strings.TrimSpace(l), p.at}}
		}
		if c.text != "" || c.command != "" {
			t.claims = append(t.claims, c)
		}
	}
}

func (r *phaseReader) checks(t *importedTask, body string, at source.Location) {
	around := eachElement(body, checkElement(), func(attrs map[string]string, text string, n int) {
		kind := strings.ToLower(attrs["type"])
		r.warnTag(at+source.Location(n), "check", attrs[""])
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			if attrs[name] != "" && !slices.Contains([]string{"", "type", "cmd", "command"}, name) {
				t.claims = append(t.claims, claim{kind: "manual",
					phrase: phrase{name + ": " + attrs[name], at + source.Location(n)}})
			}
		}
		command := strings.TrimSpace(attrs["cmd"] + attrs["command"])
		if strings.HasPrefix(body[n:], "<automated") && command == "" {
			t.automated(phrase{text, at + source.Location(n)})
			return
		}
		t.claims = append(t.claims, claim{kind: kind, command: command, phrase: phrase{text, at + source.Location(n)}})
	})
	item := markdownLine{} // that lines may continue
	for _, text := range strings.Split(around, "\n") {
		l := markdownLine{text: strings.TrimRight(text, "\r")}
		p, isItem := l.listItem()
		if !isItem {
			p.text = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(text), "-*"))
		}
		p = phrase{html.UnescapeString(p.text), at}
		switch {
		case item.text != "" && l.continues(item):
			t.claims[len(t.claims)-1].text += " " + p.text
			continue
		case p.text != "" && (fenceMark(p.text) == "" || strings.Contains(p.text, " ")):
			t.claims = append(t.claims, claim{phrase: p})
		}
		if item = (markdownLine{}); isItem {
			item = l
		}
	}
}

// completeTasks turns checkpoints into criteria of the tasks before them and, if nothing else orders the tasks, makes
// each wait for the one before.
func (r *phaseReader) completeTasks() {
	all, ordered := r.tasks, false
	instead := map[string][]phrase{} // the task before a checkpoint, by its id
	r.tasks, r.taskCountAll = nil, len(all)
	for _, t := range all {
		t.subject.text = r.counted.ReplaceAllString(t.subject.text, "")
		for i, b := range slices.Backward(t.blockers) {
			if others, look := instead[b.text]; look {
				t.blockers = slices.Replace(t.blockers, i, i+1, others...)
			}
		}
		if kind := t.metadata.Get("type"); kind == nil || !strings.HasPrefix(kind.Text, "checkpoint") {
			ordered = ordered || t.wave > 0 || len(t.blockers) > 0 || t.alone != nil
			r.tasks = append(r.tasks, t)
			continue
		}
		var before *importedTask
		if instead[t.id.text] = nil; len(r.tasks) > 0 {
			before = r.tasks[len(r.tasks)-1]
			instead[t.id.text] = []phrase{before.id}
		}
		r.look(t, before)
	}
	if len(r.tasks) < 2 || ordered {
		return
	}
	for i, t := range r.tasks[1:] {
		t.blockers = []phrase{{r.tasks[i].id.text, t.at}}
	}
	r.Warn(r.tasks[1].at, plan.CodeGuessed, "nothing declares the order of the tasks, so each waits for the one before "+
		"it; to run some side by side, write wave=\"1\" or depends=\"ID\" into the tasks")
}

// look adds the words of a checkpoint, at which a person looks, to the criteria of the task before it, or of the plan,
// and its commands to the checks.
func (r *phaseReader) look(t, before *importedTask) {
	words := append([]string{t.subject.text, t.action.text}, t.sections...)
	for _, b := range t.blockers {
		words = append(words, "after "+b.text)
	}
	for _, f := range t.files {
		words = append(words, f.path.text)
	}
	t.metadata.Each(func(name, v *source.Node) { words = append(words, name.Text+" "+r.inlineText(v)) })
	for _, c := range t.claims {
		same := func(other claim) bool { return other.command == c.command }
		switch {
		case c.command == "":
			words = append(words, c.text)
		case before == nil:
			r.addCriterion(phrase{"`" + c.command + "` passes", c.at})
		case !slices.ContainsFunc(before.claims, same):
			before.claims = append(before.claims, c)
		}
	}
	words = slices.DeleteFunc(words, func(s string) bool { return strings.TrimSpace(s) == "" })
	p := phrase{strings.Join(strings.Fields(mustLook+strings.Join(words, "; ")), " "), t.at}
	place := "the plan"
	if before == nil {
		r.criteria = append(r.criteria, p)
	} else {
		before.manual = append(before.manual, p)
		place = "task " + source.Quote(before.id.text)
	}
	r.Warn(t.at, plan.CodeManualCheck, "task %s is a checkpoint: plans have no gate, so it became a criterion of %s and "+
		"stops no task; a person must look", source.Quote(t.id.text), place)
}
