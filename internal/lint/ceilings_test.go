package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// with returns a directory of lines of prose with so many faults of each column.
func with(name string, lines int, n map[column]int) *directory {
	d := &directory{lines: lines}
	for col := what; col <= tuples; col++ {
		for i := range n[col] {
			d.add(fault{name + "/a.go", i + 1, col, "text"})
		}
	}
	return d
}

func TestParseCeilings(t *testing.T) {
	t.Parallel()
	got, err := parseCeilings("# header\na/b 3\n\nc  7 # note\na/b 1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := ceilings{"a/b": 1, "c": 7}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	again, err := parseCeilings(got.String())
	if err != nil || !maps.Equal(again, want) {
		t.Errorf("printed and read again: %v, %v", again, err)
	}
	for _, text := range []string{"a", "a x", "a 1 2", "a -4"} {
		if _, err := parseCeilings("# header\n" + text); err == nil || !strings.Contains(err.Error(), "ceilings.txt:2") {
			t.Errorf("%q: error %v, want one with the line", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := ceilings{"listed": 1, "gone": 1}
	for _, tc := range []struct {
		name, dir string
		lines     int
		n         map[column]int
		want      string
	}{
		{"at the ceiling", "listed", 10, map[column]int{long: 1}, ""},
		{"above the ceiling", "listed", 10, map[column]int{long: 2}, "long over 1"},
		{"another column", "listed", 10, map[column]int{nobody: 1}, "nobody over 0"},
		{"within the targets", "new", 1000, map[column]int{what: 5, nobody: 1}, ""},
		{"above them", "new", 999, map[column]int{what: 5, nobody: 1}, "what over 4, nobody over 0"},
		{"no target for layout", "new", 9999, map[column]int{long: 1, tuples: 1}, "long over 0, tuples over 0"},
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
	now := func(n int) *directory { return with("a", 1, map[column]int{long: n, what: 1}) }
	got := ceilings{"falls": 5, "rises": 5, "meets": 5, "gone": 2}.lower(
		tree{"falls": now(3), "rises": now(9), "meets": now(0), "new": now(1)})
	if want := (ceilings{"falls": 3, "rises": 5}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPrintFailed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	printFailed(&b, ceilings{"a": 29}.check(
		tree{"a": with("a", 1, map[column]int{long: 30}), "b": with("b", 1, map[column]int{tuples: 2})}))
	if got := strings.Count(b.String(), "a/a.go:"); got != shown {
		t.Errorf("%d faults of a, want %d:\n%s", got, shown, b.String())
	}
	for _, want := range []string{
		"a: 30 long, ceiling 29\n", "b: 2 tuples, ceiling 0\n", "and 12 more;", "to fix long: ", "to fix tuples: ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}
