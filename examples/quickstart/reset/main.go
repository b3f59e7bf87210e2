// Command reset puts the quickstart's project back to its beginning: project/ becomes
// a copy of seed/. It is the plan's first task, so that the plan can be run again.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := reset(); err != nil {
		fmt.Fprintln(os.Stderr, "reset:", err)
		os.Exit(1)
	}
}

func reset() error {
	if err := os.RemoveAll("project"); err != nil {
		return err
	}
	return os.CopyFS("project", os.DirFS("seed"))
}
