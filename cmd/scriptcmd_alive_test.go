//go:build unix

package cmd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// alive REGEXP requires that the command line of a running process matches; ! alive requires that
// none does.
func alive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: alive REGEXP")
	}
	if regexp.MustCompile(args[0]).MatchString(commandLines(ts)) == neg {
		ts.Fatalf("a process has %q: %t", args[0], neg)
	}
}

// unguarded FOLDER waits until the guard of the only run in the folder has ended.
func unguarded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unguarded FOLDER")
	}
	runs, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(runs) != 1 {
		ts.Fatalf("%d runs", len(runs))
	}
	tick, late := time.NewTicker(20*time.Millisecond), time.NewTimer(patience)
	defer tick.Stop()
	defer late.Stop()
	for strings.Contains(commandLines(ts), "guard "+runs[0].Name()) {
		select {
		case <-tick.C:
		case <-late.C:
			ts.Fatalf("the guard of %s is still there", runs[0].Name())
		}
	}
}

// commandLines returns the command lines of all processes, one per line. Debian's smallest system
// has no ps.
func commandLines(ts *testscript.TestScript) string {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	if len(files) == 0 {
		out, err := exec.Command("ps", "-A", "-o", "args=").Output()
		ts.Check(err)
		return string(out)
	}
	var all strings.Builder
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil { // a failed read means that the process has just ended
			all.Write(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
			all.WriteByte('\n')
		}
	}
	return all.String()
}
