//go:build unix

package runner_test

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// This file draws tasks in drawn projects: the missing parts, the edits of the agent, and the declared files.

// story is a drawn task, with the files of the project in its course.
type story struct {
	*drawnProject
	base        files    // before the task
	left, again files    // after a failed first attempt, and a person after it; nil: one attempt
	work        files    // after the last attempt
	declared    []string // paths in the check's directory
	busy        []string // files that a neighbour declares and changes
}

func (p *drawnProject) green(f files) bool {
	green, _, _ := ask(f, p.under, p.command, p.mode)
	return green
}

// counted returns the files that wavex compares.
func (p *drawnProject) counted(f files) files {
	out := files{}
	for name, v := range f {
		if p.counts(name) {
			out[name] = v
		}
	}
	return out
}

// story draws a task. The project is complete at first, and parts are taken away.
func (p *drawnProject) story() *story {
	s := &story{drawnProject: p, base: p.files}
	if p.worktree { // it has the committed files
		s.base = p.counted(s.base)
	}
	complete := s.base
	names := p.oneIn(6) // nothing is declared, and names decide; then the product is to be changed
	for i, n := 0, 1+p.IntN(3); i < n || i < 20 && p.green(s.base) && !p.oneIn(40); i++ {
		_, _, read := ask(s.base, p.under, p.command, p.mode)
		file := p.pick(p.some(s.base, func(name string) bool {
			return read[name] && (p.product[name] || !names && p.oneIn(4))
		})...)
		s.base = p.try(s.base, func(f files) { p.spoil(f, file) })
	}
	missing := s.base.diff(complete)
	s.work = s.base.with(complete.versions(missing))
	if p.oneIn(2) {
		s.work = s.base.with(complete.versions(choose(p.dice, 3, missing...)))
		for i := 0; i < 20 && !p.green(s.work); i++ {
			s.work = p.try(s.work, p.weaken)
		}
	} else if p.oneIn(8) {
		s.work = s.base.with(complete.versions(choose(p.dice, 2, missing...)))
	}
	for range p.IntN(6) {
		_, _, read := ask(s.work, p.under, p.command, p.mode)
		s.work = p.try(s.work, func(f files) { p.disturb(f, read) })
	}
	if !names {
		s.declare()
	}
	if p.oneIn(5) {
		s.again = s.base.with(s.work.versions(choose(p.dice, 2, s.base.diff(s.work)...)))
		if s.again.possible() && !p.green(s.again) {
			work := s.work.versions(s.base.diff(s.work))
			s.left = s.again
			if p.oneIn(2) {
				s.again = p.try(s.again, func(f files) { p.disturb(f, nil) })
			}
			if s.work = s.again.with(work); s.work.possible() {
				return s
			}
		}
		return p.story()
	}
	return s
}

// try returns f with a change, if it is possible.
func (p *drawnProject) try(f files, change func(files)) files {
	next := f.with(nil)
	if change(next); next.possible() {
		return next
	}
	return f
}

// some returns the paths of those files that are wanted; all of them if there is none.
func (p *drawnProject) some(f files, wanted func(name string) bool) (all []string) {
	var any []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if any = append(any, name); wanted(name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		all = any
	}
	return all
}

// spoil damages a file.
func (p *drawnProject) spoil(f files, name string) {
	v := f[name]
	lines := strings.SplitAfter(v.text, "\n")
	switch p.IntN(8) {
	case 0:
		delete(f, name)
		return
	case 1:
		v.exec = !v.exec && v.link == ""
	case 2:
		if v.link != "" {
			v.link += "2"
		}
		v.text += "DRAFT\n"
	default:
		i := p.IntN(len(lines))
		v.text = strings.Join(slices.Delete(lines, i, i+1), "")
	}
	if v.link != "" {
		v.text = ""
	}
	if p.isPlain(name) {
		f[name] = v
	}
}

// isPlain reports whether a file may have any content.
func (p *drawnProject) isPlain(name string) bool {
	in := p.inside(name)
	return in != p.script && in != "Makefile" && in != "package.json"
}

// weaken makes the check weaker in one of the ways that agents take.
func (p *drawnProject) weaken(f files) {
	rules := p.pick(p.ruled...)
	old := f[p.outside(rules)].text
	put := func(name, text string) { f[p.outside(name)] = version{text: text} }
	lines := strings.SplitAfter(old, "\n")
	switch p.IntN(14) {
	case 0:
		put(rules, "pass\n"+old)
	case 1:
		put(p.hook, "pass\n")
	case 2, 3:
		i := p.IntN(len(lines))
		put(rules, strings.Join(slices.Delete(lines, i, i+1), ""))
	case 4:
		delete(f, p.outside(rules))
	case 5:
		if p.command != "rulecheck "+p.rules {
			put(p.script, "exit 0\n")
		}
	case 6:
		if p.command == "make -s test" {
			put(p.pick("GNUmakefile", "local.mk", "Makefile"), ".PHONY: test\ntest:\n\t@true\n")
		}
	case 7:
		if strings.Contains(p.command, "package.json") {
			put("package.json", "{\n  \"test\": \"true\"\n}\n")
		}
	case 8:
		put("files.list", "")
	case 9:
		put("profile."+p.mode, "pass\n")
	case 10:
		delete(f, p.outside(rules))
		f[p.outside(rules)] = version{link: path.Base(p.pick(p.ruled...))}
	default:
		p.adapt(f, strings.Split(p.pick(lines...), "|"), rules)
	}
	if f[p.outside(rules)].link == path.Base(rules) {
		delete(f, p.outside(rules))
	}
}

// adapt makes a rule hold by a change of its other side.
func (p *drawnProject) adapt(f files, rule []string, in string) {
	if len(rule) < 3 {
		return
	}
	a, b := p.outside(rule[1]), strings.TrimSpace(rule[2])
	v := f[a]
	switch rule[0] {
	case "same":
		f[p.outside(b)] = version{text: v.text}
	case "sum":
		text := strings.ReplaceAll(f[p.outside(in)].text, b, blobID(v.text))
		f[p.outside(in)] = version{text: text}
	case "find":
		f[p.outside(p.pick("local/", "vendor/over/")+rule[1])] = version{text: b + "\n"}
	case "has":
		if strings.HasPrefix(rule[1], "build/") {
			return // a forged output counts with make
		}
		f[a] = version{text: b + "\n"}
	}
}

// disturb makes a change that has nothing to do with the task, mostly of a file that the check does not look at. A nil
// read means that a person makes the change, whose rules of git would hold.
func (p *drawnProject) disturb(f files, read map[string]bool) {
	often := p.IntN(6)
	name := p.pick(p.some(f, func(name string) bool {
		return (!read[name] || often == 0) && path.Base(name) != ".gitignore"
	})...)
	v := f[name]
	switch p.IntN(10) {
	case 0, 1, 2:
		form := p.pick(slices.Concat(p.sources, p.tests, p.data, p.docs, []string{"node_modules/%s/x.js", "build/%s.o",
			"%s.log", "new\nline %s", ".%src", "%s.config.js", "vendor/cache/%s", "deep/er/%s/__init__.py"})...)
		if _, there := f[p.outside(p.fill(form))]; !there {
			f[p.outside(p.fill(form))] = version{text: p.text(), exec: p.oneIn(5)}
		}
	case 3:
		delete(f, name)
	case 4:
		delete(f, name)
		f[p.outside(p.fill(p.pick(p.docs...)))] = v
	case 5:
		v.exec = !v.exec && v.link == ""
		f[name] = v
	case 6:
		if p.isPlain(name) {
			f[name] = version{link: p.pick("nowhere", path.Base(name)+"2", "..")}
		}
	case 7:
		if read == nil {
			return
		}
		rules := f[p.outside(".gitignore")]
		rules.text += p.pick("*.md", "*", "/"+path.Base(name), "/src") + "\n"
		f[p.outside(".gitignore")] = rules
	case 8:
		dir := path.Dir(name)
		for other := range f {
			if p.inside(dir) != "build" && dir != p.under && strings.HasPrefix(other, dir+"/") {
				delete(f, other)
				f[dir] = version{text: "a file\n"}
			}
		}
	default:
		if v.link == "" {
			v.text += "# note\n"
			f[name] = v
		}
	}
}

// declare draws the declared files, and the work of a neighbour.
func (s *story) declare() {
	changed := s.base.diff(s.work)
	often := 1 + s.IntN(4) // one in so many is not declared
	for _, name := range slices.Concat(changed, choose(s.dice, 20, s.all()...)) {
		in := s.inside(name)
		isWork := s.product[name] || s.base[name].text == ""
		if s.under != "" && in == name || strings.Contains(name, "\n") || !isWork && !s.oneIn(3) ||
			often > 1 && s.oneIn(often) {
			if !s.worktree && s.oneIn(9) {
				s.busy = append(s.busy, name)
			}
			continue
		}
		if s.oneIn(9) {
			in = path.Dir(in)
		}
		s.declared = append(s.declared, in)
	}
}
