package convert

// This file reads phase plans in markdown: front matter, must-haves, headings of waves, and <task>
// blocks. The blocks only look like XML: their text holds bare <, tags, fences and headings. So the
// reader cuts them out line by line and does not parse an action.

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
	taskStart *regexp.Regexp
	current   int // wave of the heading above
	headings  []phrase
}

func (f *importedPlan) readPhase(src string) {
	r := &phaseReader{importedPlan: f, src: src,
		mode:      regexp.MustCompile(`(?i)^(parallel|sequential)\b\s*(?:[-–—:,]\s*|$)`),
		wave:      regexp.MustCompile(`(?i)^wave\s+(\d{1,9})\b\s*(.*)$`),
		taskStart: regexp.MustCompile(`^<([A-Za-z_][\w-]*)((?:\s[^<>]*)?)>`)}
	r.lines = slices.Collect(markdownLines(src))
	i := r.frontMatter()
	for i < len(r.lines) {
		l := r.lines[i]
		level, text := l.heading()
		switch {
		case !l.code && taskTag(l.text) > 0:
			i = r.task(i)
		case level > 0:
			i = r.section(i, level, text)
		case l.code:
			i = r.codeBlock(i)
		default:
			if s := strings.TrimSpace(l.text); s != "" && s != "---" {
				f.notCarried(l.at, "the text "+source.Quote(s))
			}
			i++
		}
	}
	f.namePhase()
	for _, h := range r.headings { // of the first level
		if !strings.Contains(strings.ToLower(f.name.text), strings.ToLower(strings.TrimSpace(h.text))) {
			f.notCarried(h.at, "the heading "+source.Quote(h.text))
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

// frontMatter reads the lines between --- at the top, and returns the index of the next line.
func (r *phaseReader) frontMatter() int {
	if len(r.lines) == 0 || strings.TrimSpace(r.lines[0].text) != "---" {
		return 0
	}
	above := source.Text("", 0) // the field that the lines below it belong to
	for i := 1; i < len(r.lines); i++ {
		l := r.lines[i]
		if strings.TrimSpace(l.text) == "---" {
			return i + 1
		}
		name, value, ok := strings.Cut(l.text, ":")
		if !ok || strings.TrimSpace(name) != name || name == "" || name[0] == '-' {
			if s := strings.TrimSpace(l.text); s != "" && s[0] != '#' && !r.carryLimit(above,
				source.Text(strings.TrimSpace(strings.TrimPrefix(s, "-")), l.at)) {
				r.notCarried(l.at, "the line "+source.Quote(s)+" of the front matter")
			}
			continue
		}
		if limitOf(name) == checks {
			if v, last := r.yamlValue(i); v != nil {
				r.warnUnused(source.Text(name, l.at), v)
				i = last
				continue
			}
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

// section reads the text below a heading, and returns the index of the first line after it.
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
		return end
	case strings.HasPrefix(low, "key link"):
		if body = strings.TrimSpace(body); body != "" {
			r.request = append(r.request, phrase{text + ":\n" + body, head.at})
			r.linkRows(head.at, body)
		} else {
			r.notCarried(head.at, "the heading "+source.Quote(text))
		}
		return end
	case strings.HasPrefix(low, "goal"), strings.HasPrefix(low, "objective"), strings.HasPrefix(low, "context budget"):
		if low != "goal" && low != "objective" {
			body = text + ":\n" + strings.TrimSpace(body)
		}
		if body = strings.TrimSpace(body); body != "" {
			r.request = append(r.request, phrase{body, head.at})
		}
		return end
	case level == 1:
		r.headings = append(r.headings, phrase{text, head.at})
		if r.title.text == "" {
			r.title = phrase{text, head.at}
		}
	case strings.TrimSpace(body) != "" && limitOf(text) != limitsNothing:
		r.limitSection(source.Text(text, head.at), i+1, end)
		return end
	case strings.TrimSpace(body) != "":
		r.linesNotCarried(i, end, "the section "+source.Quote(text))
		return end
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
// ends at the first </task> that is indented no further than its start.
func (r *phaseReader) task(i int) int {
	first := r.lines[i]
	indent := indentation(first.text)
	tag := taskTag(first.text)
	t := &importedTask{at: first.at + source.Location(indent)}
	r.attributes(t, first.text[indent+len("<task"):tag-1], first.at+source.Location(indent+len("<task")))
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
	for end := i + 1; end < len(r.lines); end++ {
		l := r.lines[end]
		if isTaskEnd(l.text, indent) {
			r.body(t, r.src[from:l.at], from)
			return end + 1
		}
		if taskTag(l.text) > 0 && indentation(l.text) <= indent {
			r.Error(t.at, plan.CodeSyntax, "task %s is not closed before the next one begins; end it with </task> on a line of its own", source.Quote(t.id.text))
			return end
		}
	}
	r.Error(t.at, plan.CodeSyntax, "task %s is not closed; end it with </task> on a line of its own",
		source.Quote(t.id.text))
	return len(r.lines)
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
		}
		r.carryLimit(head, source.Text(p.text, cmp.Or(p.at, l.at)))
	}
}
