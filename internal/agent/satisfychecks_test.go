package agent

import (
	"strings"
	"testing"

	"wavex/internal/plan"
)

// The agent makes a check true, or says that it does not know how. It never takes a command apart that the shell would
// read in another way.
func TestMakeUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		check plan.Check
		want  string // "FILE: LINE", or "" if it is unknown
	}{
		{plan.Check{Run: "true"}, "."},
		{plan.Check{Run: "test -f a.txt"}, "a.txt:"},
		{plan.Check{Run: "[ -e 'a b' ] && test -s c"}, "a b: c:"},
		{plan.Check{Run: "grep -q '^Say hello$' docs/b.md"}, "docs/b.md: Say hello"},
		{plan.Check{Run: `grep -Fx "x y" a`}, "a: x y"},
		{plan.Check{File: "a", Contains: "more $x"}, "a: more $x"},
		{plan.Check{File: "a", Matches: "^Call$"}, "a: Call"},
		{plan.Check{File: "a"}, "a:"},

		{plan.Check{File: "a", Matches: "C[a-z]+"}, ""},
		{plan.Check{Run: "grep -q 'a.*b' a"}, ""},
		{plan.Check{Run: "grep -v x a"}, ""},
		{plan.Check{Run: "grep -q x a b"}, ""},
		{plan.Check{Run: "test -f a || false"}, ""},
		{plan.Check{Run: "! test -f a"}, ""},
		{plan.Check{Run: "test -f $HOME/a"}, ""},
		{plan.Check{Run: "test -f /etc/passwd"}, ""},
		{plan.Check{Run: "test -f ../a"}, ""},
		{plan.Check{Run: "test -f *.go"}, ""},
		{plan.Check{Run: "test -f a; false"}, ""},
		{plan.Check{Run: "test -f a # b"}, ""},
		{plan.Check{Run: "test -d a"}, ""},
		{plan.Check{Run: "go test ./..."}, ""},
	} {
		m := makeUp(&plan.Task{Verify: []plan.Check{c.check}})
		var got []string
		for _, path := range m.paths {
			got = append(got, strings.TrimSpace(path+": "+strings.Join(m.lines[path], ", ")))
		}
		text := strings.Join(got, " ")
		if text == "" && len(m.unknown) == 0 {
			text = "."
		}
		if len(m.unknown) > 0 {
			text = ""
		}
		if text != c.want {
			t.Errorf("%+v: %q, want %q", c.check, text, c.want)
		}
	}
}
