package checkfiles

import (
	"slices"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file compares two versions of a file of tests by their texts. A look cannot tell whether a changed test is as
// good as the old one.

// Version is a version of a file; see State.
type Version struct {
	State State
	Text  []byte // or nil if it is unknown
}

// Look returns a participle that says how the tests of a file were disabled, or "". others are the new versions of
// other files of tests by path, to which tests may have moved.
func Look(file string, kind Kind, old, now Version, others map[string]Version) string {
	l := languageOf(file)
	switch {
	case old.State == "":
		return ""
	case now.State == "":
		if kind != Test && kind != Script || l.moved(old.Text, others) {
			return ""
		}
		return "deleted"
	case old.State.regular() && !now.State.regular():
		return "replaced by " + now.State.describe()
	case old.State.executable() && !now.State.executable():
		return "made not executable"
	case kind == Data || kind == Operand || l == nil || old.Text == nil || now.Text == nil:
		return ""
	}
	was, is := l.strip(old.Text), l.strip(now.Text)
	switch {
	case !l.empty(was) && l.empty(is):
		return "emptied"
	case l.excluded != nil && !l.excluded(file, old.Text) && l.excluded(file, now.Text):
		return "excluded by a build constraint"
	case l.ignoresFailure(was, is):
		return "made to ignore failures"
	}
	before, after := l.tests(old.Text), l.tests(now.Text)
	lost := missing(before, after)
	switch skips := l.count(l.skip, is) - l.count(l.skip, was); {
	case skips > 0 && len(after)-len(before) < skips:
		return "made to skip tests"
	case l.count(l.test, is)+l.count(l.subtest, is) < l.count(l.test, was)+l.count(l.subtest, was) &&
		!l.allIn(lost, others):
		return "stripped of tests"
	}
	return ""
}

// moved reports whether all tests of a text are in other files now.
func (l *language) moved(text []byte, others map[string]Version) bool {
	names := l.tests(text)
	return len(names) > 0 && l.allIn(names, others)
}

// Moved reports whether one of the other files is the old version of a file under another name, and runs as well.
func Moved(file string, old State, others map[string]Version) bool {
	for name, v := range others {
		l := languageOf(name)
		if v.State == old && l == languageOf(file) && (l == nil || l.excluded == nil || !l.excluded(name, v.Text)) {
			return true
		}
	}
	return false
}

// Controls reports whether a new file of tests decides itself which tests run.
func Controls(file string, text []byte) bool {
	return strings.HasSuffix(file, "_test.go") && goControls().Match(text)
}

var goControls = lazyregexp.New(`(?m)^func (?:TestMain|init)\(`)

// allIn reports whether other files have all the tests.
func (l *language) allIn(names []string, others map[string]Version) bool {
	for file, v := range others {
		if languageOf(file) == l && (l.excluded == nil || !l.excluded(file, v.Text)) {
			names = missing(names, l.tests(v.Text))
		}
	}
	return len(names) == 0
}

// missing returns the names that are not in have.
func missing(names, have []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(have, n) })
}

// ignoresFailure reports whether a line of a shell script now ignores a failure, or the script ends early.
func (l *language) ignoresFailure(was, is []byte) bool {
	if !l.shell {
		return false
	}
	old := strings.Split(string(was), "\n")
	for i, line := range old {
		old[i] = strings.TrimRight(line, " \t\r;")
	}
	for line := range strings.Lines(string(is)) {
		line = strings.TrimRight(line, " \t\r\n;")
		if slices.Contains(old, line) {
			continue
		}
		if line == "exit 0" || line == "exit" {
			return true
		}
		for _, suffix := range []string{"|| true", "|| :", "; true", "; :", "|| exit 0", "; exit 0"} {
			if rest, ok := strings.CutSuffix(line, suffix); ok && slices.Contains(old, strings.TrimRight(rest, " \t;")) {
				return true
			}
		}
		if rest, ok := strings.CutPrefix(line, "\t-"); ok && slices.Contains(old, "\t"+rest) { // in a recipe
			return true
		}
	}
	return false
}
