package textfmt

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		cols int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 80, []string{"one two three"}},
		{"abcdefgh ij", 3, []string{"abc", "def", "gh", "ij"}},
		{"世界世界", 5, []string{"世界", "世界"}},
	} {
		if got := Wrap(c.text, c.cols); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q", c.text, c.cols, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z世 .]{0,60}`).Draw(t, "text")
		cols := rapid.IntRange(2, 30).Draw(t, "columns")
		lines := Wrap(text, cols)
		for _, l := range lines {
			if Width(l) > cols {
				t.Fatalf("%q is wider than %d", l, cols)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if bare(strings.Join(lines, "")) != bare(text) {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}
