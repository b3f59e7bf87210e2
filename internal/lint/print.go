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

// printFailed prints the excesses and up to [shown] faults.
func printFailed(out io.Writer, failed []excess) {
	left, hidden := shown, 0
	fixes := map[column]bool{}
	for _, e := range failed {
		fmt.Fprintf(out, "%s: %d %s, ceiling %d\n", e.dir, len(e.faults), e.column, e.ceiling)
		n := min(left, len(e.faults))
		printFaults(out, e.faults[:n])
		left -= n
		hidden += len(e.faults) - n
		fixes[e.column] = true
	}
	if hidden > 0 {
		fmt.Fprintf(out, "and %d more; go run ./internal/lint -list DIR prints all\n", hidden)
	}
	for _, c := range slices.Sorted(maps.Keys(fixes)) {
		fmt.Fprintf(out, "to fix %s: %s\n", c, c.fix())
	}
}

func printFaults(out io.Writer, faults []fault) {
	for _, f := range faults {
		text := []rune(f.text)
		if len(text) > 200 {
			text = append(text[:200], '…')
		}
		fmt.Fprintf(out, "  %s:%d: %s: %s\n", f.file, f.line, f.column, string(text))
	}
}
