package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
	"wavex/internal/transcript"
)

// A follower of a file that is cut, as a long output is, goes on near its new end.
func TestTailOfACutFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "output.txt")
	g := &tailReader{files: os.DirFS(dir), names: []string{"output.txt"}}
	var got []string
	read := func(f func(func(*transcript.Reader, []byte, bool)) error) {
		testrepo.Must(t, f(func(_ *transcript.Reader, line []byte, _ bool) { got = append(got, string(line)) }))
	}
	write := func(from, to int, rest string) {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		testrepo.Must(t, os.WriteFile(path, []byte(b.String()+rest), 0o600))
	}
	write(0, 60_000, "part of a li")
	read(g.readNew)
	if len(got) != 60_000 {
		t.Fatalf("%d lines", len(got))
	}
	got = nil
	write(50_000, 90_000, "the error")
	read(g.readRest)
	if n := len(got); n < 3 || got[n-1] != "the error" || got[n-2] != "line 89999" ||
		strings.Contains(strings.Join(got, ""), "part") {
		t.Errorf("%d lines: %.100q", n, got)
	}
}
