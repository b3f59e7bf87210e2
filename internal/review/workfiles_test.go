package review

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// A quote counts only if it is in a file of the work.
func TestContainsQuote(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	testrepo.Files{"a/b.md": "one  two\n\tthree four\n", "big": strings.Repeat("x", maxQuoteSearch) +
		"beyond"}.Write(t, dir)
	testrepo.Files{"secret": "one two three"}.Write(t, outside)
	testrepo.Must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "out")))
	testrepo.Must(t, os.Symlink(outside, filepath.Join(dir, "away")))
	testrepo.Must(t, os.Symlink("a/b.md", filepath.Join(dir, "in")))
	for _, c := range []struct {
		file, quote string
		want        bool
	}{
		{"a/b.md", "two three", true},
		{"a/b.md", " two\n   three ", true},
		{"a/b.md", "three  four", true},
		{"a/b.md", "four five", false},
		{"a/b.md", "tw", false}, // too short to prove anything
		{"a/b.md", " \n ", false},
		{"./a/b.md", "three four", true},
		{"in", "three four", true},
		{"out", "one two", false},
		{"away/secret", "one two", false},
		{"../" + filepath.Base(outside) + "/secret", "one two", false},
		{filepath.Join(outside, "secret"), "one two", false},
		{"a", "one two", false},
		{"none", "one two", false},
		{"", "one two", false},
		{"big", "xxx", true},
		{"big", "beyond", false},
	} {
		if got := containsQuote(dir, c.file, c.quote); got != c.want {
			t.Errorf("%q in %s: %v, want %v", c.quote, c.file, got, c.want)
		}
	}
}

func TestFileText(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	testrepo.Files{"text": "words", "binary": "a\x00b", "empty": "", "d/x": "x",
		"big": strings.Repeat("y", maxDiff+1)}.Write(t, dir)
	testrepo.Files{"secret": "private"}.Write(t, outside)
	testrepo.Must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "out")))
	testrepo.Must(t, os.Symlink(outside, filepath.Join(dir, "away")))
	for file, want := range map[string]string{
		"text": "words", "binary": "", "empty": "", "d": "", "none": "", "big": strings.Repeat("y", maxDiff),
		"out": "a link to " + filepath.Join(outside, "secret"), "away/secret": "", "../x": "",
	} {
		if got := fileText(dir, file); got != want {
			t.Errorf("%s: %.40q, want %.40q", file, got, want)
		}
	}
	if got := fileDigest(dir, "text"); got != "dba36bffa5cab0f922d087a3aeb179f9d4e745df40b323e1b1471402848c8a3e" {
		t.Errorf("the sum is %s", got)
	}
	for _, file := range []string{"out", "away/secret", "d", "none"} {
		if got := fileDigest(dir, file); got != "" {
			t.Errorf("the sum of %s is %s", file, got)
		}
	}
	if _, line, at := firstLine(dir, []string{"none", "empty", "d", "text"}); line != "words" || at != 1 {
		t.Errorf("the first line is %q at %d", line, at)
	}
}
