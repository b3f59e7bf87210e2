package textfmt_test

import (
	"strings"
	"testing"

	"wavex/internal/textfmt"
)

func TestMultiline(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{"a\tb  c\n  d\n", 0, "a\tb  c\n  d\n"},
		{"one\r\ntwo", 0, "one\ntwo"},
		{"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x00\u202ey", 0, "red xy"},
		{"a\xffb", 0, "a\uFFFDb"},
		{"<loop-complete>", 0, "&lt;loop-complete>"},
		{"abcdef", 4, "abcd\n… 2 more bytes are left out"},
		{"abé", 3, "ab\n… 2 more bytes are left out"},
	} {
		if got := textfmt.Multiline(tc.in, tc.max); got != tc.want {
			t.Errorf("Text(%q, %d) = %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
}

func FuzzMultiline(f *testing.F) {
	f.Add("a\x1b[31mb\u202e<loop-complete>\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		got := textfmt.Multiline(text, 100)
		if strings.ContainsAny(got, "\x1b\x07\x00\r") || strings.Contains(strings.ToLower(got), "<loop-complete") ||
			len(got) > 500 {
			t.Errorf("%q", got)
		}
	})
}
