//go:build unix

package runner_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// This file draws projects in which a check is green, and edits of them.

// shape is the layout of a kind of project. "%s" is a drawn name.
type shape struct {
	sources, tests, data, docs []string
	glob                       string // matches tests; "": they are listed
	hook                       string // a helper that the test runner loads by its name
	script, rules              string // of the check
	settings                   string
}

var shapes = []shape{
	{sources: []string{"internal/%[1]s/%[1]s.go", "cmd/%s/main.go", "%s.go", "internal/core/%s.go"},
		tests: []string{"internal/core/%s_test.go"}, glob: "internal/core/*_test.go", data: []string{"testdata/%s.golden"},
		docs: []string{"README.md", "docs/%s.md", "LICENSE"}, hook: "internal/core/export_test.go",
		script: "hack/verify.sh", rules: "hack/all.rules", settings: "go.mod"},
	{sources: []string{"src/%s.js", "src/%[1]s/index.js", "lib/%s.js"}, tests: []string{"test/%s.test.js"},
		glob: "test/*.test.js", data: []string{"test/__snapshots__/%s.snap", "data/%s.json"},
		docs: []string{"README.md", "CHANGELOG.md", "docs/%s.md"}, hook: "test/setup.js", script: "scripts/run",
		rules: "app.config.js", settings: "package.json"},
	{sources: []string{"pkg/%s.py", "pkg/sub/%s.py", "%s.py"}, tests: []string{"tests/test_%s.py"}, glob: "tests/test_*",
		data: []string{"tests/data/%s.txt", "expected/%s"}, docs: []string{"README.rst", "notes/%s.txt", "AUTHORS"},
		hook: "conftest.py", script: "tools/runner.sh", rules: "pytest.ini", settings: "pyproject.toml"},
	{sources: []string{"%s.sh", "bin/%s", "src/%s.c"}, tests: []string{"check/%s.t"}, data: []string{"want/%s.txt"},
		docs: []string{"README", "doc/%s.1"}, hook: "check/local.t", script: "check/all.sh", rules: "check/MANIFEST",
		settings: "config.mk"},
}

var names = strings.Fields("alpha beta core delta edge fold gate head item join kind list main node open page " +
	"queue root slot test text unit view walk zone test_util want expected.v2 check_all index Makefile.am " +
	"naïve it's x[1] a+b conftest")

// drawnProject is a project whose check is green.
type drawnProject struct {
	dice
	shape
	files    files
	git      bool
	worktree bool
	under    string // the directory of the check in the project
	command  string
	mode     string
	product  map[string]bool // the files that tasks are about
	forced   map[string]bool // the files that git tracks in spite of a rule
	ruled    []string        // the files with rules
	hidden   bool            // the agent changed the index of the repository, or its rules
	exclude  string          // the file of those rules
}

// drawProject draws until the check is green.
func drawProject(d dice, n int) *drawnProject {
	for {
		p := &drawnProject{dice: d, shape: shapes[n%len(shapes)], files: files{}, git: n%3 != 0, worktree: n%3 == 1,
			product: map[string]bool{}, forced: map[string]bool{}, mode: d.pick("ci", "dev")}
		p.drawFiles()
		p.drawCheck()
		if green, _, _ := ask(p.files, p.under, p.command, p.mode); green && p.files.possible() {
			return p
		}
	}
}

func (p *drawnProject) drawFiles() {
	if p.oneIn(4) {
		p.under = "packages/app"
		p.files["shared/common.txt"], p.files["README"] = version{text: "common\n"}, version{text: "all\n"}
	}
	for i, list := range [][]string{p.sources, p.sources, p.sources, p.data, p.docs, p.docs} {
		for _, form := range list {
			name := p.fill(form)
			p.set(name, version{text: p.text(), exec: strings.HasPrefix(form, "bin/")})
			p.product[p.outside(name)] = i < 3
		}
	}
	p.set("vendor/dep/"+p.pick(names...), version{text: p.text()})
	p.set("build/out.txt", version{text: "old\n"})
	p.set("debug.log", version{text: p.text()})
	p.set(".env", version{text: p.text()})
	p.set(".gitignore", version{text: "build/\n*.log\n.env\nnode_modules/\n"})
	p.set("vendor/.gitignore", version{text: "/cache\n"})
	p.set("latest", version{link: p.inside(p.pick(p.all()...))})
	p.set("broken link", version{link: "no/such file"})
	if p.oneIn(2) {
		p.set("build/kept.txt", version{text: p.text()})
		p.forced[p.outside("build/kept.txt")] = true
	}
}

// fill puts a name into a form.
func (d dice) fill(form string) string {
	if !strings.Contains(form, "%") {
		return form
	}
	name := d.pick(names...)
	if d.oneIn(6) && !strings.Contains(form, "%[1]s") {
		name += " " + d.pick(names...)
	}
	return fmt.Sprintf(form, name)
}

func (d dice) line() string {
	return fmt.Sprintf("%s %d", d.pick("let", "def", "use", "set"), d.IntN(1000))
}

func (d dice) text() (text string) {
	for range d.IntN(5) {
		text += d.line() + "\n"
	}
	return text
}

// outside returns the path in the project of a path in the check's directory; inside is the opposite.
func (p *drawnProject) outside(name string) string { return path.Join(p.under, name) }
func (p *drawnProject) inside(name string) string  { return strings.TrimPrefix(name, p.under+"/") }

func (p *drawnProject) set(name string, v version) { p.files[p.outside(name)] = v }

func (p *drawnProject) all() []string { return slices.Sorted(maps.Keys(p.files)) }

// counts reports whether wavex compares a file.
func (p *drawnProject) counts(name string) bool {
	in := p.inside(name)
	cached := strings.HasPrefix(in, "node_modules/")
	if !p.git || cached {
		return !cached
	}
	return p.forced[name] || !strings.HasPrefix(in, "build/") && !strings.HasSuffix(in, ".log") &&
		path.Base(in) != ".env" && !strings.HasPrefix(in, "vendor/cache")
}

// add adds a line to a file in the check's directory, and returns it.
func (p *drawnProject) add(name, line string) string {
	v := p.files[p.outside(name)]
	v.text += line + "\n"
	p.set(name, v)
	return line
}

// source draws a regular file of the product, as a path in the check's directory.
func (p *drawnProject) source() string {
	for {
		name := p.pick(p.all()...)
		if p.product[name] && p.files[name].link == "" {
			return p.inside(name)
		}
	}
}

// drawCheck adds the check: its script, and rules in tests, settings and lists.
func (p *drawnProject) drawCheck() {
	var tests []string
	for range 2 + p.IntN(2) {
		if name := p.fill(p.tests[0]); !slices.Contains(tests, name) {
			tests = append(tests, name)
			p.product[p.outside(name)] = false
			p.set(name, version{text: "# a test\n"})
		}
	}
	p.set(p.rules, version{text: "path|local:vendor/over:" + path.Dir(p.source()) + "\ntry|" + p.hook + "\n"})
	if p.glob != "" && !p.oneIn(4) {
		p.add(p.rules, "each|"+p.glob)
	} else {
		for _, name := range tests {
			p.add(p.rules, "use|"+name)
		}
	}
	if p.oneIn(3) {
		p.set(p.hook, version{text: "# helpers\n"})
	}
	if p.oneIn(3) {
		p.set("profile."+p.mode, version{text: "# profile\n"})
		p.add(p.rules, "mode|profile")
		tests = append(tests, "profile."+p.mode)
	}
	p.ruled = append(tests, p.rules, p.hook)
	var late []string
	for range 4 + p.IntN(4) {
		if rule := p.rule(); strings.HasPrefix(rule, "same|") || strings.HasPrefix(rule, "sum|") {
			late = append(late, rule)
		} else if rule != "" {
			p.add(p.pick(tests...), rule)
		}
	}
	for _, rule := range late { // the contents are complete now
		f := strings.Split(rule, "|")
		text := p.files[p.outside(f[1])].text
		if f[0] == "same" {
			p.set(f[2], version{text: text})
		} else {
			rule += blobID(text)
		}
		p.add(p.pick(tests...), rule)
	}
	run := "sh " + p.script + " " + p.rules
	switch p.IntN(4) {
	case 0:
		p.command = "rulecheck " + p.rules
		return
	case 1:
		p.command = "make -s test"
		p.set("Makefile", version{text: ".PHONY: test\ntest:\n\t@" + run + "\n-include local.mk\n"})
	case 2:
		p.command = `c=$(sed -n 's/^ *"test": "\(.*\)",*$/\1/p' package.json) && [ -n "$c" ] && sh -c "$c"`
		p.set("package.json", version{text: "{\n  \"test\": \"" + run + "\"\n}\n"})
	default:
		p.command = run
	}
	p.set(p.script, version{text: ruleScript})
}

// rule draws a rule that holds at the end of drawCheck. "" if it cannot.
func (p *drawnProject) rule() string {
	source, data, line := p.source(), p.fill(p.data[0]), p.line()
	switch p.IntN(14) {
	case 0, 1, 2:
		return "has|" + source + "|" + p.add(source, line)
	case 3:
		return "lacks|" + source + "|DRAFT"
	case 4:
		return "same|" + source + "|" + data
	case 5:
		return "sum|" + source + "|"
	case 6:
		v := p.files[p.outside(source)]
		v.exec = true
		p.set(source, v)
		return "exec|" + source
	case 7:
		return "link|latest|" + p.files[p.outside("latest")].link
	case 8:
		pattern := path.Dir(source) + "/*" + path.Ext(source)
		q := question{at: p.files, under: p.under, read: map[string]bool{}}
		for _, name := range q.glob(pattern) {
			if strings.Contains(pattern, "[") || !p.product[p.outside(name)] {
				return ""
			}
			p.add(name, line)
		}
		return "all|" + pattern + "|" + line
	case 9:
		p.add(source, line)
		p.set("files.list", version{text: source + "\n"})
		if p.under != "" {
			p.add("files.list", "../../shared/common.txt")
			v := p.files["shared/common.txt"]
			v.text += line + "\n"
			p.files["shared/common.txt"] = v
		}
		return "list|files.list|" + line
	case 10:
		if !strings.Contains(p.files[p.outside(p.rules)].text, ":"+path.Dir(source)+"\n") {
			return ""
		}
		return "find|" + path.Base(source) + "|" + p.add(source, line)
	case 11:
		output := fmt.Sprintf("build/%d.txt", p.IntN(1000))
		return "build|" + source + "|" + output + "\nhas|" + output + "|" + p.add(source, line)
	case 12:
		return "make|" + source + "|build/out.txt\nhas|build/out.txt|" + p.add(source, line)
	}
	return "gone|" + path.Dir(source) + "/old" + path.Ext(source)
}
