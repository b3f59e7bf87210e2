package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"wavex/internal/testrepo"
)

// module writes a module of a txtar file into a directory and returns its path.
func module(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	testrepo.Must(t, err)
	dir := t.TempDir()
	for _, f := range a.Files {
		path := filepath.Join(dir, f.Name)
		testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testrepo.Must(t, os.WriteFile(path, f.Data, 0o600))
	}
	return dir
}

// Each verdict is that of the tests, a change of two seeds is tried once, and no file of the module is written.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	dir := module(t, "verdicts.txtar")
	var out strings.Builder
	r := &report{out: &out, root: dir, seeds: []uint64{1, 2}, n: 100, deadline: time.Now().Add(time.Hour),
		harmless: equivalents("shop/shop.go: func Positive(n int) bool { return n > 0 } => func Positive(n int) bool " +
			"{ return n >= 0 }\n\tan example\n")}
	testrepo.Must(t, r.mutate(t.Context(), "shop", []string{"till"}))
	want, err := os.ReadFile(filepath.Join(dir, "verdicts"))
	testrepo.Must(t, err)
	got := slices.Sorted(strings.Lines(out.String()))
	if text := strings.Join(got, ""); text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(r.rows) != 2 || !maps.Equal(r.rows[0].count, r.rows[1].count) {
		t.Errorf("rows of two seeds that draw everything: %v", r.rows)
	}
	out.Reset()
	if r.table() {
		t.Error("a table with survivors reaches the aim")
	}
	t.Log(out.String())
	if left, _ := filepath.Glob(filepath.Join(dir, "*/*mutant*")); left != nil {
		t.Errorf("the module has new files: %q", left)
	}
}

// Each listed change can still be made, and has a reason.
func TestEquivalentsAreCurrent(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(equivalent, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "\t") {
			continue
		}
		file, change, _ := strings.Cut(line, ": ")
		before, _, ok := strings.Cut(change, " => ")
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		now := strings.Join(strings.Fields(string(text)), " ")
		if !ok || err != nil || !strings.Contains(now, strings.TrimSuffix(before, "...")) {
			t.Errorf("%s: no such change: %v", line, err)
		}
		if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "\t") {
			t.Errorf("%s: no reason", line)
		}
	}
}
