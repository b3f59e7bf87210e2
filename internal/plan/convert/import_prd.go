package convert

// This file reads a PRD in markdown: a heading "### T-001: title" for each task, an HTML comment
// with id, blockedBy and parallel, and checkboxes for its acceptance criteria.

import (
	"regexp"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// maxRequest bounds, in bytes, the other text of a PRD that goes into the request, because each
// prompt repeats the request.
const maxRequest = 16 << 10

// prdReader reads a PRD line by line.
type prdReader struct {
	*importedPlan
	task     *importedTask // that the lines belong to; nil: none
	level    int           // of its heading
	text     strings.Builder
	around   strings.Builder // the text around the tasks
	from     source.Location // of around
	comment  strings.Builder
	meta     source.Location // of comment
	inside   bool            // inside a comment
	ticked   int             // boxes
	accepted *regexp.Regexp  // a heading of acceptance criteria
	field    *regexp.Regexp  // a name and a value in a comment
}

func (f *importedPlan) readPRD(src string) {
	story := storyHeading()
	r := prdReader{importedPlan: f,
		accepted: regexp.MustCompile(`(?i)^[*_#\s]*acceptance(?: criteria)?\s*:?[*_\s]*:?$`),
		field:    regexp.MustCompile(`([A-Za-z_]+)\s*[:=]\s*(\[[^\]]*\]|"[^"]*"|[^\s,|;]+)`)}
	for l := range markdownLines(src) {
		n, title := l.heading()
		m := []int(nil)
		if n > 1 {
			m = story.FindStringSubmatchIndex(l.text)
		}
		if m != nil || n > 0 && n <= r.level {
			r.finishTask()
		}
		switch {
		case m != nil:
			r.level = n
			r.task = &importedTask{at: l.at, id: phrase{l.text[m[4]:m[5]], l.at + source.Location(m[4])},
				subject: phrase{strings.TrimSpace(l.text[m[6]:m[7]]), l.at + source.Location(m[6])}}
			f.tasks = append(f.tasks, r.task)
		case l.code && (r.inside || strings.HasPrefix(strings.TrimSpace(l.text), "<!--")):
			r.readComment(l)
		case r.task != nil:
			r.readTaskLine(l)
		case n == 1 && f.name.text == "":
			f.name = phrase{title, l.at}
		case n > 0 && strings.EqualFold(title, "tasks"):
		default:
			r.readAround(l)
		}
	}
	r.finishTask()
	if s := regexp.MustCompile(`\n{3,}`).ReplaceAllString(strings.TrimSpace(r.around.String()), "\n\n"); s != "" {
		f.request = []phrase{{s, r.from}}
	}
	if r.ticked > 0 {
		f.notCarried(f.tasks[0].at, "that boxes are ticked already: all is checked again, and it")
	}
}

// finishTask gives the task its text.
func (r *prdReader) finishTask() {
	t := r.task
	if t == nil {
		return
	}
	t.action = phrase{dedent(r.text.String()), t.at}
	if run := plan.VerifyCommand(t.action.text); run != "" {
		t.claims = append(t.claims, claim{phrase: phrase{"`" + strings.Trim(run, "`") + "`", t.at}, kind: "tail"})
	}
	r.text.Reset()
	r.task = nil
}

// readComment reads a line of a comment, and at its end the fields of the task.
func (r *prdReader) readComment(l markdownLine) {
	if !r.inside {
		r.comment.Reset()
		r.meta = l.at
	}
	r.comment.WriteString(l.text + "\n")
	r.inside = !strings.Contains(l.text, "-->")
	if r.inside {
		return
	}
	if r.task == nil {
		if rest := afterComment(l.text); rest != "" {
			r.notCarried(l.at, "the text "+source.Quote(rest)+" after a comment")
		}
		return
	}
	if r.comment.Len() > maxRequest {
		r.notCarried(r.meta, "a comment of more than 16 KB")
		return
	}
	body := strings.NewReplacer("<!--", "    ", "-->", "   ").Replace(r.comment.String())
	rest, from := "", 0
	for _, m := range r.field.FindAllStringSubmatchIndex(body, -1) {
		rest, from = rest+" "+body[from:m[0]], m[1]
		r.readField(body[m[2]:m[3]], phrase{strings.Trim(body[m[4]:m[5]], `"`), r.meta + source.Location(m[4])})
	}
	words := strings.Fields(strings.NewReplacer(",", " ", ";", " ", "|", " ").Replace(rest + " " + body[from:]))
	if len(words) > 0 && words[0] == "task" {
		words = words[1:]
	}
	if len(words) > 0 {
		r.notCarried(r.meta, "the text "+source.Quote(strings.Join(words, " "))+" of a comment")
	}
}

// readField reads a name and a value in the comment of a task.
func (r *prdReader) readField(name string, value phrase) {
	switch name {
	case "id":
		if normalizeID(value.text) != normalizeID(r.task.id.text) {
			r.Warn(value.at, plan.CodeGuessed, "task %s has another id in its heading, %s; that of the comment counts",
				source.Quote(value.text), source.Quote(r.task.id.text))
		}
		r.task.id = value
	case "blockedBy", "blocked_by", "depends", "depends_on", "dependsOn":
		r.task.blockers = append(r.task.blockers, splitIDs(value)...)
	case "parallel":
		r.task.exclusive = r.isFalse(source.Text(value.text, value.at), name)
	case "files":
		for _, p := range splitIDs(value) {
			r.file(r.task, p, "")
		}
	default:
		r.addMetadata(r.task, name, source.Text(value.text, value.at))
	}
}

// readTaskLine reads a line below the heading of a task.
func (r *prdReader) readTaskLine(l markdownLine) {
	p, box, tick, ok := l.listItem()
	switch {
	case ok && box:
		r.task.claims = append(r.task.claims, claim{phrase: p})
		if tick {
			r.ticked++
		}
	case !l.code && r.accepted.MatchString(l.text):
	default:
		r.text.WriteString(l.text + "\n")
	}
}

// readAround reads a line that belongs to no task.
func (r *prdReader) readAround(l markdownLine) {
	line := strings.TrimSpace(l.text)
	if line != "" && line != "---" && r.from == 0 {
		r.from = l.at
	}
	if r.around.Len()+len(l.text) > maxRequest {
		if r.around.Len() <= maxRequest {
			r.notCarried(l.at, "the text from here on that belongs to no task (the request holds 16 KB)")
		}
		for r.around.Len() <= maxRequest {
			r.around.WriteByte('\n')
		}
		return
	}
	if line != "---" {
		r.around.WriteString(l.text + "\n")
	}
}
