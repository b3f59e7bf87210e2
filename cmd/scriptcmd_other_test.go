//go:build unix && !linux

package cmd_test

import "github.com/rogpeppe/go-internal/testscript"

// terminal works only on Linux; scripts that use it say [linux].
func terminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("terminals are opened on Linux only")
}

func seated(ts *testscript.TestScript, neg bool, args []string) { terminal(ts, neg, args) }
func hangup(ts *testscript.TestScript, neg bool, args []string) { terminal(ts, neg, args) }
