package lint

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const header = `# Ceilings of internal/lint, by directory: the most long lines that it may have.
# Lower them with "make ceilings", never by raising a number. A directory that is not listed may have none.
# Of two lines for one directory, as a merge may leave them, the lower number counts.
`

// ceilings holds the greatest allowed number of long lines by directory.
type ceilings map[string]int

// excess is one count of a directory that is too high.
type excess struct {
	dir     string
	column  column
	ceiling int
	faults  []fault
}

// parseCeilings reads the table. Of two lines for one directory the lower number counts, so that git can merge the
// table with merge=union.
func parseCeilings(text string) (ceilings, error) {
	c := ceilings{}
	s := bufio.NewScanner(strings.NewReader(text))
	for n := 1; s.Scan(); n++ {
		line, _, _ := strings.Cut(s.Text(), "#")
		dir, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if dir == "" {
			continue
		}
		v, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil || v < 0 {
			return nil, fmt.Errorf("ceilings.txt:%d: want a directory and a number: %s", n, line)
		}
		if other, twice := c[dir]; twice {
			v = min(v, other)
		}
		c[dir] = v
	}
	return c, s.Err()
}

func (c ceilings) String() string {
	var b strings.Builder
	b.WriteString(header)
	for _, dir := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%-42s %4d\n", dir, c[dir])
	}
	return b.String()
}

// of returns the faults of one column.
func (d *directory) of(col column) []fault {
	return slices.DeleteFunc(slices.Clone(d.faults), func(f fault) bool { return f.column != col })
}

// check returns the counts that exceed the ceiling or the target, by directory and column.
func (c ceilings) check(t tree) []excess {
	var found []excess
	for _, dir := range slices.Sorted(maps.Keys(t)) {
		d := t[dir]
		// 5 "what" and 1 "nobody" per 1000 lines of prose, rounded down
		for col, most := range []int{what: d.lines * 5 / 1000, nobody: d.lines / 1000, long: c[dir], tuples: 0} {
			if faults := d.of(column(col)); len(faults) > most {
				found = append(found, excess{dir, column(col), most, faults})
			}
		}
	}
	return found
}

// lower returns the ceilings lowered to the counts of t.
func (c ceilings) lower(t tree) ceilings {
	lowered := ceilings{}
	for dir, ceiling := range c {
		if d := t[dir]; d != nil && len(d.of(long)) > 0 {
			lowered[dir] = min(len(d.of(long)), ceiling)
		}
	}
	return lowered
}

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
