package convert

// This file reads phase plans in markdown, also those of get-shit-done: front matter, must-haves, headings of waves,
// sections between tags, and <task> blocks. The blocks only look like XML: their text holds bare <, tags, fences and
// headings. So the reader cuts them out line by line and does not parse an action.

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

type phaseReader struct {
	*importedPlan
	src       string
	lines     []markdownLine
	wave      *regexp.Regexp
	mode      *regexp.Regexp
	counted   *regexp.Regexp // the number before a name
	sections  *regexp.Regexp // the tag of a section of a task
	proof     *regexp.Regexp // the part of a task in markdown that says how to check it
	taskStart *regexp.Regexp
	prefix    string // of the ids of tasks without one
	ends      []int  // by line, the index of the end of the section that it begins; 0 if there is none
	plan      string // number of the plan in its phase
	current   int    // wave of the heading above
	headings  []phrase
}

func (f *importedPlan) readPhase(src string) {
	r := &phaseReader{importedPlan: f, src: src,
		mode:      regexp.MustCompile(`(?i)^(parallel|sequential)\b\s*(?:[-–—:,]\s*|$)`),
		wave:      regexp.MustCompile(`(?i)^wave\s+(\d{1,9})\b\s*(.*)$`),
		counted:   regexp.MustCompile(`(?i)^task [\d.]+[a-z]?\s*[:.–—-]\s*`),
		sections:  regexp.MustCompile(`(?m)^\s*<(?:files|action|description|name|verify|checks|done)\b`),
		proof:     regexp.MustCompile(`(?ims)^#+ +(?:verif\w*|acceptance criteria|checks)\b[^\n]*\n(.*?)(?:^#+ |\z)`),
		taskStart: regexp.MustCompile(`^<([A-Za-z_][\w-]*)((?:\s[^<>]*)?)>`), prefix: "T-"}
	for strings.Contains(src, `"`+r.prefix) {
		r.prefix = "T" + r.prefix
	}
	r.lines = slices.Collect(markdownLines(src))
	r.findSections()
	i := r.frontMatter()
	for i < len(r.lines) {
		l := r.lines[i]
		level, text := l.heading()
		switch {
		case !l.code && taskTag(l.text) > 0:
			i = r.task(i)
		case level > 0:
			i = r.section(i, level, text)
		case r.ends[i] > 0:
			i = r.section(i, 0, strings.Trim(l.text, "<> \t"))
		case l.code:
			i = r.codeBlock(i)
		default:
			if s := strings.TrimSpace(l.text); s != "" && s != "---" && !isTasks(s) {
				f.notCarried(l.at, "the text "+source.Quote(s))
			}
			i++
		}
	}
	r.completeTasks()
	f.title.text = strings.TrimSpace(f.title.text + r.plan)
	f.namePhase()
	for _, h := range r.headings { // of the first level
		if !strings.Contains(strings.ToLower(f.name.text), strings.ToLower(strings.TrimSpace(h.text))) {
			f.notCarried(h.at, "the heading "+source.Quote(h.text))
		}
	}
}

// findSections finds the end of each section, below a heading or between tags. A section has no task in it.
func (r *phaseReader) findSections() {
	closed := map[string]int{} // lines of the next end tags
	next := len(r.lines)       // line that ends a section below a heading
	r.ends = make([]int, len(r.lines))
	for i, l := range slices.Backward(r.lines) {
		s := strings.TrimSpace(l.text)
		level, _ := l.heading()
		switch name := strings.Trim(s, "</> \t"); {
		case level > 0:
			r.ends[i], next = next, i
		case !l.code && (taskTag(l.text) > 0 || isTasks(l.text)):
			clear(closed)
			next = i
		case !l.code && s == "</"+name+">":
			closed[name] = i
		case !l.code && s == "<"+name+">" && closed[name] > 0:
			r.ends[i], next = closed[name], i
		}
	}
}

// codeBlock passes over lines in fences and comments, and returns the index of the line after them. It reports
// fences, but not comments.
func (r *phaseReader) codeBlock(i int) int {
	start := i
	if strings.HasPrefix(strings.TrimSpace(r.lines[i].text), "<!--") {
		for i++; i < len(r.lines) && r.lines[i].code && !strings.Contains(r.lines[i-1].text, "-->"); i++ {
		}
		if !strings.Contains(r.lines[i-1].text, "-->") {
			r.refuseTasks(start)
		} else if rest := afterComment(r.lines[i-1].text); rest != "" {
			r.notCarried(r.lines[i-1].at, "the text "+source.Quote(rest)+" after a comment")
		}
		return i
	}
	end, _ := r.fence(i)
	r.linesNotCarried(i, end, "the block "+source.Quote(strings.TrimSpace(r.lines[i].text)))
	return end
}

// fence returns the index of the line after a fenced block, and the text of the block: without its marks if it has
// one line, else with them, so that no check reads several commands as one.
func (r *phaseReader) fence(i int) (end int, text string) {
	start, open := r.lines[i], true
	mark := fenceMark(start.text)
	for end = i + 1; open && end < len(r.lines) && r.lines[end].code; end++ {
		text := strings.TrimSpace(r.lines[end].text)
		open = mark == "" || !strings.HasPrefix(text, mark) || strings.Trim(text, mark[:1]) != ""
	}
	if open {
		r.refuseTasks(i)
	} else if end <= i+3 && !strings.Contains(strings.TrimSpace(start.text), " ") {
		return end, strings.TrimSpace(r.src[start.end:r.lines[end-1].at])
	}
	return end, strings.TrimSpace(r.src[start.at:r.lines[end-1].end])
}

// refuseTasks reports a task in a fence or a comment that begins with a line and is not closed.
func (r *phaseReader) refuseTasks(start int) {
	for i, l := range r.lines[start:] {
		if taskTag(l.text) > 0 {
			r.Error(r.lines[start].at, plan.CodeSyntax,
				"%s is not closed, and the tasks from line %d on are in it; close it, or remove it",
				source.Quote(strings.TrimSpace(r.lines[start].text)), start+i+1)
			return
		}
	}
}

// linesNotCarried reports a part of several lines; the one with the index end is not among them.
func (r *phaseReader) linesNotCarried(i, end int, what string) {
	r.notCarried(r.lines[i].at, fmt.Sprintf("%s, lines %d to %d,", what, i+1, end))
}

// PhaseNumber returns the number in a name like "Phase 2: Title", as imports of phase plans have; "" if
// there is none.
func PhaseNumber(p *plan.Plan) string {
	if m := regexp.MustCompile(`^Phase ([\w.]+)(?:: |$)`).FindStringSubmatch(p.Name); m != nil {
		return m[1]
	}
	return ""
}

// phaseFields are the fields that phaseField knows.
const phaseFields = " phase title name goal objective description estimated_tokens estimatedTokens context_budget " +
	"contextBudget wave_count waveCount task_count taskCount links key_links keyLinks "

// frontMatter reads the lines between --- at the top, and returns the index of the next line.
func (r *phaseReader) frontMatter() int {
	if len(r.lines) == 0 || strings.TrimSpace(r.lines[0].text) != "---" {
		return 0
	}
	above := source.Text("", 0) // the field that the lines below it belong to
	var unused []string         // fields, from the line with the index first on
	first := 0
	for i := 1; i < len(r.lines); i++ {
		l := r.lines[i]
		if strings.TrimSpace(l.text) == "---" {
			if unused != nil {
				r.linesNotCarried(first, i, "the front matter's "+strings.Join(unused, ", "))
			}
			return i + 1
		}
		name, value, ok := strings.Cut(l.text, ":")
		if !ok || strings.TrimSpace(name) != name || name == "" || strings.ContainsAny(name[:1], "-#") {
			if s := strings.TrimSpace(l.text); s != "" && s[0] != '#' && !r.carryLimit(above,
				source.Text(strings.TrimSpace(strings.TrimPrefix(s, "-")), l.at)) {
				r.notCarried(l.at, "the line "+source.Quote(s)+" of the front matter")
			}
			continue
		}
		kind := limitOf(name)
		known := kind != limitsNothing || strings.Contains(phaseFields, " "+name+" ")
		if v, last := r.yamlValue(i); v != nil && (kind == checks || !known) {
			switch {
			case kind == checks:
				r.warnUnused(source.Text(name, l.at), v)
			case name == "depends_on" && len(v.Items) > 0:
				r.Warn(l.at, plan.CodeNotCarried, "the plan comes after %s, which this file does not have; run it after those",
					r.inlineList(v))
			case name == "plan" && v.Kind != source.KindObject && v.Kind != source.KindArray:
				r.plan = " (plan " + r.inlineText(v) + ")"
			case says(v) || v.Text == "true":
				unused, first = append(unused, name), cmp.Or(first, i)
			}
			i = last
			continue
		}
		if c := strings.Index(value, " #"); c >= 0 {
			value = value[:c]
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		above = source.Text(name, l.at)
		if value != "" && value != "[]" && value != "{}" && value != "null" {
			r.phaseField(above, source.Text(value, l.at))
		}
	}
	r.Error(0, plan.CodeSyntax, "the front matter is not closed; end it with a line ---")
	return len(r.lines)
}

// yamlValue reads the value of a field of the front matter as YAML, and returns the index of its last line. The value
// is nil if it is no YAML.
func (r *phaseReader) yamlValue(i int) (v *source.Node, last int) {
	for last = i; last+1 < len(r.lines); last++ {
		text := r.lines[last+1].text
		if strings.TrimSpace(text) == "---" || text != "" && !strings.ContainsAny(text[:1], " \t-#") {
			break
		}
	}
	tree := source.NewYAML(r.src[r.lines[i].at:r.lines[last].end])
	size := source.MaxNodes
	root := source.ReadTree(tree, tree.Next(), &size)
	if root == nil || root.Kind != source.KindObject || len(root.Items) != 2 {
		return nil, i
	}
	var locate func(n *source.Node)
	locate = func(n *source.Node) {
		n.At = r.lines[min(i+tree.Pos(n.At).Line-1, last)].at
		for _, item := range n.Items {
			locate(item)
		}
	}
	locate(root)
	return root.Items[1], last
}

// section reads the text below a heading or between tags, and returns the index of the first line after it.
func (r *phaseReader) section(i, level int, text string) int {
	head := r.lines[i]
	end, after := r.ends[i], r.ends[i]
	if level == 0 {
		after++ // the end tag
	}
	low := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(text))
	body := dedent(strings.TrimSuffix(strings.TrimSpace(r.src[head.end:r.lines[end-1].end]), "---"))
	switch m := r.wave.FindStringSubmatch(text); {
	case m != nil:
		r.heading(head, m)
	case strings.HasPrefix(low, "must have"):
		if low != "must haves" && low != "must haves (goal backward)" {
			r.notCarried(head.at, "the heading "+source.Quote(text))
		}
		for _, l := range r.lines[i+1 : end] {
			if p, ok := l.listItem(); ok {
				r.criteria = append(r.criteria, p)
			} else if s := strings.TrimSpace(l.text); s != "" && s != "---" {
				r.notCarried(l.at, "the text "+source.Quote(s))
			}
		}
		return after
	case strings.HasPrefix(low, "key link"):
		if body = strings.TrimSpace(body); body != "" {
			r.request = append(r.request, phrase{text + ":\n" + body, head.at})
			r.linkRows(head.at, body)
		} else {
			r.notCarried(head.at, "the heading "+source.Quote(text))
		}
		return after
	case strings.HasPrefix(low, "goal"), strings.HasPrefix(low, "objective"), strings.HasPrefix(low, "context budget"),
		low == "context":
		if low != "goal" && low != "objective" {
			body = text + ":\n" + strings.TrimSpace(body)
		}
		if body = strings.TrimSpace(body); body != "" {
			r.request = append(r.request, phrase{body, head.at})
		}
		return after
	case level == 1:
		r.headings = append(r.headings, phrase{text, head.at})
		if r.title.text == "" {
			r.title = phrase{text, head.at}
		}
	case strings.TrimSpace(body) != "" && limitOf(text) != limitsNothing:
		r.limitSection(source.Text(text, head.at), i+1, end)
		return after
	case strings.TrimSpace(body) != "":
		r.linesNotCarried(i, end, "the section "+source.Quote(text))
		return after
	case low != "tasks" && low != "waves":
		r.notCarried(head.at, "the heading "+source.Quote(text))
	}
	return i + 1 // the text below is read line by line
}

// heading reads "Wave 2 (Sequential - label)".
func (r *phaseReader) heading(l markdownLine, m []string) {
	n := waveNumber(m[1])
	if n == 0 {
		r.Error(l.at, plan.CodeBadNumber, "wave %s is out of range; waves count from 1 to %d", m[1], plan.MaxWave)
		return
	}
	r.current = n
	label := strings.TrimSuffix(strings.TrimLeft(m[2], " (:-–—"), ")")
	w := importedWave{number: n, at: l.at}
	if mode := r.mode.FindStringSubmatch(label); mode != nil {
		w.sequential = strings.EqualFold(mode[1], "sequential")
		label = label[len(mode[0]):]
	} else {
		w.sequential = strings.Contains(" "+strings.ToLower(strings.Trim(label, "()"))+" ", "sequential")
	}
	w.title = strings.TrimSpace(label)
	r.importedPlan.wave(w)
}

// waveNumber returns the number of a wave; 0 if the text is not a valid number.
func waveNumber(s string) int {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > plan.MaxWave {
		return 0
	}
	return int(n)
}

// task reads the block that begins at a line, and returns the index of the line after it. The block
// ends at the first </task> that is indented no further than its start, else at the last one before the next task.
func (r *phaseReader) task(i int) int {
	first := r.lines[i]
	indent := indentation(first.text)
	tag := taskTag(first.text)
	t := &importedTask{at: first.at + source.Location(indent)}
	r.attributes(t, first.text[indent+len("<task"):tag-1], first.at+source.Location(indent+len("<task")))
	if t.id.text == "" {
		t.id = phrase{fmt.Sprintf("%s%02d", r.prefix, len(r.tasks)+1), t.at}
	}
	if t.wave == 0 {
		t.wave, t.waveAt = r.current, first.at
	} else if r.current != 0 && t.wave != r.current {
		r.Warn(t.waveAt, plan.CodeGuessed, "task %s says wave %d and stands under the heading of wave %d; its own word counts", source.Quote(t.id.text), t.wave, r.current)
	}
	r.tasks = append(r.tasks, t)
	from := first.at + source.Location(tag)
	if body, ok := strings.CutSuffix(strings.TrimRight(first.text[tag:], " \t"), "</task>"); ok {
		r.body(t, body, from)
		return i + 1
	}
	last, end := 0, i+1
	for ; end < len(r.lines); end++ {
		l := r.lines[end]
		if isTasks(l.text) || taskTag(l.text) > 0 && indentation(l.text) <= indent {
			break
		}
		if isTaskEnd(l.text, len(l.text)) {
			if last = end; indentation(l.text) <= indent {
				break
			}
		}
	}
	if last > 0 {
		r.body(t, r.src[from:r.lines[last].at], from)
		return last + 1
	}
	r.Error(t.at, plan.CodeSyntax, "task %s is not closed; end it with </task> on a line of its own, before the next one",
		source.Quote(t.id.text))
	return end
}

// limitSection carries the list items, lines and fenced blocks below a heading over, each as a limit.
func (r *phaseReader) limitSection(head *source.Node, i, end int) {
	for i < end {
		l := r.lines[i]
		p, item := l.listItem()
		switch {
		case l.code && strings.HasPrefix(strings.TrimSpace(l.text), "<!--"):
			i = r.codeBlock(i)
			continue
		case l.code:
			i, p.text = r.fence(i)
		default:
			if i++; !item && strings.TrimSpace(l.text) != "---" {
				p.text = strings.TrimSpace(l.text)
			}
			for item && i < end && r.lines[i].continues(l) {
				p.text += " " + strings.TrimSpace(r.lines[i].text)
				i++
			}
		}
		r.carryLimit(head, source.Text(p.text, cmp.Or(p.at, l.at)))
	}
}
