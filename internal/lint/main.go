// Command lint counts language and layout faults in comments, documentation and commit subjects, and compares the
// counts with a table of ceilings per directory. `make lint` runs it.
//
// The counts:
//
//   - "what": prose lines with a clause such as "what is", see [language]
//   - "nobody": prose lines with an indefinite person such as "nobody", or "who" without a noun before it
//   - "long": Go lines over 120 columns; lines of documentation over 100 columns, outside tables and code
//   - "tuples": production statements that assign more than three variables at once
//
// Commit subjects have no ceiling: every subject since [base] must keep to 72 columns.
//
// testdata/ceilings.txt lists the directories that do not meet the targets yet. A directory fails if one of its counts
// exceeds both its ceiling and the target. `make ceilings` lowers the ceilings to the current counts and never
// raises one. With -moved, it lets directories take over counts from others after a move of files, as long as the
// total of each count does not rise.
//
// Functions over [maxFunc] lines and structs over [maxStruct] fields fail in production files, unless
// testdata/exceptions.txt lists them with a reason.
//
// Generated files and everything under testdata are not counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// shown is the number of faults that one run prints.
const shown = 20

type options struct {
	lower  bool   // rewrite the ceilings
	moved  bool   // with lower: let directories take over counts from others
	list   string // print every fault of this directory and those below it
	totals bool   // print the counts of every directory
}

func main() {
	var o options
	flag.BoolVar(&o.lower, "lower", false, "lower the ceilings to the current counts")
	flag.BoolVar(&o.moved, "moved", false, "with -lower: directories may take over counts from others")
	flag.StringVar(&o.list, "list", "", "print every fault in this `directory` and below")
	flag.BoolVar(&o.totals, "totals", false, "print the counts of every directory")
	flag.Parse()
	ok, err := run(context.Background(), o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run executes the options and reports whether the tree passed.
func run(ctx context.Context, o options, out io.Writer) (bool, error) {
	root, err := findRoot()
	if err != nil {
		return false, err
	}
	t, err := readTree(ctx, root)
	if err != nil {
		return false, err
	}
	path := filepath.Join(root, "internal", "lint", "testdata", "ceilings.txt")
	text, err1 := os.ReadFile(path)
	old, err2 := parseCeilings(string(text))
	text, err3 := os.ReadFile(filepath.Join(filepath.Dir(path), "exceptions.txt"))
	listed, err4 := parseExceptions(string(text))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return false, err
	}
	switch {
	case o.list != "":
		printFaults(out, t, filepath.ToSlash(filepath.Clean(o.list)))
		return true, nil
	case o.totals:
		printTotals(out, t)
		return true, nil
	case o.lower:
		lowered, err := old.lower(t, o.moved)
		if err != nil {
			return false, err
		}
		return true, os.WriteFile(path, []byte(lowered.String()), 0o644)
	}
	subjects := longSubjects(ctx, root)
	for _, s := range subjects {
		fmt.Fprintf(out, "commit %s: subject over %d columns, reword it: %s\n", s.hash, maxSubject, s.text)
	}
	large := checkSizes(t, listed)
	for _, line := range large {
		fmt.Fprintln(out, line)
	}
	failed := old.check(t)
	printFailed(out, failed, addedLines(ctx, root))
	return len(subjects)+len(large)+len(failed) == 0, nil
}

// findRoot returns the nearest directory with a go.mod, from the current one upwards.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod here or above")
		}
		dir = up
	}
}

// below reports whether dir is top or lies below it.
func below(dir, top string) bool {
	return top == "." || dir == top || strings.HasPrefix(dir, top+"/")
}
