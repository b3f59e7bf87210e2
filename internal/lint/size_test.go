package main

import (
	"go/parser"
	"go/token"
	"maps"
	"strings"
	"testing"
)

func TestTooLarge(t *testing.T) {
	t.Parallel()
	body := func(lines int) string { return "{\n" + strings.Repeat("\n", lines-2) + "}\n" }
	fields := func(n int) string { return "struct {\n" + strings.Repeat("\ta, b int\n", n/2) + "\tc\n}\n" }
	src := "package a\n\nfunc fits() " + body(60) + "func long() " + body(61) + "func (*p) long() " + body(62) +
		"func (g[T]) long() " + body(63) + "type few " + fields(24) + "type many " + fields(26)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a/a.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a/a.go func long": 61, "a/a.go func p.long": 62, "a/a.go func g.long": 63,
		"a/a.go struct many": 27}
	if got := tooLarge("a/a.go", fset, file); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCheckSizes(t *testing.T) {
	t.Parallel()
	listed, err := parseExceptions("# header\n\na/a.go func listed  a table # note\na/a.go struct gone  a reason\n")
	if err != nil {
		t.Fatal(err)
	}
	all := tree{"a": {tooLarge: map[string]int{"a/a.go func listed": 70, "a/a.go func new": 61}}}
	got := checkSizes(all, listed)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a/a.go func new: 61; ") ||
		!strings.HasPrefix(got[1], "a/a.go struct gone: it is not too large") {
		t.Errorf("got %q", got)
	}
	if _, err := parseExceptions("a/a.go func f\n"); err == nil {
		t.Error("no error for an exception without a reason")
	}
}
