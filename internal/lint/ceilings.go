package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const header = `# Ceilings of internal/lint, by directory: the most faults of each kind that it may have.
# Lower them with "make ceilings", never by raising a number. A directory that is not listed meets the targets.
# Of two lines for one directory, as a merge may leave them, the lower numbers count.
#                                            what nobody   long tuples
`

// ceilings holds the greatest allowed counts by directory.
type ceilings map[string]counts

// excess is one count of a directory that is too high.
type excess struct {
	dir     string
	column  column
	ceiling int
	faults  []fault
}

// parseCeilings reads the table. Of two lines for one directory the lower numbers count, so that git can merge the
// table with merge=union.
func parseCeilings(text string) (ceilings, error) {
	c := ceilings{}
	s := bufio.NewScanner(strings.NewReader(text))
	for n := 1; s.Scan(); n++ {
		line, _, _ := strings.Cut(s.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 1+int(columns) {
			return nil, fmt.Errorf("ceilings.txt:%d: want a directory and %d numbers: %s", n, columns, line)
		}
		var row counts
		for i, field := range fields[1:] {
			v, err := strconv.Atoi(field)
			if err != nil || v < 0 {
				return nil, fmt.Errorf("ceilings.txt:%d: %s is not a count", n, field)
			}
			row[i] = v
		}
		if other, twice := c[fields[0]]; twice {
			row = lowest(row, other)
		}
		c[fields[0]] = row
	}
	return c, s.Err()
}

func (c ceilings) String() string {
	var b strings.Builder
	b.WriteString(header)
	for _, dir := range slices.Sorted(maps.Keys(c)) {
		b.WriteString(row(dir, c[dir]))
	}
	return b.String()
}

// row prints one line of a table.
func row(dir string, n counts) string {
	return fmt.Sprintf("%-42s %6d %6d %6d %6d\n", dir, n[what], n[nobody], n[long], n[tuples])
}

// check returns the counts that exceed both the ceiling and the target, by directory and column.
func (c ceilings) check(t tree) []excess {
	var found []excess
	for _, dir := range slices.Sorted(maps.Keys(t)) {
		d := t[dir]
		listed, target := c[dir], d.target()
		for col := range columns {
			ceiling := max(listed[col], target[col])
			if d.counts[col] > ceiling {
				found = append(found, excess{dir, col, ceiling, d.of(col)})
			}
		}
	}
	return found
}

// of returns the faults of one column.
func (d *directory) of(col column) []fault {
	return slices.DeleteFunc(slices.Clone(d.faults), func(f fault) bool { return f.column != col })
}

// lower returns the ceilings lowered to the counts of t, without the directories that meet the targets. With moved,
// every directory that does not meet the targets gets its count as its ceiling, and lower returns an error if the
// total of a column rises.
func (c ceilings) lower(t tree, moved bool) (ceilings, error) {
	lowered := ceilings{}
	for dir, d := range t {
		n := d.counts
		if listed, ok := c[dir]; !moved && !ok {
			continue
		} else if !moved {
			n = lowest(n, listed)
		}
		if d.meets(n) {
			continue
		}
		lowered[dir] = n
	}
	before, after := c.total(), lowered.total()
	for col := range columns {
		if after[col] > before[col] {
			return nil, errors.New("-moved: the total of " + col.String() + " would rise from " +
				strconv.Itoa(before[col]) + " to " + strconv.Itoa(after[col]))
		}
	}
	return lowered, nil
}

// meets reports whether n is within the targets of d.
func (d *directory) meets(n counts) bool {
	target := d.target()
	for col := range columns {
		if n[col] > target[col] {
			return false
		}
	}
	return true
}

func (c ceilings) total() counts {
	var sum counts
	for _, n := range c {
		for col := range columns {
			sum[col] += n[col]
		}
	}
	return sum
}

func lowest(a, b counts) counts {
	for col := range columns {
		a[col] = min(a[col], b[col])
	}
	return a
}
