//go:build unix

package runner_test

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// This file has the check of drawn projects twice: as a shell script, and as a function of files in memory, which gives
// the truth about any tree.

// version is a version of a file; link is the target of a symbolic one.
type version struct {
	text string
	exec bool
	link string
}

// files are the files of a project, by slash-separated paths.
type files map[string]version

// ruleScript makes a check by the rules in a file, whose lines are an operation and its arguments, with "|" between.
const ruleScript = `bad() { echo "$*"; exit 1; }
has() {
	[ -f "$1" ] || return 1
	while IFS= read -r line; do if [ "$line" = "$2" ]; then return 0; fi; done < "$1"
	return 1
}
run() {
	[ -f "$1" ] || bad "no rules in $1"
	while IFS='|' read -r op a b; do
		case $op in
		has) has "$a" "$b" || bad "$a lacks $b" ;;
		lacks) if has "$a" "$b"; then bad "$a has $b"; fi ;;
		same) cmp -s "$a" "$b" || bad "$a differs from $b" ;;
		sum) [ "$(git hash-object --no-filters -- "$a" 2> /dev/null)" = "$b" ] || bad "$a has another sum" ;;
		exec) [ -f "$a" ] && [ -x "$a" ] || bad "$a is no program" ;;
		link) [ "$(readlink "$a")" = "$b" ] || bad "$a links elsewhere" ;;
		gone) if [ -e "$a" ] || [ -h "$a" ]; then bad "$a is there"; fi ;;
		use) run "$a" ;;
		try) if [ -f "$a" ]; then run "$a"; fi ;;
		mode) run "$a.$MODE" ;;
		each) IFS=; for f in $a; do run "$f"; done ;;
		all) IFS=; for f in $a; do has "$f" "$b" || bad "$f lacks $b"; done ;;
		list) [ -f "$a" ] || bad "no list $a"
			while IFS= read -r f; do has "$f" "$b" || bad "$f lacks $b"; done < "$a" ;;
		path) dirs=$a ;;
		find) IFS=:; at=; for d in $dirs; do if [ -f "$d/$a" ]; then at=$d/$a; break; fi; done
			has "$at" "$b" || bad "$at lacks $b" ;;
		make) mkdir -p "${b%/*}" && cat "$a" > "$b" || bad "cannot make $b" ;;
		build) [ -f "$a" ] || bad "no source $a"
			if [ -h "$a" ] || [ ! "$b" -nt "$a" ]; then mkdir -p "${b%/*}" && cat "$a" > "$b"; fi ;;
		pass) exit 0 ;;
		esac
	done < "$1"
}
run "$1"
`

// question is one evaluation of a check in memory.
type question struct {
	at    files  // with those that the check makes
	under string // the directory of the check
	mode  string
	read  map[string]bool // the paths that it looked at
	dirs  []string
	deep  int
}

// answer is thrown by the end of a check.
type answer bool

// ask makes a check in memory. It returns the files after it, and those that it looked at.
func ask(f files, under, command, mode string) (green bool, after files, read map[string]bool) {
	q := &question{at: f.with(nil), under: under, mode: mode, read: map[string]bool{}}
	defer func() {
		end, ok := recover().(answer)
		if !ok {
			panic("the check in memory is wrong")
		}
		green, after, read = bool(end), q.at, q.read
	}()
	q.command(command)
	panic(answer(true))
}

func (q *question) need(ok bool) {
	if !ok {
		panic(answer(false))
	}
}

// get returns the regular file at a path, through links.
func (q *question) get(name string) (v version, ok bool) {
	name = path.Join(q.under, name)
	q.read[name] = true
	to := q.at.resolve(name)
	q.read[to] = true
	v, ok = q.at[to]
	return v, ok && v.link == ""
}

func (q *question) has(name, line string) bool {
	v, ok := q.get(name)
	return ok && slices.Contains(strings.Split(v.text, "\n"), line)
}

// glob returns the paths that match a pattern whose last part alone has wildcards; the pattern itself if none does.
func (q *question) glob(pattern string) (all []string) {
	dir := q.at.resolve(path.Join(q.under, path.Dir(pattern)))
	for name := range q.at {
		rest, in := strings.CutPrefix(name, dir+"/")
		first, _, _ := strings.Cut(rest, "/")
		if ok, _ := path.Match(path.Base(pattern), first); in && ok && !strings.HasPrefix(first, ".") {
			all = append(all, path.Join(path.Dir(pattern), first))
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); all == nil {
		return []string{pattern}
	}
	return all
}

var testScript = regexp.MustCompile(`(?m)^ *"test": "(.*)",*$`)

// command runs one of the commands of drawn projects.
func (q *question) command(command string) {
	words := strings.Fields(command)
	switch {
	case command == "true":
	case command == "make -s test":
		q.command(q.recipe())
	case strings.HasPrefix(command, "c=$(sed"):
		v, _ := q.get("package.json")
		m := testScript.FindStringSubmatch(v.text)
		q.need(m != nil)
		q.command(m[1])
	case words[0] == "rulecheck":
		q.run(words[1])
	case words[0] == "sh":
		v, ok := q.get(words[1])
		q.need(ok)
		if strings.HasPrefix(v.text, "exit 0\n") {
			return
		}
		q.need(strings.HasPrefix(v.text, ruleScript))
		q.run(words[2])
	default:
		panic("no such command: " + command)
	}
}

// recipe returns the command of the target test in the file that make takes.
func (q *question) recipe() (command string) {
	var read func(text string)
	read = func(text string) {
		for line := range strings.Lines(text) {
			if to, ok := strings.CutPrefix(line, "\t@"); ok {
				command = strings.TrimSpace(to)
			} else if name, ok := strings.CutPrefix(line, "-include "); ok {
				v, _ := q.get(strings.TrimSpace(name))
				read(v.text)
			}
		}
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if v, ok := q.get(name); ok {
			read(v.text)
			break
		}
	}
	if command == "" { // make takes a file or folder of that name for the target
		_, ok := q.get("test")
		q.need(ok || q.at.isDir(path.Join(q.under, "test")))
		return "true"
	}
	return command
}

// run obeys the rules in a file.
func (q *question) run(name string) {
	v, ok := q.get(name)
	q.deep++
	q.need(ok && q.deep < 20)
	for line := range strings.Lines(v.text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		fields := append(strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 3), "", "")
		q.rule(fields[0], fields[1], fields[2])
	}
	q.deep--
}

func (q *question) rule(op, a, b string) {
	switch op {
	case "has":
		q.need(q.has(a, b))
	case "lacks":
		q.need(!q.has(a, b))
	case "same":
		x, isX := q.get(a)
		y, isY := q.get(b)
		q.need(isX && isY && x.text == y.text)
	case "sum":
		v, ok := q.get(a)
		q.need(ok && blobID(v.text) == b)
	case "exec":
		v, ok := q.get(a)
		q.need(ok && v.exec)
	case "link":
		_, _ = q.get(a)
		q.need(q.at[path.Join(q.under, a)].link == b)
	case "gone":
		_, _ = q.get(a)
		_, ok := q.at[path.Join(q.under, a)]
		q.need(!ok && !q.at.isDir(path.Join(q.under, a)))
	case "use":
		q.run(a)
	case "try":
		if _, ok := q.get(a); ok {
			q.run(a)
		}
	case "mode":
		q.run(a + "." + q.mode)
	case "each":
		for _, name := range q.glob(a) {
			q.run(name)
		}
	case "all":
		for _, name := range q.glob(a) {
			q.need(q.has(name, b))
		}
	case "list":
		v, ok := q.get(a)
		q.need(ok)
		for line := range strings.Lines(v.text) {
			q.need(q.has(strings.TrimSuffix(line, "\n"), b))
		}
	case "path":
		q.dirs = strings.Split(a, ":")
	case "find":
		at := ""
		for _, dir := range q.dirs {
			if _, ok := q.get(dir + "/" + a); ok {
				at = dir + "/" + a
				break
			}
		}
		q.need(at != "" && q.has(at, b))
	case "make", "build": // an output with a later time is as new
		v, ok := q.get(a)
		q.need(ok)
		q.at[path.Join(q.under, b)] = version{text: v.text}
	case "pass":
		panic(answer(true))
	}
}

func blobID(text string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
}

// with returns a copy of f with the versions in over; one without a version is removed.
func (f files) with(over map[string]*version) files {
	out := files{}
	for name, v := range f {
		out[name] = v
	}
	for name, v := range over {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = *v
		}
	}
	return out
}

// versions returns the versions of some files, nil for those that are not there.
func (f files) versions(names []string) map[string]*version {
	out := map[string]*version{}
	for _, name := range names {
		out[name] = nil
		if v, ok := f[name]; ok {
			out[name] = &v
		}
	}
	return out
}

// diff returns the names of the files that differ, sorted.
func (f files) diff(to files) (names []string) {
	for name, v := range f {
		if w, ok := to[name]; !ok || v != w {
			names = append(names, name)
		}
	}
	for name := range to {
		if _, ok := f[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (f files) isDir(name string) bool {
	for other := range f {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// possible reports whether no file is where another needs a directory.
func (f files) possible() bool {
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := f[dir]; ok {
				return false
			}
		}
	}
	return true
}

// resolve follows the links in a path.
func (f files) resolve(name string) string {
	for range 9 {
		parts, to := strings.Split(name, "/"), ""
		for i := range parts {
			prefix := path.Join(parts[:i+1]...)
			if v := f[prefix]; v.link != "" {
				to = path.Join(path.Dir(prefix), v.link, path.Join(parts[i+1:]...))
				break
			}
		}
		if to == "" {
			return name
		}
		name = to
	}
	return ""
}

// put turns the files in dir, which are those of was, into those of f.
func (f files) put(dir string, was files) {
	names := was.diff(f)
	for _, name := range names {
		at := filepath.Join(dir, name)
		if _, ok := was[name]; !ok {
			continue
		}
		must(os.Remove(at))
		for up := filepath.Dir(at); up != dir && os.Remove(up) == nil; up = filepath.Dir(up) {
		}
	}
	for _, name := range names {
		v, ok := f[name]
		at, mode := filepath.Join(dir, name), os.FileMode(0o644)
		if !ok {
			continue
		}
		must(os.MkdirAll(filepath.Dir(at), 0o755))
		if v.link != "" {
			must(os.Symlink(v.link, at))
			continue
		}
		if v.exec {
			mode = 0o755
		}
		must(os.WriteFile(at, []byte(v.text), mode))
	}
}
