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
// A directory may have 5 "what" and 1 "nobody" per 1000 lines of prose, no tuples, and as many long lines as
// testdata/ceilings.txt says. `make ceilings` lowers the ceilings to the current counts and never raises one.
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
)

// shown is the number of faults that one run prints.
const shown = 20

func main() {
	lower := flag.Bool("lower", false, "lower the ceilings to the current counts")
	list := flag.String("list", "", "print every fault in this `directory`")
	flag.Parse()
	ok, err := run(context.Background(), *lower, *list, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run reports whether the tree passed. With lower it rewrites the ceilings, and with list it prints every fault of a
// directory instead.
func run(ctx context.Context, lower bool, list string, out io.Writer) (bool, error) {
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
	if d := t[filepath.ToSlash(filepath.Clean(list))]; list != "" && d != nil {
		printFaults(out, d.faults)
	}
	switch {
	case list != "":
		return true, nil
	case lower:
		return true, os.WriteFile(path, []byte(old.lower(t).String()), 0o644)
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
	printFailed(out, failed)
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
