package textfmt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wavex/internal/textfmt"
)

func TestHeadTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringN(0, 400, -1).Draw(t, "s")
		limit := rapid.IntRange(0, 500).Draw(t, "limit")
		got := textfmt.HeadTail(s, limit)
		if len(got) > limit && len(s) > limit {
			t.Fatalf("%d bytes, limit %d", len(got), limit)
		}
		if len(s) <= limit && got != s {
			t.Fatal("a short text was changed")
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatal("a rune was cut")
		}
	})
	text := "first " + strings.Repeat("é", 100) + " last"
	if got := textfmt.HeadTail(text, 101); !strings.HasPrefix(got, "first é") || !strings.HasSuffix(got, "é last") ||
		!strings.Contains(got, "\n[... 1") {
		t.Errorf("%q", got)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc..."}, {"abcdefg", 3, "..."}, {"abcdefg", 2, "ab"}, {"abc", 0, ""},
		{"abc", -1, ""}, {"世世世", 8, "世..."}, {"世", 2, ""},
	} {
		if got := textfmt.Shorten(c.in, c.n); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"a\tb\nc", "a\tb\nc"},
		{"\x1b[1;31mFAIL\x1b[0m ok", "FAIL ok"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"\x1b]0;title\x07x", "x"},
		{"\x1b[31", ""},
		{"\x1b[\nx", "\nx"},
		{"bad \xff byte\x00", "bad \uFFFD byte"},
		{"\u009b2J", ""},
	} {
		if got := textfmt.Plain(c.in); got != c.want {
			t.Errorf("Plain(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"\x1b[", "\x1b]", "\x07", "\r", "m", "\xff", "\u009d"}))
		got := textfmt.Plain(strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), ""))
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
		}) {
			t.Fatalf("%q", got)
		}
	})
}

func TestClip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("two\nlines\x1b[1m ", 100)
	if got := textfmt.Clip(long, 200); len(got) > 200 || !strings.HasPrefix(got, "two lines two") ||
		!strings.HasSuffix(got, "...") {
		t.Errorf("%q", got)
	}
	if got := textfmt.Clip(long, 300); len(got) > 300 || !strings.HasPrefix(got, "two\nlines two") ||
		!strings.HasSuffix(got, "...") {
		t.Errorf("%q", got)
	}
}

func TestFirstOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		items      []string
		most, more int
		want       string
	}{
		{nil, 3, 0, ""}, {[]string{"a", "b"}, 2, 0, "a, b"}, {[]string{"a", "b", "c"}, 2, 0, "a, b and 1 more"},
		{[]string{"a", "b", "c"}, 2, 4, "a, b and 5 more"}, {[]string{"a"}, 2, 4, "a and 4 more"},
	} {
		if got := textfmt.FirstOf(c.items, c.most, c.more); got != c.want {
			t.Errorf("FirstOf(%q, %d, %d) = %q, want %q", c.items, c.most, c.more, got, c.want)
		}
	}
}

func TestClipMiddle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "text"), rapid.IntRange(1, 200).Draw(t, "n")
		got := textfmt.ClipMiddle(n, s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if len(got) > n+60 {
			t.Fatalf("%d bytes of at most %d", len(got), n)
		}
	})
	got := textfmt.ClipMiddle(30, strings.Repeat("a", 50)+"END")
	if !strings.HasSuffix(got, "END") || !strings.HasPrefix(got, "aaaa") {
		t.Errorf("head and tail are kept: %q", got)
	}
}
