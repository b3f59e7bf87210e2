package lint

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// parseCeilings reads the table. The lower number counts if two lines have the same directory, so that git can merge
// the table with merge=union.
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
