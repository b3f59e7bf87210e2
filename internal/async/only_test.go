package async_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownWakeup matches the parts of a hand-written Worker: a channel called wake, or any channel that holds one signal.
var ownWakeup = regexp.MustCompile(`\b\w*[wW]ake\w*\b.*\bchan struct\{\}|make\(chan struct\{\}, 1\)`)

// mayWake lists the files that may have a channel that holds one signal, with the reason.
var mayWake = map[string]string{
	"internal/async/async.go":         "it is the Worker",
	"internal/claude/conversation.go": "one of several channels in the select of a turn, which no Worker could join",
}

func TestNoOtherWorkers(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "e2e" || name == "bench" || d.Name() == "testdata" || len(name) > 2 && name[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte("chan struct{}")) && ownWakeup.Match(line) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if mayWake[name] == "" {
			t.Errorf("%s wakes a goroutine by a channel of its own: use async.Worker or async.Queue", name)
		}
	}
	for name := range mayWake {
		if !slices.Contains(found, name) {
			t.Errorf("%s has no such channel any more: remove it from mayWake", name)
		}
	}
}
