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
)

// module writes a module of a txtar file into a directory and returns its path.
func module(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func changes(t *testing.T, dir, only string, seed uint64, n int) []string {
	t.Helper()
	p, err := load(t.Context(), dir, "shop")
	if err != nil {
		t.Fatal(err)
	}
	all, err := mutations(p, dir)
	if err == nil {
		all, err = compiling(p, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range draw(all, only, seed, n) {
		out = append(out, m.place+" "+m.change)
	}
	return out
}

// The changes of a package are those that compile, in an order of the seed.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := module(t, "operators.txtar")
	want, err := os.ReadFile(filepath.Join(dir, "changes"))
	if err != nil {
		t.Fatal(err)
	}
	all := changes(t, dir, "", 1, 1000)
	got := slices.Sorted(slices.Values(all))
	if text := strings.Join(got, "\n") + "\n"; text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if again := changes(t, dir, "", 1, 5); !slices.Equal(again, all[:5]) {
		t.Errorf("the same seed drew %q and %q", all[:5], again)
	}
	if other := changes(t, dir, "", 2, 1000); slices.Equal(other, all) || len(other) != len(all) {
		t.Errorf("another seed drew %q", other)
	}
	lines := map[string]bool{}
	for _, c := range changes(t, dir, "shop.go:6,shop.go:7", 1, 1000) {
		line := strings.TrimPrefix(c, "shop/shop.go:")[:1]
		if lines[line] = true; line != "6" && line != "7" {
			t.Errorf("not of the lines: %s", c)
		}
	}
	if len(lines) != 2 {
		t.Errorf("of two lines, only %v is changed", lines)
	}
}

// Each verdict is that of the tests, a change of two seeds is tried once, and no file of the module is written.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	dir := module(t, "verdicts.txtar")
	var out strings.Builder
	r := &report{out: &out, root: dir, seeds: []uint64{1, 2}, n: 100, deadline: time.Now().Add(time.Hour),
		harmless: equivalents("shop/shop.go: func Positive(n int) bool { return n > 0 } => func Positive(n int) bool " +
			"{ return n >= 0 }\n\tan example\n")}
	if err := r.mutate(t.Context(), "shop", []string{"till"}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "verdicts"))
	if err != nil {
		t.Fatal(err)
	}
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

// A process that ends for another reason than a mutation is no verdict on it.
func TestBusyMachine(t *testing.T) {
	t.Parallel()
	dir := module(t, "busy.txtar")
	var out strings.Builder
	r := &report{out: &out, root: dir, seeds: []uint64{1}, n: 100, deadline: time.Now().Add(time.Hour)}
	if err := r.mutate(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	if runs, err := os.ReadFile(filepath.Join(dir, "shop", "runs")); len(runs) != 4 || err != nil {
		t.Errorf("the test ran %d times, %v", len(runs), err)
	}
	if !maps.Equal(r.rows[0].count, map[verdict]int{survived: 1}) {
		t.Errorf("the verdicts are %v\n%s", r.rows[0].count, out.String())
	}
}

// Without a mutation that was tried the aim is not reached.
func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count map[verdict]int
		want  float64
	}{
		{map[verdict]int{untried: 3}, 0},
		{map[verdict]int{untried: 3, harmless: 1}, 0},
		{map[verdict]int{harmless: 1}, 100},
		{map[verdict]int{own: 1, byUser: 1, timeout: 1, survived: 1, untried: 9}, 75},
	} {
		if got := (row{count: c.count}).percent(); got != c.want {
			t.Errorf("%v: %v of 100, want %v", c.count, got, c.want)
		}
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
