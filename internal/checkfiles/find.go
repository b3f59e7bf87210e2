package checkfiles

import (
	"cmp"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file finds the files of a command. A script and a makefile lead to further commands.

// search is the search for the files of one command.
type search struct {
	*Finder
	found map[string]Kind
}

// Find returns the files on which a shell command rests that runs in dir. A file of kind Setup may be missing.
func (f *Finder) Find(dir, command string) map[string]Kind {
	s := search{f, map[string]Kind{}}
	s.command(path.Clean(filepath.ToSlash(dir)), command, 0)
	return s.found
}

// inspectors are programs that look at the work and run nothing of it.
var inspectors = strings.Fields("grep egrep fgrep rg test [ [[ ls cat head tail wc find jq yq awk sed echo printf " +
	"true false : stat sort uniq tr cut tee mkdir rm cp mv touch git curl set export sleep kill trap exit return fi " +
	"done for case")

var interpreters = strings.Fields("sh bash zsh dash ksh python python3 node deno bun ruby perl php Rscript " +
	"tsx ts-node . source")

// runners are programs that find tests by their names.
var runners = strings.Fields("pytest py.test tox nox jest vitest mocha ava tap karma playwright cypress cargo mvn " +
	"mvnw gradle gradlew rspec rake phpunit ctest dotnet mix bats bazel swift")

func (s *search) command(dir, command string, depth int) {
	if depth > maxDepth {
		return
	}
	for _, v := range invocations(dir, command) {
		s.program(v, depth)
	}
}

func (s *search) program(v invocation, depth int) {
	v.words = limited(v.words)
	if len(v.words) == 0 {
		return
	}
	switch name := path.Base(v.words[0]); {
	case s.ownProgram(v, name):
		s.script(v, v.words, depth)
		if slices.Contains(runners, name) { // a wrapper such as gradlew
			s.runner(v)
		}
	case slices.Contains(inspectors, name):
	case name == "diff" || name == "cmp":
		for _, w := range v.operands() {
			s.operand(v.dir, w, depth)
		}
	case name == "go":
		s.above(v.dir, goSettings)
		(&goSearch{s.Finder, s.add}).command(v)
	case name == "make" || name == "gmake":
		s.makeCommand(v, depth)
	case name == "npm" || name == "yarn" || name == "pnpm" || name == "bun" && !s.namesScript(v):
		s.packageScript(v, depth)
	case slices.Contains(interpreters, name):
		s.interpreter(v, depth)
	case depth == 0 || slices.Contains(runners, name): // in a script other names may be functions
		s.runner(v)
	}
}

// ownProgram reports whether an invocation runs a file of the project. An installed runner or interpreter, such as
// node_modules/.bin/vitest, is none.
func (s *search) ownProgram(v invocation, name string) bool {
	dir, interpreter := path.Dir(v.words[0]), slices.Contains(interpreters, name)
	switch {
	case !s.isFile(v.dir, v.words[0]), v.words[0] == name && interpreter:
		return false
	case interpreter || slices.Contains(runners, name):
		return !slices.ContainsFunc(strings.Split(path.Clean(dir), "/"), skipDir)
	}
	return true
}

func (s *search) namesScript(v invocation) bool {
	return slices.ContainsFunc(v.operands(), func(w string) bool { return s.isFile(v.dir, w) })
}

// interpreter adds the script that an interpreter runs. Without one it may run the tests of the directory.
func (s *search) interpreter(v invocation, depth int) {
	for i, w := range v.words[1:] {
		switch {
		case strings.HasSuffix(w, "c") && strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") &&
			strings.HasSuffix(path.Base(v.words[0]), "sh"): // -c, -lc
			s.program(invocation{v.dir, v.words[min(i+2, len(v.words)-1):]}, depth)
			return
		case w == "-m" || w == "--test":
			s.runner(v)
			return
		case s.isFile(v.dir, w):
			s.script(v, v.words[i+1:], depth)
			return
		}
	}
}

// script adds a file of the project that is run with arguments: words[0] and the rest.
func (s *search) script(v invocation, words []string, depth int) {
	file := path.Join(v.dir, words[0])
	kind := kindOf(file)
	if kind == "" && depth > 0 { // it may be the work that a test runs
		return
	}
	kind = cmp.Or(kind, Script)
	s.add(file, kind)
	if top := testDir(file); top != "" {
		s.tree(top)
	} else if kind == Script {
		s.beside(path.Dir(file))
	}
	for _, w := range words[1:] {
		if s.isDir(v.dir, w) {
			s.tree(path.Join(v.dir, w))
		} else {
			s.operand(v.dir, w, depth)
		}
	}
	text := s.text(file)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			s.command(v.dir, line, depth+1)
			if v.dir != path.Dir(file) { // the script may go to its own directory
				s.command(path.Dir(file), line, depth+1)
			}
		}
	}
}

// operand adds a file that a program gets as an argument.
func (s *search) operand(dir, word string, depth int) {
	if file := path.Join(dir, word); s.isFile(dir, word) {
		if kind := kindOf(file); kind != "" {
			s.add(file, kind)
		} else if depth == 0 {
			s.add(file, Operand)
		}
	}
}

// runner adds the files of a program that finds tests by their names: those that it gets, or all of its directory.
func (s *search) runner(v invocation) {
	s.above(v.dir, rootSetup)
	named := false
	for _, w := range v.operands() {
		w, _, _ = strings.Cut(w, "::")
		switch at := path.Join(v.dir, w); {
		case s.isDir(v.dir, w):
			named = true
			s.tree(at)
			s.above(at, rootSetup)
		case s.isFile(v.dir, w):
			named = true
			s.operand(v.dir, w, 0)
			s.above(path.Dir(at), rootSetup)
		}
	}
	if !named {
		s.tree(v.dir)
	}
}

// tree adds the files of tests below dir.
func (s *search) tree(dir string) {
	for _, file := range s.walk(dir) {
		if kind := s.kindOf(file); kind != "" {
			s.add(file, kind)
		}
	}
}

// beside adds the tests in dir itself, with their data.
func (s *search) beside(dir string) {
	for _, file := range s.list(dir) {
		if kind := kindOf(file); kind != "" && kind != Setup {
			s.add(file, kind)
		}
	}
}

// above adds settings of dir and of the directories above it, also missing ones.
func (s *search) above(dir string, names []string) {
	for ; ; dir = path.Dir(dir) {
		for _, name := range names {
			s.add(path.Join(dir, name), Setup)
		}
		if dir == "." || dir == "/" {
			return
		}
	}
}

func (s *search) add(file string, kind Kind) {
	if _, known := s.found[file]; !known && filepath.IsLocal(filepath.FromSlash(file)) && len(s.found) < maxFiles {
		s.found[file] = kind
	}
}

var makeInclude = lazyregexp.New(`(?m)^[-s]?include[ \t]+(.*)$`)

// makeCommand adds a makefile with those that it includes, the tests that its recipes run, and the targets that are
// files: make runs nothing for a target that is up to date.
func (s *search) makeCommand(v invocation, depth int) {
	dir := path.Join(v.dir, v.option("-C"))
	files := []string{"GNUmakefile", "makefile", "Makefile"}
	if f := v.option("-f"); f != "" {
		files = []string{f}
	}
	var text strings.Builder
	for i := 0; i < len(files) && i < 50; i++ {
		s.add(path.Join(dir, files[i]), Setup)
		part := s.text(path.Join(dir, files[i]))
		text.Write(part)
		for _, m := range makeInclude().FindAllSubmatch(part, -1) {
			files = append(files, strings.Fields(string(m[1]))...)
		}
	}
	for line := range strings.Lines(text.String()) {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			s.command(dir, strings.ReplaceAll(recipe, "$$", ""), depth+1)
			for _, w := range strings.Fields(recipe) { // "$(RUN) a_test.sh"
				s.operand(dir, w, maxDepth)
			}
		}
	}
	for _, target := range v.operands() {
		if target != v.option("-C") && target != v.option("-f") && !s.isDir(dir, target) && !isPhony(text.String(), target) {
			s.add(path.Join(dir, target), Setup)
		}
	}
	s.tree(dir)
}

func isPhony(text, target string) bool {
	for line := range strings.Lines(text) {
		if list, ok := strings.CutPrefix(line, ".PHONY:"); ok && slices.Contains(strings.Fields(list), target) {
			return true
		}
	}
	return false
}

// packageScript adds the files of a script of package.json.
func (s *search) packageScript(v invocation, depth int) {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	_ = json.Unmarshal(s.text(path.Join(v.dir, "package.json")), &pkg) // then it has no scripts
	name := "test"
	for _, w := range v.operands() {
		if pkg.Scripts[w] != "" {
			name = w
			break
		}
	}
	for _, script := range []string{"pre" + name, name, "post" + name} {
		s.command(v.dir, pkg.Scripts[script], depth+1)
	}
	s.above(v.dir, rootSetup)
	s.tree(v.dir)
}
