package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// with returns a directory of lines of prose with n[col] faults of each column.
func with(name string, lines int, n counts) *directory {
	d := &directory{lines: lines}
	for col := range columns {
		for i := range n[col] {
			d.add(fault{name + "/a.go", i + 1, col, "text"})
		}
	}
	return d
}

func TestParseCeilings(t *testing.T) {
	t.Parallel()
	got, err := parseCeilings("# header\na/b 1 2 3 4\n\nc 5 6 7 8 # note\na/b 9 1 9 0\n")
	if err != nil {
		t.Fatal(err)
	}
	want := ceilings{"a/b": {1, 1, 3, 0}, "c": {5, 6, 7, 8}}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	again, err := parseCeilings(got.String())
	if err != nil || !maps.Equal(again, want) {
		t.Errorf("printed and read again: %v, %v", again, err)
	}
	for _, text := range []string{"a 1 2 3", "a 1 2 3 x", "a 1 2 3 -4"} {
		if _, err := parseCeilings("# header\n" + text); err == nil || !strings.Contains(err.Error(), "ceilings.txt:2") {
			t.Errorf("%q: error %v, want one with the line", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := ceilings{"listed": {what: 3, long: 1}, "gone": {what: 1}}
	for _, tc := range []struct {
		name, dir string
		lines     int
		n         counts
		want      string
	}{
		{"at the ceiling", "listed", 10, counts{what: 3, long: 1}, ""},
		{"above the ceiling", "listed", 10, counts{what: 4}, "what over 3"},
		{"another column", "listed", 10, counts{nobody: 1}, "nobody over 0"},
		{"the target above the ceiling", "listed", 1000, counts{what: 5, nobody: 1}, ""},
		{"unlisted within the targets", "new", 1000, counts{what: 5, nobody: 1}, ""},
		{"unlisted above them", "new", 999, counts{what: 5, nobody: 1}, "what over 4, nobody over 0"},
		{"no target for layout", "new", 9999, counts{long: 1, tuples: 1}, "long over 0, tuples over 0"},
	} {
		var got []string
		for _, e := range c.check(tree{tc.dir: with(tc.dir, tc.lines, tc.n)}) {
			if len(e.faults) != tc.n[e.column] {
				t.Errorf("%s: %d faults of %s, want %d", tc.name, len(e.faults), e.column, tc.n[e.column])
			}
			got = append(got, fmt.Sprintf("%s over %d", e.column, e.ceiling))
		}
		if strings.Join(got, ", ") != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestLower(t *testing.T) {
	t.Parallel()
	old := ceilings{"a": {what: 5, long: 5}, "b": {what: 2}, "gone": {what: 2}}
	for _, tc := range []struct {
		name  string
		moved bool
		now   tree
		want  ceilings // nil for an error
	}{
		{"falls and rises", false, tree{"a": with("a", 1, counts{what: 3, long: 9}), "b": with("b", 1, counts{what: 2})},
			ceilings{"a": {what: 3, long: 5}, "b": {what: 2}}},
		{"meets the targets", false, tree{"a": with("a", 1000, counts{what: 5}), "b": with("b", 1, counts{})}, ceilings{}},
		{"unlisted", false, tree{"new": with("new", 1, counts{what: 1})}, ceilings{}},
		{"moved", true, tree{"a": with("a", 1, counts{what: 1, long: 5}), "new": with("new", 1, counts{what: 8})},
			ceilings{"a": {what: 1, long: 5}, "new": {what: 8}}},
		{"moved and risen", true, tree{"a": with("a", 1, counts{what: 5, long: 6})}, nil},
	} {
		got, err := old.lower(tc.now, tc.moved)
		if (err != nil) != (tc.want == nil) || !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v, want %v", tc.name, got, err, tc.want)
		}
	}
}

func TestPrintFailed(t *testing.T) {
	t.Parallel()
	c := ceilings{"a": {what: 29}}
	var b strings.Builder
	failed := c.check(tree{"a": with("a", 1, counts{what: 30}), "b": with("b", 1, counts{tuples: 2})})
	printFailed(&b, failed, additions{"b/a.go": {2: true}})
	if got := strings.Count(b.String(), "a/a.go:"); got != shown {
		t.Errorf("%d faults of a, want %d:\n%s", got, shown, b.String())
	}
	for _, want := range []string{
		"a: 30 what, ceiling 29\n", "b: 2 tuples, ceiling 0\n", "and 11 more;", "to fix what: ", "to fix tuples: ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	printFailed(&b, failed[1:], additions{"b/a.go": {2: true}})
	if !strings.Contains(b.String(), "b/a.go:2:") || strings.Contains(b.String(), "b/a.go:1:") {
		t.Errorf("want the fault on the added line only:\n%s", b.String())
	}
	b.Reset()
	printFailed(&b, failed[1:], additions{"b/a.go": {0: true}})
	if !strings.Contains(b.String(), "b/a.go:1:") {
		t.Errorf("want every fault of a new file:\n%s", b.String())
	}
}

func TestPrintLists(t *testing.T) {
	t.Parallel()
	all := tree{
		"a":   with("a", 10, counts{what: 1}),
		"a/b": with("a/b", 5, counts{long: 2}),
		"ab":  with("ab", 5, counts{long: 1}),
	}
	var list, totals strings.Builder
	printFaults(&list, all, "a")
	want := "  a/a.go:1: what: text\n  a/b/a.go:1: long: text\n  a/b/a.go:2: long: text\n"
	if list.String() != want {
		t.Errorf("list: %q, want %q", list.String(), want)
	}
	printTotals(&totals, all)
	lines := strings.Split(strings.TrimSpace(totals.String()), "\n")
	if got := strings.Join(strings.Fields(lines[len(lines)-1]), " "); got != "total 1 0 3 0 20" {
		t.Errorf("totals end with %q", got)
	}
}
