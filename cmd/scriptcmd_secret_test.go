//go:build unix

package cmd_test

// Script commands that check kept files for secrets and for their permissions.

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// clean TEXT PATH... requires that no file at or below the paths contains the text.
func clean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: clean TEXT PATH...")
	}
	files := 0
	for _, root := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), args[0]) {
				ts.Logf("%s has %s:\n%s", path, args[0], b)
				ts.Fatalf("%s has what was to be taken out", path)
			}
			files++
			return err
		}))
	}
	if files < len(args)-1 {
		ts.Fatalf("only %d files were looked at", files)
	}
}

// private DIR requires that only the owner can read any file below DIR that may quote agents.
func private(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: private DIR")
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == ".gitignore" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			ts.Fatalf("%s has mode %s", path, info.Mode())
		}
		return err
	}))
}
