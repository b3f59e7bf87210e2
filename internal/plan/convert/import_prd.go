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

func (f *importedPlan) readPRD(src string) {
	story := storyHeading()
	accepted := regexp.MustCompile(`(?i)^[*_#\s]*acceptance(?: criteria)?\s*:?[*_\s]*:?$`)
	field := regexp.MustCompile(`([A-Za-z_]+)\s*[:=]\s*(\[[^\]]*\]|"[^"]*"|[^\s,|;]+)`)
	var (
		t       *importedTask
		level   int
		text    strings.Builder // of the task, or of the text around tasks
		around  strings.Builder
		comment strings.Builder
		ticked  int
		from    source.Location
		inside  bool // inside a comment
		meta    source.Location
	)
	finish := func() {
		if t != nil {
			t.action = phrase{dedent(text.String()), t.at}
			if run := plan.VerifyCommand(t.action.text); run != "" {
				t.claims = append(t.claims, claim{phrase: phrase{"`" + strings.Trim(run, "`") + "`", t.at}, kind: "tail"})
			}
			text.Reset()
			t = nil
		}
	}
	for l := range markdownLines(src) {
		n, title := l.heading()
		low := strings.TrimSpace(l.text)
		m := []int(nil)
		if n > 1 {
			m = story.FindStringSubmatchIndex(l.text)
		}
		switch {
		case m != nil:
			finish()
			level = n
			t = &importedTask{at: l.at, id: phrase{l.text[m[4]:m[5]], l.at + source.Location(m[4])},
				subject: phrase{strings.TrimSpace(l.text[m[6]:m[7]]), l.at + source.Location(m[6])}}
			f.tasks = append(f.tasks, t)
			continue
		case n > 0 && n <= level && t != nil:
			finish()
		}
		switch {
		case l.code && (inside || strings.HasPrefix(low, "<!--")):
			if !inside {
				comment.Reset()
				meta = l.at
			}
			comment.WriteString(l.text + "\n")
			inside = !strings.Contains(l.text, "-->")
			if inside || t == nil {
				continue
			}
			if comment.Len() > maxRequest {
				f.notCarried(meta, "a comment of more than 16 KB")
				continue
			}
			body := strings.NewReplacer("<!--", "    ", "-->", "   ").Replace(comment.String())
			for _, m := range field.FindAllStringSubmatchIndex(body, -1) {
				value := phrase{strings.Trim(body[m[4]:m[5]], `"`), meta + source.Location(m[4])}
				switch name := body[m[2]:m[3]]; name {
				case "id":
					t.id = value
				case "blockedBy", "blocked_by", "depends", "depends_on", "dependsOn":
					t.blockers = append(t.blockers, splitIDs(value)...)
				case "parallel":
					t.exclusive = value.text == "false"
				case "files":
					for _, p := range splitIDs(value) {
						f.file(t, p, "")
					}
				default:
					f.addMetadata(t, name, source.Text(value.text, value.at))
				}
			}
		case t != nil:
			p, box, tick, ok := l.listItem()
			switch {
			case ok && box:
				t.claims = append(t.claims, claim{phrase: p})
				if tick {
					ticked++
				}
			case !l.code && accepted.MatchString(l.text):
			default:
				text.WriteString(l.text + "\n")
			}
		case n == 1 && f.name.text == "":
			f.name = phrase{clipText(title, 300), l.at}
		case n > 0 && strings.EqualFold(title, "tasks"):
		default:
			if low != "" && low != "---" && from == 0 {
				from = l.at
			}
			if around.Len()+len(l.text) > maxRequest {
				if around.Len() <= maxRequest {
					f.notCarried(l.at, "the text from here on that belongs to no task (the request holds 16 KB)")
				}
				for around.Len() <= maxRequest {
					around.WriteByte('\n')
				}
				continue
			}
			if low != "---" {
				around.WriteString(l.text + "\n")
			}
		}
	}
	finish()
	if s := regexp.MustCompile(`\n{3,}`).ReplaceAllString(strings.TrimSpace(around.String()), "\n\n"); s != "" {
		f.request = []phrase{{s, from}}
	}
	if ticked > 0 {
		f.notCarried(f.tasks[0].at, "that boxes are ticked already: all is checked again, and it")
	}
}
