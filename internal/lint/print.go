package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

func (c column) String() string {
	return [...]string{what: "what", nobody: "nobody", long: "long", tuples: "tuples"}[c]
}

// fix says how to remove a fault of this kind.
func (c column) fix() string {
	return [...]string{
		what:   `name the thing instead of a clause with "what": "the remaining checks", "the deadline has passed"`,
		nobody: `name the actor: the caller, the user, a reviewer, another process; or use the passive voice`,
		long:   fmt.Sprintf("wrap Go at %d columns (a tab is one) and documentation at %d", maxGoLine, maxDocLine),
		tuples: "assign one variable per statement, or make a struct",
	}[c]
}

// printFailed prints the excesses, and up to [shown] faults: of each excess those on added lines if it has any, else
// all.
func printFailed(out io.Writer, failed []excess, added additions) {
	left, hidden := shown, 0
	fixes := map[column]bool{}
	for _, e := range failed {
		fmt.Fprintf(out, "%s: %d %s, ceiling %d\n", e.dir, len(e.faults), e.column, e.ceiling)
		faults := e.faults
		recent := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !added.has(f) })
		if len(recent) > 0 {
			faults = recent
		}
		n := min(left, len(faults))
		for _, f := range faults[:n] {
			printFault(out, f)
		}
		left -= n
		hidden += len(faults) - n
		fixes[e.column] = true
	}
	if hidden > 0 {
		fmt.Fprintf(out, "and %d more; go run ./internal/lint -list DIR prints all\n", hidden)
	}
	for _, c := range slices.Sorted(maps.Keys(fixes)) {
		fmt.Fprintf(out, "to fix %s: %s\n", c, c.fix())
	}
}

func printFault(out io.Writer, f fault) {
	text := []rune(f.text)
	if len(text) > 200 {
		text = append(text[:200], '…')
	}
	fmt.Fprintf(out, "  %s:%d: %s: %s\n", f.file, f.line, f.column, string(text))
}

// printFaults prints every fault of the directory top and of those below it.
func printFaults(out io.Writer, t tree, top string) {
	for _, dir := range slices.Sorted(maps.Keys(t)) {
		if below(dir, top) {
			for _, f := range t[dir].faults {
				printFault(out, f)
			}
		}
	}
}

// printTotals prints the counts of every directory, with its lines of prose at the end, and their sum.
func printTotals(out io.Writer, t tree) {
	fmt.Fprintf(out, "%-42s %6s %6s %6s %6s %6s\n", "directory", "what", "nobody", "long", "tuples", "lines")
	var sum counts
	lines := 0
	for _, dir := range slices.Sorted(maps.Keys(t)) {
		d := t[dir]
		line := row(dir, d.counts)
		fmt.Fprintf(out, "%s %6d\n", line[:len(line)-1], d.lines)
		lines += d.lines
		for col := range columns {
			sum[col] += d.counts[col]
		}
	}
	line := row("total", sum)
	fmt.Fprintf(out, "%s %6d\n", line[:len(line)-1], lines)
}
