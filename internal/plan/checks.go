package plan

// This file reads the evidence of a task: its checks, its criteria, and its declared files; and the key links of a
// plan, files that must be connected in the end. It runs nothing and looks at no file.

import (
	"path"
	"regexp"
	"strings"

	"wavex/internal/plan/source"
)

func checkFields() []field[Check] {
	return []field[Check]{
		{"run", func(d *decoder, c *Check, t source.Token) { d.nonEmptyString(&c.Run, t) }},
		{"timeout", func(d *decoder, c *Check, t source.Token) { d.duration(&c.Timeout, t) }},
		{"file", func(d *decoder, c *Check, t source.Token) { d.relativePath(&c.File, t) }},
		{"contains", func(d *decoder, c *Check, t source.Token) {
			s, ok := d.str(t)
			if ok && s == "" {
				d.errorf(t.At, CodeBadValue, "must not be empty; leave it out to check that the file exists")
			}
			c.Contains = s
		}},
		{"matches", func(d *decoder, c *Check, t source.Token) {
			s, ok := d.str(t)
			if !ok {
				return
			}
			if s == "" {
				d.errorf(t.At, CodeBadValue, "must not be empty; leave it out to check that the file exists")
			} else if _, err := regexp.Compile(s); err != nil {
				d.errorf(t.At, CodeBadPattern, "%s; write it in RE2 syntax (https://golang.org/s/re2syntax)", err)
			}
			c.Matches = s
		}},
		{"once", func(d *decoder, c *Check, t source.Token) { c.Once, _ = d.boolean(t) }},
	}
}

// check reads one check: a command as a string, or an object.
func (d *decoder) check(t source.Token) (Check, bool) {
	switch t.Kind {
	case source.KindString:
		var run string
		d.nonEmptyString(&run, t)
		return Check{Run: run}, run != ""
	case source.KindObject:
		return d.checkObject(t)
	}
	d.wrongType(t, "a command or a check object")
	return Check{}, false
}

func (d *decoder) checkObject(t source.Token) (c Check, ok bool) {
	before := d.errors
	set, _ := d.checkType.decode(d, &c, t)
	if d.errors > before {
		return c, false
	}
	has := func(name string) bool { return d.checkType.has(set, name) }
	switch {
	case has("run") && (has("file") || has("contains") || has("matches")):
		d.errorf(t.At, CodeConflict, "a check is a command or a file, not both; split it into two checks")
	case has("contains") && has("matches"):
		d.errorf(t.At, CodeConflict, "contains and matches exclude each other; split it into two checks")
	case has("timeout") && !has("run"):
		d.errorf(t.At, CodeConflict, "timeout belongs to run; a file is looked at once")
	case !has("run") && !has("file"):
		d.errorf(t.At, CodeMissingField, `a check needs run or file, like {"run": "go test ./..."} or {"file": "README.md"}`)
	default:
		return c, true
	}
	return c, false
}

// verify reads a task's checks: a list, or a single check.
func (d *decoder) verify(t source.Token) []Check {
	add := func(_ int, e source.Token) {
		if c, ok := d.check(e); ok {
			d.checks.scratch = append(d.checks.scratch, c)
		}
	}
	if t.Kind == source.KindArray {
		d.list(t, "a list of checks", add)
	} else {
		add(0, t)
	}
	return d.checks.flush()
}

// VerifyCommand returns the command of a description that ends in "Verify: COMMAND", on a line of its own or
// after other words; "" if there is none.
func VerifyCommand(description string) string {
	s := strings.TrimRight(description, " \t\r\n")
	s = s[strings.LastIndexByte(s, '\n')+1:]
	i := strings.LastIndex(s, "Verify:")
	if i < 0 || (i > 0 && !strings.ContainsRune(" \t*_-([", rune(s[i-1]))) {
		return ""
	}
	s = strings.TrimSpace(strings.TrimLeft(s[i+len("Verify:"):], "*_"))
	for len(s) >= 2 && s[0] == '`' && s[len(s)-1] == '`' {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	if strings.IndexByte(s, 0) >= 0 {
		return ""
	}
	return s
}

func conditionFields() []field[Condition] {
	evidence := func(d *decoder, c *Condition, t source.Token) {
		if c.Check != nil {
			d.errorf(t.At, CodeConflict, "verify and check are the same field; keep one")
		}
		check, ok := d.check(t)
		if ok && check.Once {
			d.errorf(t.At, CodeConflict, "once belongs to the checks of a task's verify; a condition is looked at in the end")
		}
		if ok {
			c.Check = &check
		}
	}
	return []field[Condition]{
		{"text", func(d *decoder, c *Condition, t source.Token) { d.nonEmptyString(&c.Text, t) }},
		{"verify", evidence},
		{"check", evidence},
		{"verification", func(d *decoder, c *Condition, t source.Token) {
			d.enum(&c.Verification, t, "execution output", "measurement", "observation", "assumption")
		}},
	}
}

// conditions reads criteria or mustNot: strings, or objects.
func (d *decoder) conditions(dst *[]Condition, t source.Token) {
	d.list(t, "a list of criteria", func(_ int, e source.Token) {
		var c Condition
		switch e.Kind {
		case source.KindString:
			d.nonEmptyString(&c.Text, e)
		case source.KindObject:
			if set, _ := d.conditionType.decode(d, &c, e); !d.conditionType.has(set, "text") {
				d.errorf(e.At, CodeMissingField, "a criterion needs text: what must be true, in words")
			}
		default:
			d.wrongType(e, "a string or an object with text")
		}
		*dst = append(*dst, c)
	})
}

func fileFields() []field[File] {
	return []field[File]{
		{"path", func(d *decoder, f *File, t source.Token) { d.relativePath(&f.Path, t) }},
		{"action", func(d *decoder, f *File, t source.Token) {
			d.enum(&f.Action, t, "create", "modify", "create or modify", "delete", "read")
		}},
	}
}

// fileList reads a task's files: strings, or objects.
func (d *decoder) fileList(t source.Token) []File {
	d.list(t, "a list of files", func(_ int, e source.Token) {
		var f File
		switch e.Kind {
		case source.KindString:
			d.relativePath(&f.Path, e)
		case source.KindObject:
			if set, _ := d.fileType.decode(d, &f, e); !d.fileType.has(set, "path") {
				d.errorf(e.At, CodeMissingField, `a file needs path, like {"path": "src/a.go", "action": "modify"}`)
			}
		default:
			d.wrongType(e, "a path or an object with path")
		}
		d.files.scratch = append(d.files.scratch, f)
	})
	return d.files.flush()
}

// relativePath reads a slash-separated path that stays in the directory. It stores the clean path, so that
// two spellings of one file are equal.
func (d *decoder) relativePath(dst *string, t source.Token) {
	var s string
	if d.nonEmptyString(&s, t); s == "" {
		return
	}
	switch {
	case strings.ContainsRune(s, '\\'):
		d.errorf(t.At, CodeBadPath, "%s contains a backslash; separate folders by / on every system", source.Quote(s))
	case s[0] == '/', s[0] == '~', len(s) > 1 && s[1] == ':':
		d.errorf(t.At, CodeBadPath, "%s is absolute; write it relative to the task's directory", source.Quote(s))
	case strings.ContainsAny(s, "\r\n"):
		d.errorf(t.At, CodeBadPath, "%s contains a line end", source.Quote(s))
	default:
		clean := path.Clean(s)
		if clean == ".." || strings.HasPrefix(clean, "../") {
			d.errorf(t.At, CodeBadPath, "%s leaves the directory; name a path inside it", source.Quote(s))
			return
		}
		*dst = clean
	}
}

// Link says that two files must be connected: one of them must name the other. Paths are relative
// to the project, slash-separated and clean.
type Link struct {
	From string
	To   string
	Why  string // for people; "": not given
}

func linkFields() []field[Link] {
	return []field[Link]{
		{"from", func(d *decoder, l *Link, t source.Token) { d.relativePath(&l.From, t) }},
		{"to", func(d *decoder, l *Link, t source.Token) { d.relativePath(&l.To, t) }},
		{"why", func(d *decoder, l *Link, t source.Token) { d.singleLine(&l.Why, t) }},
	}
}

func (d *decoder) links(t source.Token) {
	d.list(t, "a list of links", func(_ int, e source.Token) {
		var l Link
		if e.Kind != source.KindObject {
			d.wrongType(e, "an object with from and to")
			return
		}
		if set, _ := d.linkType.decode(d, &l, e); !d.linkType.has(set, "from") || !d.linkType.has(set, "to") {
			d.errorf(e.At, CodeMissingField, `a link needs from and to, like {"from": "hooks.json", "to": "hooks/stop.sh"}`)
		}
		d.plan.Links = append(d.plan.Links, l)
	})
}
