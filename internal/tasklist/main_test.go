package tasklist

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder returns a list with these files, by name.
func folder(t testing.TB, files map[string]string) *List {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tasks", "l")
	testrepo.Must(t, os.MkdirAll(dir, 0o755))
	l, err := OpenDir(dir)
	testrepo.Must(t, err)
	for name, text := range files {
		put(t, l, name, text)
	}
	return l
}

func put(t testing.TB, l *List, name, text string) {
	t.Helper()
	testrepo.Must(t, os.WriteFile(filepath.Join(l.Dir, name), []byte(text), 0o644))
}

func content(t testing.TB, l *List, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(l.Dir, name))
	testrepo.Must(t, err)
	return string(b)
}

// whole reads a list and requires that every file is a task.
func whole(t testing.TB, l *List) map[string]*Task {
	t.Helper()
	tasks, bad, err := l.Read(t.Context())
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	byID := map[string]*Task{}
	for _, task := range tasks {
		byID[task.ID] = task
	}
	return byID
}

// pending returns the shortest task file that the CLI accepts, with more before its end.
func pending(id, more string) string {
	return `{"id":"` + id + `","subject":"Task ` + id +
		`","description":"do it","status":"pending","blocks":[],"blockedBy":[]` + more + `}`
}
